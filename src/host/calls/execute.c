/*
 * execute.c - executions: start, list, show, follow.
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
#include "host/executions/asking.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/sessions/gone.h"
#include "host/idempotency.h"
#include "host/tenants/quota.h"

#define LIST_DEFAULT 100u
/* Parts of stored hashes: do not change these values. */
#define HASH_CONTEXT 60
#define HASH_LANGUAGE 5
#define HASH_ASKS 61
#define HASH_ENV 62
#define CODE_HEAD_MAX 400u /* bytes of each cell in a list */

/* The result points into the row, the live execution or constants. */
static struct api_execution tell(struct host *host, const struct db_execution *row)
{
	struct session *session = session_by_id(host, row->session);
	const struct execution *live = session != NULL ? execution_find(session, row->id) : NULL;
	const bool is_pending = strcmp(row->status, "pending") == 0;
	const char *why = is_pending && live == NULL	 ? "its record could not be kept"
			  : live != NULL && live->failed ? live->why.text
							 : row->why;
	struct api_execution reply = {
		.id = row->id,
		.session = row->session,
		.sequence = row->sequence,
		.status = row->status,
		.created_at = row->created_at,
		.ended_at = row->ended_at[0] != '\0' ? row->ended_at : NULL,
		.why = why[0] != '\0' ? why : NULL,
	};

	if (is_pending && (live == NULL || live->state == EXECUTION_FINISHED))
		reply.status = "failed"; /* its record could not be stored */
	else if (is_pending)
		reply.status = live->state == EXECUTION_RUNNING ? "running" : "queued";
	return reply;
}

static void reply_state(struct host *host, uint64_t request, const struct db_execution *row)
{
	const struct api_execution reply = tell(host, row);

	reply_execute(host, request, &(struct api_execute_out){ .execution = &reply });
}

/* ---- execute -------------------------------------------------------------------------------- */

static void add_to_hash(const struct host *host, unsigned char tag, const char *text,
			unsigned char sum[32])
{
	if (text != NULL)
		idempotency_hash(host, tag, text, strlen(text), sum);
}

/*
 * Hashes what must be equal in two requests with one key: code, limits, kernel, questions,
 * environment. Rows contain the hash, so it must not change.
 */
static void hash_request(const struct host *host, const struct api_execute_in *in,
			 unsigned char ret[32])
{
	const uint64_t bounds[2] = { in->timeout_ms, in->max_text };
	unsigned char both[32 + 16];

	key_hash(host, in->code.data, in->code.len, both);
	memcpy(both + 32, bounds, sizeof(bounds));
	key_hash(host, both, sizeof(both), ret);
	add_to_hash(host, HASH_CONTEXT, in->context, ret);
	add_to_hash(host, HASH_LANGUAGE, in->language, ret);
	if (in->allow_input)
		add_to_hash(host, HASH_ASKS, "input", ret);
	for (size_t i = 0; i < in->tools.count; i++)
		add_to_hash(host, HASH_ASKS, ((const struct api_tool *)in->tools.items)[i].name,
			    ret);
	for (size_t i = 0; i < in->env.count; i++)
		add_to_hash(host, HASH_ENV, ((const char *const *)in->env.items)[i], ret);
}

/* Whether the client does not wait for the record. */
static bool is_behind(const struct api_execute_in *in)
{
	return in->background || in->stream;
}

static void answer_again(struct host *host, const struct request *req, struct session *session,
			 const struct db_execution *row)
{
	const struct api_execute_in *in = req->in;
	struct api_execution reply;
	unsigned char hash[32];
	struct execution *live;

	hash_request(host, in, hash);
	if (!idempotency_check(host, req, row->request_hash, hash))
		return;
	live = execution_find(session, row->id);
	if (live != NULL)
		lease_take(live->lease, req->id);
	if (is_behind(in)) {
		reply_state(host, req->id, row);
	} else if (live != NULL && live->state != EXECUTION_FINISHED) {
		execution_wait(live, req);
	} else if (row->record.len > 0) {
		reply_execute(host, req->id,
			      &(struct api_execute_out){
				      .record = { row->record.data, row->record.len } });
	} else {
		reply = tell(host, row);
		reply_execute(host, req->id, &(struct api_execute_out){ .ended = &reply });
	}
}

