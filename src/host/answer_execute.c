/*
 * answer_execute.c - executions: start, look at, follow, interrupt; questions to a kernel.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests, the database.
 * Never:    runs code twice for one Idempotency-Key.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/host.h"
#include "host/quota.h"

#define LIST_DEFAULT 100u
#define CODE_HEAD_MAX 400u /* bytes of each cell that a list shows */

static int pack_execution(struct host *host, struct buf *payload, const struct db_execution *row,
			  struct err *err)
{
	struct session *session = session_by_id(host, row->session);
	const struct execution *live = session != NULL ? execution_find(session, row->id) : NULL;
	const bool is_pending = strcmp(row->status, "pending") == 0;
	const char *why = is_pending && live == NULL	 ? "its record could not be kept"
			  : live != NULL && live->failed ? live->why.text
							 : row->why;
	const char *status = row->status;
	const struct {
		enum front_tag tag;
		const char *text;
	} texts[] = {
		{ FRONT_TAG_EXECUTION, row->id },     { FRONT_TAG_SESSION, row->session },
		{ FRONT_TAG_CREATED_AT, row->created_at }, { FRONT_TAG_ENDED_AT, row->ended_at },
		{ FRONT_TAG_WHY, why },
	};

	if (is_pending && (live == NULL || live->state == EXECUTION_FINISHED))
		status = "failed"; /* its record could not be kept */
	else if (is_pending)
		status = live->state == EXECUTION_RUNNING ? "running" : "queued";
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if ((texts[i].text[0] != '\0' || i == 0) &&
		    front_pack_text(payload, texts[i].tag, texts[i].text, err) < 0)
			return (int)err->code;
	if (front_pack_text(payload, FRONT_TAG_STATUS, status, err) < 0)
		return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_SEQUENCE, row->sequence, err);
}

static void reply_execution(struct host *host, uint64_t request, const struct db_execution *row,
			    bool with_record)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	struct err err;

	if (with_record && row->record.len > 0)
		peer_reply_body(host, request, row->record.data, row->record.len);
	else if (pack_execution(host, &payload, row, &err) < 0)
		peer_fail(host, request, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else
		peer_reply(host, request, &payload, -1);
}

/* ---- EXECUTE -------------------------------------------------------------------------------- */

/* What makes two requests with one key the same: the code, what bounds it, and its kernel. */
static void hash_request(const struct host *host, const struct asked *asked,
			 unsigned char ret[32])
{
	const struct kernel_item *code = front_find(asked->items, asked->count, FRONT_TAG_CODE);
	unsigned char both[32 + 16];
	const uint64_t bounds[2] = {
		front_u64(asked->items, asked->count, FRONT_TAG_TIMEOUT_MS, 0),
		front_u64(asked->items, asked->count, FRONT_TAG_TEXT_BYTES, 0),
	};

	key_hash(host, code->data, code->len, both);
	memcpy(both + 32, bounds, sizeof(bounds));
	key_hash(host, both, sizeof(both), ret);
	/* Without either it is what it always was: kept rows have it. */
	answer_hash_field(host, asked, FRONT_TAG_CONTEXT, ret);
	answer_hash_field(host, asked, FRONT_TAG_LANGUAGE, ret);
}

static void answer_again(struct host *host, const struct asked *asked, struct session *session,
			 const struct db_execution *row)
{
	const bool background =
		front_find(asked->items, asked->count, FRONT_TAG_BACKGROUND) != NULL;
	unsigned char hash[32];
	struct execution *live;

	hash_request(host, asked, hash);
	if (!answer_check_same(host, asked, row->request_hash, hash))
		return;
	live = execution_find(session, row->id);
	if (live != NULL)
		hold_take(live->hold, asked->id);
	if (background || live == NULL || live->state == EXECUTION_FINISHED)
		reply_execution(host, asked->id, row, !background);
	else
		execution_wait(live, asked->id);
}

static int start(struct host *host, const struct asked *asked, struct session *session,
		 struct context *context, const char *idempotency, struct err *err)
{
	const struct kernel_item *code = front_find(asked->items, asked->count, FRONT_TAG_CODE);
	const bool background =
		front_find(asked->items, asked->count, FRONT_TAG_BACKGROUND) != NULL;
	struct db_execution row = { 0 };
	struct execution *execution;
	struct job *job;

