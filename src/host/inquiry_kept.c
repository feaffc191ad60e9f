/*
 * inquiry_kept.c - runs in the database: what was asked, what was answered, also after a restart.
 *
 * Runs in:  reckond's loop.
 * Reads:    rows of runs.
 * Never:    asks a model: what has one Idempotency-Key is asked once, whatever became of it.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "host/db_run.h"
#include "host/host.h"

#define ANSWERS_MAX (UINT64_C(256) * 1024 * 1024) /* of a tenant; the oldest go first */
#define JSON_MAX ((size_t)61 * 1024 * 1024)

#define cleanup_db_run __attribute__((cleanup(db_run_done)))

int inquiry_keep_begin(const struct inquiry *inquiry, const char *idempotency,
		       const unsigned char hash[32], struct err *err)
{
	struct host *host = inquiry->host;
	cleanup_db_run struct db_run row;

	db_run_init(&row);
	memcpy(row.id, inquiry->id, sizeof(row.id));
	memcpy(row.tenant, inquiry->tenant->row.id, sizeof(row.tenant));
	(void)snprintf(row.asked_by, sizeof(row.asked_by), "%.*s", ID_SIZE - 1, inquiry->actor);
	memcpy(row.session, inquiry->session_id, sizeof(row.session));
	(void)snprintf(row.model, sizeof(row.model), "%s", inquiry->model);
	memcpy(row.request_hash, hash, sizeof(row.request_hash));
	if (buf_add(&row.question, buf_text(&inquiry->question), inquiry->question.len, err) < 0 ||
	    db_run_add(host->db, &row, idempotency, err) < 0)
		return (int)err->code;
	return keep_sync(host, err);
}

void inquiry_keep_session(const struct inquiry *inquiry)
{
	struct err err;

	if (db_run_in(inquiry->host->db, inquiry->id, inquiry->session_id, &err) < 0)
		log_line(LOG_WARN, "the session of a run could not be kept", "run=%s why=\"%s\"",
			 inquiry->id, err.text);
}

static int write_end(const struct inquiry *inquiry, struct err *err)
{
	struct host *host = inquiry->host;
	cleanup_db_run struct db_run row;
	int code;

	db_run_init(&row);
	memcpy(row.id, inquiry->id, sizeof(row.id));
	(void)snprintf(row.state, sizeof(row.state), "%s", inquiry->failed ? "failed" : "ended");
	row.failure = inquiry->failure;
	(void)snprintf(row.why, sizeof(row.why), "%.*s", DB_WHY_SIZE - 1, inquiry->why.text);
	if (!inquiry->failed &&
	    buf_add(&row.answer, buf_text(&inquiry->json), inquiry->json.len, err) < 0)
		return (int)err->code;
	/* Together, within whatever else is written just now, or not at all. */
	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_run_end(host->db, &row, inquiry->was_asked, err);
	if (code >= 0)
		code = db_run_trim(host->db, inquiry->tenant->row.id, ANSWERS_MAX, err);
	if (audit_end(host, code, err) < 0)
		return (int)err->code;
	return keep_sync(host, err);
}

void inquiry_keep_end(const struct inquiry *inquiry)
{
	struct err err;

	/* What was paid for is answered all the same; after a restart it is one that was cut off. */
	if (write_end(inquiry, &err) < 0)
		log_line(LOG_ERROR, "an answer could not be kept", "run=%s why=\"%s\"", inquiry->id,
			 err.text);
}

/* ---- what is asked of one that is not in memory ---------------------------------------------- */

/* Of one that a restart cut off: an answer like any, which says so. */
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

	(void)snprintf(message, sizeof(message),
		       "the daemon was restarted while it was answered (%s); what ran is in the history "
		       "of the session, what it cost is not known", row->why);
	outcome_init(&outcome, 0);
	code = outcome_write(&outcome, &frame, json, err);
	outcome_done(&outcome);
	return code;
}

/* What it has to say, or *ret_error with why there is nothing. */
static int answer_of(const struct db_run *row, struct buf *json, enum front_error *ret_error,
		     char why[DB_WHY_SIZE], struct err *err)
{
	(void)snprintf(why, DB_WHY_SIZE, "%s", row->why);
	if (strcmp(row->state, "ended") == 0)
		return buf_add(json, row->answer.data, row->answer.len, err);
	if (strcmp(row->state, "lost") == 0)
		return write_lost(row, json, err);
	*ret_error = (enum front_error)row->failure;
	if (strcmp(row->state, "dropped") == 0) {
		*ret_error = FRONT_ERR_EXPIRED;
		(void)snprintf(why, DB_WHY_SIZE, "the answer of this run made room for later ones");
	}
	return 0;
}

static int pack_done(struct buf *payload, uint64_t after, const struct buf *answer, struct err *err)
{
	cleanup_buf struct buf event = BUF_INIT(JSON_MAX + 64);
	struct json_writer writer;

	inquiry_event_begin(&writer, &event, "done");
	json_write_key(&writer, "answer");
	json_write_raw(&writer, buf_text(answer), answer->len);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_EVENT_ID, after + 1, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_EVENT_NAME, "done", err) < 0)
		return (int)err->code;
	return front_pack(payload, FRONT_TAG_EVENT_DATA, event.data, event.len, err);
}

void inquiry_kept_reply(struct host *host, uint64_t request, const struct db_run *row)
{
	cleanup_buf struct buf json = BUF_INIT(JSON_MAX);
	enum front_error error = FRONT_ERR_INTERNAL;
	char why[DB_WHY_SIZE];
	struct err err;

	if (answer_of(row, &json, &error, why, &err) < 0)
		peer_fail_err(host, request, &err);
	else if (json.len > 0)
		peer_reply_body(host, request, json.data, json.len);
	else
		peer_fail(host, request, error, why, "",
			  error == FRONT_ERR_EXPIRED ? "its executions are in its session" : "", 0);
}

void inquiry_kept_events(struct host *host, uint64_t request, uint64_t after,
			 const struct db_run *row)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX), json = BUF_INIT(JSON_MAX);
	enum front_error error = FRONT_ERR_INTERNAL;
	char why[DB_WHY_SIZE];
	struct err err;
	int code = answer_of(row, &json, &error, why, &err);

	if (code == 0 && json.len > 0)
		code = pack_done(&payload, after, &json, &err);
	else if (code == 0 && (front_pack_u64(&payload, FRONT_TAG_ERROR, error, &err) < 0 ||
			       front_pack_text(&payload, FRONT_TAG_MESSAGE, why, &err) < 0))
		code = (int)err.code;
	if (code < 0 || front_pack(&payload, FRONT_TAG_END, "", 0, &err) < 0)
		peer_fail_err(host, request, &err);
	else
		peer_reply(host, request, &payload, -1);
}