static int start(struct host *host, const struct request *req, struct session *session,
		 struct context *context, struct err *err)
{
	const struct api_execute_in *in = req->in;
	struct db_execution row = { 0 };
	struct execution *execution;
	struct job *job;

	hash_request(host, in, row.request_hash);
	execution = execution_begin(session, &row, in->idempotency_key, in->code.data, in->code.len,
				    err);
	if (execution == NULL)
		return (int)err->code;
	if ((in->idempotency_key != NULL || is_behind(in)) &&
	    row_before_run_write(execution, err) < 0) {
		execution_free(execution);
		return (int)err->code;
	}
	if (in->on_disconnect == API_EXECUTE_IN_ON_DISCONNECT_CANCEL)
		execution->lease = lease_new(in->disconnect_grace_ms, req->id);
	if (asking_new(session, in, &execution->asking, err) < 0) {
		execution_free(execution);
		return (int)err->code;
	}
	job = execution_job(execution);
	job->timeout_ms = in->timeout_ms;
	job->text_bytes = in->max_text;
	if (in->env.count > 0)
		(void)answer_take_env(job, &in->env, err); /* the field table limits the size */
	if (!is_behind(in))
		execution_wait(execution, req);
	context_enqueue(session, context, job);
	if (is_behind(in))
		reply_state(host, req->id, &row);
	return 0;
}

void handle_execute(struct host *host, const struct request *req, const struct api_execute_in *in)
{
	struct session *session = answer_session_named(host, req, in->session, false);
	struct context *context = NULL;
	struct db_execution row;
	struct err err;
	int found = 0;

	if (session == NULL || !asking_is_good(host, req, &in->tools))
		return;
	if (in->idempotency_key != NULL)
		found = db_execution_by_key(host->db, session->row.id, in->idempotency_key, &row,
					    &err);
	if (found == 1) {
		answer_again(host, req, session, &row);
		db_execution_done(&row);
		return;
	}
	if (found == 0 && (!quota_execution(host, req, session, in->timeout_ms) ||
			   !context_for_code(host, req, session, in, &context)))
		return;
	if (found < 0 || start(host, req, session, context, &err) < 0)
		front_fail_err(host, req->id, &err);
}

/* ---- list, show ----------------------------------------------------------------------------- */

bool was_session_named(struct host *host, const struct request *req, const char *id)
{
	struct db_session row;
	struct err err;

	if (session_find(host, req->tenant, id) != NULL)
		return true;
	if (db_session_find(host->db, req->tenant->row.id, id, &row, &err) == 1) {
		db_session_done(&row);
		return true;
	}
	session_tell_gone(host, req->tenant, req->id, id);
	return false;
}

/* One page of a list. */
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
	struct api_execution *reply = &page->items[page->count];

	*reply = tell(page->host, row);
	if (db_code_head(page->host->db, row->id, CODE_HEAD_MAX, &code, &reply->code_bytes, err) <
	    0)
		return (int)err->code;
	reply->id = keep_text(page, reply->id);
	reply->session = keep_text(page, reply->session);
	reply->status = keep_text(page, reply->status);
	reply->created_at = keep_text(page, reply->created_at);
	reply->ended_at = keep_text(page, reply->ended_at);
	reply->why = keep_text(page, reply->why);
	reply->code = (struct api_bytes){ keep_text(page, buf_text(&code)), code.len };
	reply->has_code_bytes = true;
	page->count++;
	return 0;
}

void handle_execution_list(struct host *host, const struct request *req,
			   const struct api_execution_list_in *in)
{
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	struct api_executions reply = { 0 };
	struct page page = { .host = host };
	struct err err;

	if (!was_session_named(host, req, in->session))
		return;
	pending_row_write_all(host);
	page.items = arena_new(&page.arena, limit, sizeof(*page.items));
	if (db_execution_list(host->db, in->session, in->before, limit, add_execution, &page,
			      &err) < 0) {
		front_fail_err(host, req->id, &err);
	} else {
		reply.executions = (struct api_list){ page.items, page.count };
		if (page.count > 0)
			reply.next = page.items[page.count - 1].id;
		reply_execution_list(host, req->id, &reply);
	}
	arena_done(&page.arena);
}

