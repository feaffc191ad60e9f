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
#include "host/call.h"
#include "host/host.h"
#include "host/quota.h"

#define LIST_DEFAULT 100u
#define CODE_HEAD_MAX 400u /* bytes of each cell that a list shows */

/* What it points at is the row's, or constant. */
static struct api_execution tell(struct host *host, const struct db_execution *row)
{
	struct session *session = session_by_id(host, row->session);
	const struct execution *live = session != NULL ? execution_find(session, row->id) : NULL;
	const bool is_pending = strcmp(row->status, "pending") == 0;
	const char *why = is_pending && live == NULL	 ? "its record could not be kept"
			  : live != NULL && live->failed ? live->why.text
							 : row->why;
	struct api_execution told = {
		.id = row->id,
		.session = row->session,
		.sequence = row->sequence,
		.status = row->status,
		.created_at = row->created_at,
		.ended_at = row->ended_at[0] != '\0' ? row->ended_at : NULL,
		.why = why[0] != '\0' ? why : NULL,
	};

	if (is_pending && (live == NULL || live->state == EXECUTION_FINISHED))
		told.status = "failed"; /* its record could not be kept */
	else if (is_pending)
		told.status = live->state == EXECUTION_RUNNING ? "running" : "queued";
	return told;
}

static void reply_state(struct host *host, uint64_t request, const struct db_execution *row)
{
	const struct api_execution told = tell(host, row);

	reply_execute(host, request, &(struct api_execute_out){ .execution = &told });
}

/* ---- execute -------------------------------------------------------------------------------- */

static void add_to_hash(const struct host *host, enum front_tag tag, const char *text,
			unsigned char sum[32])
{
	if (text != NULL)
		answer_hash_item(host,
				 &(struct kernel_item){ .tag = (uint32_t)tag,
							.len = (uint32_t)strlen(text),
							.data = text },
				 sum);
}

/* What makes two requests with one key the same: the code, what bounds it, and its kernel. Rows keep
 * it. */
static void hash_request(const struct host *host, const struct api_execute_in *in,
			 unsigned char ret[32])
{
	const uint64_t bounds[2] = { in->timeout_ms, in->max_text };
	unsigned char both[32 + 16];

	key_hash(host, in->code.data, in->code.len, both);
	memcpy(both + 32, bounds, sizeof(bounds));
	key_hash(host, both, sizeof(both), ret);
	add_to_hash(host, FRONT_TAG_CONTEXT, in->context, ret);
	add_to_hash(host, FRONT_TAG_LANGUAGE, in->language, ret);
}

/* Whether whoever asks does not wait for the record. */
static bool is_behind(const struct api_execute_in *in)
{
	return in->background || in->stream;
}

static void answer_again(struct host *host, const struct asked *asked, struct session *session,
			 const struct db_execution *row)
{
	const struct api_execute_in *in = asked->in;
	struct api_execution told;
	unsigned char hash[32];
	struct execution *live;

	hash_request(host, in, hash);
	if (!answer_check_same(host, asked, row->request_hash, hash))
		return;
	live = execution_find(session, row->id);
	if (live != NULL)
		hold_take(live->hold, asked->id);
	if (is_behind(in)) {
		reply_state(host, asked->id, row);
	} else if (live != NULL && live->state != EXECUTION_FINISHED) {
		execution_wait(live, asked->id);
	} else if (row->record.len > 0) {
		peer_reply_body(host, asked->id, row->record.data, row->record.len);
	} else {
		told = tell(host, row);
		reply_execute(host, asked->id, &(struct api_execute_out){ .ended = &told });
	}
}

static int start(struct host *host, const struct asked *asked, struct session *session,
		 struct context *context, struct err *err)
{
	const struct api_execute_in *in = asked->in;
	struct db_execution row = { 0 };
	struct execution *execution;
	struct job *job;

	hash_request(host, in, row.request_hash);
	execution = execution_begin(session, &row, in->idempotency_key, in->code.data, in->code.len,
				    err);
	if (execution == NULL)
		return (int)err->code;
	if ((in->idempotency_key != NULL || is_behind(in)) && first_write(execution, err) < 0) {
		execution_free(execution);
		return (int)err->code;
	}
	if (in->on_disconnect == API_EXECUTE_IN_ON_DISCONNECT_CANCEL)
		execution->hold = hold_new(in->disconnect_grace_ms, asked->id);
	job = execution_job(execution);
	job->timeout_ms = in->timeout_ms;
	job->text_bytes = in->max_text;
	if (!is_behind(in))
		execution_wait(execution, asked->id);
	context_enqueue(session, context, job);
	if (is_behind(in))
		reply_state(host, asked->id, &row);
	return 0;
}

void handle_execute(struct host *host, const struct asked *asked, const struct api_execute_in *in)
{
	struct session *session = answer_session_named(host, asked, in->session, false);
	struct context *context = NULL;
	struct db_execution row;
	struct err err;
	int found = 0;

	if (session == NULL)
		return;
	if (in->idempotency_key != NULL)
		found = db_execution_by_key(host->db, session->row.id, in->idempotency_key, &row,
					    &err);
	if (found == 1) {
		answer_again(host, asked, session, &row);
		db_execution_done(&row);
		return;
	}
	if (found == 0 && (!quota_execution(host, asked, session, in->timeout_ms) ||
			   !context_for_code(host, asked, session, in, &context)))
		return;
	if (found < 0 || start(host, asked, session, context, &err) < 0)
		peer_fail_err(host, asked->id, &err);
}