	hash_request(host, asked, row.request_hash);
	execution = execution_begin(session, &row, idempotency, code->data, code->len, err);
	if (execution == NULL)
		return (int)err->code;
	if ((idempotency != NULL || background) && first_write(execution, err) < 0) {
		execution_free(execution);
		return (int)err->code;
	}
	execution->hold = answer_hold(asked, FRONT_DISCONNECT_CONTINUE, 0);
	job = execution_job(execution);
	job->timeout_ms = front_u64(asked->items, asked->count, FRONT_TAG_TIMEOUT_MS, 0);
	job->text_bytes = front_u64(asked->items, asked->count, FRONT_TAG_TEXT_BYTES, 0);
	if (!background)
		execution_wait(execution, asked->id);
	context_enqueue(session, context, job);
	if (background)
		reply_execution(host, asked->id, &row, false);
	return 0;
}

void answer_execute(struct host *host, const struct asked *asked)
{
	struct session *session = answer_session(host, asked, false);
	char idempotency[FRONT_KEY_MAX + 1];
	const bool has_key = front_text(asked->items, asked->count, FRONT_TAG_IDEMPOTENCY,
					idempotency, sizeof(idempotency));
	struct context *context = NULL;
	struct db_execution row;
	struct err err;
	int found = 0;

	if (session == NULL)
		return;
	if (has_key)
		found = db_execution_by_key(host->db, session->row.id, idempotency, &row, &err);
	if (found == 1) {
		answer_again(host, asked, session, &row);
		db_execution_done(&row);
		return;
	}
	if (found == 0 &&
	    (!quota_execution(host, asked, session,
			      front_u64(asked->items, asked->count, FRONT_TAG_TIMEOUT_MS, 0)) ||
	     !context_for_code(host, asked, session, &context)))
		return;
	if (found < 0 || start(host, asked, session, context, has_key ? idempotency : NULL, &err) < 0)
		peer_fail_err(host, asked->id, &err);
}

/* ---- looking -------------------------------------------------------------------------------- */

static int add_execution(const struct db_execution *row, void *arg, struct err *err)
{
	cleanup_buf struct buf code = BUF_INIT(CODE_HEAD_MAX);
	void **both = arg;
	struct host *host = both[0];
	uint64_t len;

	if (pack_execution(host, both[1], row, err) < 0 ||
	    db_code_head(host->db, row->id, CODE_HEAD_MAX, &code, &len, err) < 0 ||
	    front_pack_text(both[1], FRONT_TAG_CODE_HEAD, buf_text(&code), err) < 0)
		return (int)err->code;
	return front_pack_u64(both[1], FRONT_TAG_CODE_BYTES, len, err);
}

/* Whether the id ever was a session's; answers when it was not. */
bool answer_was_session(struct host *host, const struct asked *asked, char id[ID_SIZE])
{
	struct db_session row;
	struct err err;

	id[0] = '\0';
	(void)front_text(asked->items, asked->count, FRONT_TAG_SESSION, id, ID_SIZE);
	if (session_find(host, asked->tenant, id) != NULL)
		return true;
	if (db_session_find(host->db, asked->tenant->row.id, id, &row, &err) == 1) {
		db_session_done(&row);
		return true;
	}
	answer_gone(host, asked->tenant, asked->id, id);
	return false;
}

void answer_execution_list(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	uint64_t limit = front_u64(asked->items, asked->count, FRONT_TAG_LIMIT, LIST_DEFAULT);
	char id[ID_SIZE], before[ID_SIZE];
	void *both[] = { host, &payload };
	struct err err;

	if (!answer_was_session(host, asked, id))
		return;
	if (limit > FRONT_LIST_MAX)
		limit = FRONT_LIST_MAX;
	start_write_all(host);
	if (db_execution_list(host->db, id,
			      front_text(asked->items, asked->count, FRONT_TAG_BEFORE, before,
					 sizeof(before))
				      ? before
				      : NULL,
			      (unsigned)limit, add_execution, both, &err) < 0)
		peer_fail_err(host, asked->id, &err);
	else
		peer_reply(host, asked->id, &payload, -1);
}

/* The row of the execution that the request names; false when it was answered with an error. */
bool answer_find_execution(struct host *host, const struct asked *asked,
			   struct db_execution *ret)
{
	char id[ID_SIZE], execution[ID_SIZE] = "", message[128];
	struct err err;
	int found;