bool execution_find_named(struct host *host, const struct request *req, const char *id,
			  const char *execution, struct db_execution *ret)
{
	char message[128];
	struct err err;
	int found;

	if (!was_session_named(host, req, id))
		return false;
	pending_row_write_all(host);
	found = db_execution_find(host->db, id, execution, ret, &err);
	if (found == 1)
		return true;
	(void)snprintf(message, sizeof(message), "there is no execution %s in session %s",
		       execution, id);
	if (found == 0 && retain_is_expired(host->config.history_keep_ms, execution))
		front_fail(host, req->id, API_ERR_EXPIRED,
			  "this execution is older than what is kept",
			  "history-keep of the daemon", "", 0);
	else if (found == 0)
		front_fail(host, req->id, API_ERR_EXECUTION_NOT_FOUND, message, "",
			  "list them: GET /reckon/v1/sessions/ID/executions", 0);
	else
		front_fail_err(host, req->id, &err);
	return false;
}

bool execution_is_own(struct host *host, const struct request *req, const char *id,
		      const char *name)
{
	const struct execution *live = NULL;
	struct session *session;
	char by[ID_SIZE];
	struct err err;

	session = session_find(host, req->tenant, id);
	if (session != NULL)
		live = execution_find(session, name);
	if (live != NULL)
		return strcmp(live->requester, req->key->row.id) == 0;
	/*
	 * The row, if it is no longer in memory. Comparing the key's id is enough: it belongs to
	 * one tenant.
	 */
	return db_execution_asker(host->db, id, name, by, &err) == 1 &&
	       strcmp(by, req->key->row.id) == 0;
}

void handle_execution_show(struct host *host, const struct request *req,
			   const struct api_execution_show_in *in)
{
	struct api_execution reply;
	struct db_execution row;

	if (!execution_find_named(host, req, in->session, in->execution, &row))
		return;
	reply = tell(host, &row);
	if (row.record.len > 0)
		reply_execution_show(host, req->id,
				     &(struct api_execution_show_out){
					     .record = { row.record.data, row.record.len } });
	else
		reply_execution_show(host, req->id,
				     &(struct api_execution_show_out){ .execution = &reply });
	db_execution_done(&row);
}

/* Answers with the end of an execution whose events are no longer in memory, from its row. */
static void replay_end(struct host *host, const struct request *req,
		       const struct db_execution *row, uint64_t after)
{
	cleanup_buf struct buf data = BUF_INIT(FRONT_PAYLOAD_MAX);
	const struct api_failure failure = {
		.error = strcmp(row->status, "cancelled") == 0 ? API_ERR_EXECUTION_CANCELLED
							       : API_ERR_EXECUTION_LOST,
		.message = row->why,
	};
	struct api_event done = { .id = after + 1, .name = "done" };
	struct api_events reply = { .is_last = true };
	struct err err;

	if (row->record.len == 0) {
		reply.failure = &failure;
	} else if (buf_addf(&data, &err, "{\"event\":\"done\",\"record\":") < 0 ||
		   buf_add(&data, row->record.data, row->record.len, &err) < 0 ||
		   buf_addc(&data, '}', &err) < 0) {
		front_fail(host, req->id, API_ERR_INTERNAL, err.text, "", "", 0);
		return;
	} else {
		done.data = (struct api_bytes){ data.data, data.len };
		reply.events = (struct api_list){ &done, 1 };
	}
	reply_execution_events(host, req->id, &reply);
}

void handle_execution_events(struct host *host, const struct request *req,
			     const struct api_execution_events_in *in)
{
	struct execution *live = NULL;
	struct session *session;
	struct db_execution row;

	if (!execution_find_named(host, req, in->session, in->execution, &row))
		return;
	session = session_find(host, req->tenant, row.session);
	if (session != NULL)
		live = execution_find(session, row.id);
	/* A follow-up request is held by the id of the first one. */
	if (live != NULL && !in->goes_on)
		lease_take(live->lease, req->id);
	if (live != NULL)
		execution_wait_events(live, req->id, in->after);
	else
		replay_end(host, req, &row, in->after);
	db_execution_done(&row);
}
