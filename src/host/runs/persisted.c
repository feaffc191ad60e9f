/*
 * persisted.c - runs in the database: their questions and answers survive a restart.
 *
 * Runs in:  reckond's loop.
 * Reads:    rows of runs.
 * Never:    asks a model: a run with an Idempotency-Key is asked at most once.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "host/fronts/reply.h"
#include "host/db/tables/run.h"
#include "host/host.h"

#define ANSWERS_MAX (UINT64_C(256) * 1024 * 1024) /* per tenant; drops the oldest beyond that */
#define JSON_MAX ((size_t)61 * 1024 * 1024)

#define cleanup_db_run __attribute__((cleanup(db_run_done)))

int run_keep_begin(const struct run *run, const char *idempotency,
		       const unsigned char hash[32], struct err *err)
{
	struct host *host = run->host;
	cleanup_db_run struct db_run row;

	db_run_init(&row);
	memcpy(row.id, run->id, sizeof(row.id));
	memcpy(row.tenant, run->tenant->row.id, sizeof(row.tenant));
	(void)snprintf(row.requester, sizeof(row.requester), "%.*s", ID_SIZE - 1, run->actor);
	memcpy(row.session, run->session_id, sizeof(row.session));
	(void)snprintf(row.model, sizeof(row.model), "%s", run->model);
	memcpy(row.request_hash, hash, sizeof(row.request_hash));
	if (buf_add(&row.question, buf_text(&run->question), run->question.len, err) < 0 ||
	    db_run_add(host->db, &row, idempotency, err) < 0)
		return (int)err->code;
	return transaction_sync(host, err);
}

void run_keep_session(const struct run *run)
{
	struct err err;

	if (db_run_in(run->host->db, run->id, run->session_id, &err) < 0)
		log_line(LOG_WARN, "the session of a run could not be kept", "run=%s why=\"%s\"",
			 run->id, err.text);
}

static int write_end(const struct run *run, struct err *err)
{
	struct host *host = run->host;
	cleanup_db_run struct db_run row;
	int code;

	db_run_init(&row);
	memcpy(row.id, run->id, sizeof(row.id));
	(void)snprintf(row.state, sizeof(row.state), "%s", run->failed ? "failed" : "ended");
	row.failure = run->failure;
	(void)snprintf(row.why, sizeof(row.why), "%.*s", DB_WHY_SIZE - 1, run->why.text);
	if (!run->failed &&
	    buf_add(&row.answer, buf_text(&run->json), run->json.len, err) < 0)
		return (int)err->code;
	if (buf_add(&row.conversation, buf_text(&run->driver.conversation),
		    run->driver.conversation.len, err) < 0)
		return (int)err->code;
	if (run->stop == AGENT_STOP_CALLS)
		row.usage = run->driver.usage;
	/* Both change or neither, inside a transaction that may be open. */
	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_run_end(host->db, &row, run->has_called_model, err);
	if (code >= 0)
		code = db_run_trim(host->db, run->tenant->row.id, ANSWERS_MAX, err);
	if (audit_end(host, code, err) < 0)
		return (int)err->code;
	return transaction_sync(host, err);
}

void run_keep_end(const struct run *run)
{
	struct err err;

	/*
	 * The client still gets the answer that it paid for; after a restart the run counts as
	 * interrupted.
	 */
	if (write_end(run, &err) < 0)
		log_line(LOG_ERROR, "an answer could not be kept", "run=%s why=\"%s\"", run->id,
			 err.text);
}

/* ---- runs that are not in memory ------------------------------------------------------------ */

/* For a run that a restart interrupted: an ordinary answer that says so. */
static int write_lost(const struct db_run *row, struct buf *json, struct err *err)
{
	const struct agent_usage usage = { 0 };
	struct outcome outcome;
	char message[DB_WHY_SIZE + 160];
	const struct outcome_frame frame = {
		.run = row->id,
		.session = row->session[0] != '\0' ? row->session : NULL,
		.model = row->model,
		.question = buf_text(&row->question),
		.question_len = row->question.len,
		.stop = agent_stop_name(AGENT_STOP_INTERRUPTED),
		.message = message,
		.usage = &usage,
	};
	int code;

	(void)snprintf(
		message, sizeof(message),
		"the daemon was restarted while it was answered (%s); what ran is in the history "
		"of the session, what it cost is not known",
		row->why);
	outcome_init(&outcome, 0);
	code = outcome_write(&outcome, &frame, json, err);
	outcome_done(&outcome);
	return code;
}

/* Returns the answer, or in *ret_error the reason why there is none. */
static int answer_of(const struct db_run *row, struct buf *json, enum api_error *ret_error,
		     char why[DB_WHY_SIZE], struct err *err)
{
	(void)snprintf(why, DB_WHY_SIZE, "%s", row->why);
	if (strcmp(row->state, "ended") == 0)
		return buf_add(json, row->answer.data, row->answer.len, err);
	if (strcmp(row->state, "lost") == 0)
		return write_lost(row, json, err);
	*ret_error = (enum api_error)row->failure;
	if (strcmp(row->state, "dropped") == 0) {
		*ret_error = API_ERR_EXPIRED;
		(void)snprintf(why, DB_WHY_SIZE, "the answer of this run made room for later ones");
	}
	return 0;
}

static int write_done(struct buf *event, const struct buf *answer, struct err *err)
{
	struct json_writer writer;

	run_event_begin(&writer, event, "done");
	json_write_key(&writer, "answer");
	json_write_raw(&writer, buf_text(answer), answer->len);
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}

void run_reply_from_row(struct host *host, const struct request *req, const struct db_run *row)
{
	const struct waiter waiter = { req->id, (unsigned)(req->call - api_calls) };
	cleanup_buf struct buf json = BUF_INIT(JSON_MAX);
	enum api_error error = API_ERR_INTERNAL;
	char why[DB_WHY_SIZE];
	struct err err;

	if (answer_of(row, &json, &error, why, &err) < 0)
		front_fail_err(host, req->id, &err);
	else if (json.len > 0)
		run_reply_answer(host, &waiter, (struct api_bytes){ json.data, json.len });
	else
		front_fail(host, req->id, error, why, "",
			  error == API_ERR_EXPIRED ? "its executions are in its session" : "", 0);
}

void run_reply_events_from_row(struct host *host, uint64_t request, uint64_t after,
			       const struct db_run *row)
{
	cleanup_buf struct buf data = BUF_INIT(JSON_MAX + 64), json = BUF_INIT(JSON_MAX);
	struct api_event done = { .id = after + 1, .name = "done" };
	struct api_events reply = { .is_last = true };
	enum api_error error = API_ERR_INTERNAL;
	struct api_failure failure;
	char why[DB_WHY_SIZE];
	struct err err;

	if (answer_of(row, &json, &error, why, &err) < 0 ||
	    (json.len > 0 && write_done(&data, &json, &err) < 0)) {
		front_fail_err(host, request, &err);
		return;
	}
	failure = (struct api_failure){ .error = error, .message = why };
	done.data = (struct api_bytes){ data.data, data.len };
	if (json.len > 0)
		reply.events = (struct api_list){ &done, 1 };
	else
		reply.failure = &failure;
	reply_run_events(host, request, &reply);
}