	if (!answer_was_session(host, asked, id))
		return false;
	(void)front_text(asked->items, asked->count, FRONT_TAG_EXECUTION, execution,
			 sizeof(execution));
	start_write_all(host);
	found = db_execution_find(host->db, id, execution, ret, &err);
	if (found == 1)
		return true;
	(void)snprintf(message, sizeof(message), "there is no execution %s in session %s",
		       execution, id);
	if (found == 0 && retain_is_expired(host->config.history_keep_ms, execution))
		peer_fail(host, asked->id, FRONT_ERR_EXPIRED,
			  "this execution is older than what is kept",
			  "history-keep of the daemon", "", 0);
	else if (found == 0)
		peer_fail(host, asked->id, FRONT_ERR_EXECUTION_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/sessions/ID/executions", 0);
	else
		peer_fail_err(host, asked->id, &err);
	return false;
}

bool answer_execution_is_own(struct host *host, const struct asked *asked)
{
	char id[ID_SIZE] = "", name[ID_SIZE] = "", by[ID_SIZE];
	const struct execution *live = NULL;
	struct session *session;
	struct err err;

	(void)front_text(asked->items, asked->count, FRONT_TAG_SESSION, id, sizeof(id));
	(void)front_text(asked->items, asked->count, FRONT_TAG_EXECUTION, name, sizeof(name));
	session = session_find(host, asked->tenant, id);
	if (session != NULL)
		live = execution_find(session, name);
	if (live != NULL)
		return strcmp(live->asked_by, asked->key->row.id) == 0;
	/* What is not in memory any more has its row; a key's id is of one tenant. */
	return db_execution_asker(host->db, id, name, by, &err) == 1 &&
	       strcmp(by, asked->key->row.id) == 0;
}

void answer_execution_show(struct host *host, const struct asked *asked)
{
	struct db_execution row;

	if (!answer_find_execution(host, asked, &row))
		return;
	reply_execution(host, asked->id, &row, true);
	db_execution_done(&row);
}

/* Of an execution whose events are gone: how many are not known, then its end from the record. */
static void replay_end(struct host *host, const struct asked *asked,
		       const struct db_execution *row)
{
	const uint64_t after = front_u64(asked->items, asked->count, FRONT_TAG_AFTER, 0);
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	cleanup_buf struct buf event = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct err err;
	int code = 0;

	if (row->record.len > 0) {
		if (buf_addf(&event, &err, "{\"event\":\"done\",\"record\":") < 0 ||
		    buf_add(&event, row->record.data, row->record.len, &err) < 0 ||
		    buf_addc(&event, '}', &err) < 0 ||
		    front_pack_u64(&payload, FRONT_TAG_GAP, 0, &err) < 0 ||
		    front_pack_u64(&payload, FRONT_TAG_EVENT_ID, after + 1, &err) < 0 ||
		    front_pack_text(&payload, FRONT_TAG_EVENT_NAME, "done", &err) < 0 ||
		    front_pack(&payload, FRONT_TAG_EVENT_DATA, event.data, event.len, &err) < 0)
			code = (int)err.code;
	} else if (front_pack_u64(&payload, FRONT_TAG_ERROR,
				  strcmp(row->status, "cancelled") == 0
					  ? FRONT_ERR_EXECUTION_CANCELLED
					  : FRONT_ERR_EXECUTION_LOST, &err) < 0 ||
		   front_pack_text(&payload, FRONT_TAG_MESSAGE, row->why, &err) < 0) {
		code = (int)err.code;
	}
	if (code < 0 || front_pack(&payload, FRONT_TAG_END, "", 0, &err) < 0)
		peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", "", 0);
	else
		peer_reply(host, asked->id, &payload, -1);
}

void answer_events(struct host *host, const struct asked *asked)
{
	const uint64_t after = front_u64(asked->items, asked->count, FRONT_TAG_AFTER, 0);
	struct execution *live = NULL;
	struct session *session;
	struct db_execution row;

	if (!answer_find_execution(host, asked, &row))
		return;
	session = session_find(host, asked->tenant, row.session);
	if (session != NULL)
		live = execution_find(session, row.id);
	/* What goes on is known by the id that it began with. */
	if (live != NULL && front_find(asked->items, asked->count, FRONT_TAG_GOES_ON) == NULL)
		hold_take(live->hold, asked->id);
	if (live != NULL)
		execution_wait_events(live, asked->id, after);
	else
		replay_end(host, asked, &row);
	db_execution_done(&row);
}

/* ---- interrupt, questions ------------------------------------------------------------------- */