/* ---- looking -------------------------------------------------------------------------------- */

bool was_session_named(struct host *host, const struct asked *asked, const char *id)
{
	struct db_session row;
	struct err err;

	if (session_find(host, asked->tenant, id) != NULL)
		return true;
	if (db_session_find(host->db, asked->tenant->row.id, id, &row, &err) == 1) {
		db_session_done(&row);
		return true;
	}
	answer_gone(host, asked->tenant, asked->id, id);
	return false;
}

/* Whether the id ever was a session's; answers when it was not. */
bool answer_was_session(struct host *host, const struct asked *asked, char id[ID_SIZE])
{
	id[0] = '\0';
	(void)front_text(asked->items, asked->count, FRONT_TAG_SESSION, id, ID_SIZE);
	return was_session_named(host, asked, id);
}

/* A page of a list. */
struct page {
	struct host *host;
	struct arena arena;
	struct api_execution *items;
	size_t count;
};

static const char *keep_text(struct page *page, const char *text)
{
	return text != NULL ? arena_text(&page->arena, text, strlen(text)) : NULL;
}

static int add_execution(const struct db_execution *row, void *arg, struct err *err)
{
	cleanup_buf struct buf code = BUF_INIT(CODE_HEAD_MAX);
	struct page *page = arg;
	struct api_execution *told = &page->items[page->count];

	*told = tell(page->host, row);
	if (db_code_head(page->host->db, row->id, CODE_HEAD_MAX, &code, &told->code_bytes, err) < 0)
		return (int)err->code;
	told->id = keep_text(page, told->id);
	told->session = keep_text(page, told->session);
	told->status = keep_text(page, told->status);
	told->created_at = keep_text(page, told->created_at);
	told->ended_at = keep_text(page, told->ended_at);
	told->why = keep_text(page, told->why);
	told->code = (struct api_bytes){ keep_text(page, buf_text(&code)), code.len };
	told->has_code_bytes = true;
	page->count++;
	return 0;
}

void handle_execution_list(struct host *host, const struct asked *asked,
			   const struct api_execution_list_in *in)
{
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	struct api_executions told = { 0 };
	struct page page = { .host = host };
	struct err err;

	if (!was_session_named(host, asked, in->session))
		return;
	start_write_all(host);
	page.items = arena_new(&page.arena, limit, sizeof(*page.items));
	if (db_execution_list(host->db, in->session, in->before, limit, add_execution, &page,
			      &err) < 0) {
		peer_fail_err(host, asked->id, &err);
	} else {
		told.executions = (struct api_list){ page.items, page.count };
		if (page.count > 0)
			told.next = page.items[page.count - 1].id;
		reply_execution_list(host, asked->id, &told);
	}
	arena_done(&page.arena);
}

/* The row of the execution that the request names; false when it was answered with an error. */
bool answer_find_execution(struct host *host, const struct asked *asked,
			   struct db_execution *ret)
{
	char session[ID_SIZE] = "", execution[ID_SIZE] = "";

	(void)front_text(asked->items, asked->count, FRONT_TAG_SESSION, session, sizeof(session));
	(void)front_text(asked->items, asked->count, FRONT_TAG_EXECUTION, execution,
			 sizeof(execution));
	return execution_find_named(host, asked, session, execution, ret);
}

bool execution_find_named(struct host *host, const struct asked *asked, const char *id,
			  const char *execution, struct db_execution *ret)
{
	char message[128];
	struct err err;
	int found;

	if (!was_session_named(host, asked, id))
		return false;
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
	char session[ID_SIZE] = "", execution[ID_SIZE] = "";

	(void)front_text(asked->items, asked->count, FRONT_TAG_SESSION, session, sizeof(session));
	(void)front_text(asked->items, asked->count, FRONT_TAG_EXECUTION, execution,
			 sizeof(execution));
	return execution_is_own(host, asked, session, execution);
}

bool execution_is_own(struct host *host, const struct asked *asked, const char *id,
		      const char *name)
{
	const struct execution *live = NULL;
	struct session *session;
	char by[ID_SIZE];
	struct err err;

	session = session_find(host, asked->tenant, id);
	if (session != NULL)
		live = execution_find(session, name);
	if (live != NULL)
		return strcmp(live->asked_by, asked->key->row.id) == 0;
	/* What is not in memory any more has its row; a key's id is of one tenant. */
	return db_execution_asker(host->db, id, name, by, &err) == 1 &&
	       strcmp(by, asked->key->row.id) == 0;
}

void handle_execution_show(struct host *host, const struct asked *asked,
			   const struct api_execution_show_in *in)
{
	struct api_execution told;
	struct db_execution row;

	if (!execution_find_named(host, asked, in->session, in->execution, &row))
		return;
	told = tell(host, &row);
	if (row.record.len > 0)
		peer_reply_body(host, asked->id, row.record.data, row.record.len);
	else
		reply_execution_show(host, asked->id,
				     &(struct api_execution_show_out){ .execution = &told });
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
