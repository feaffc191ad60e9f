/*
 * execution.c - one execution: the requests that wait for its record or events, and its end.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back, event buffers.
 * Never:    answers with the end of an execution before its record is stored.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/executions/asking.h"
#include "host/fronts/reply.h"
#include "host/host.h"
#include "host/tenants/usage.h"

static struct execution *execution_new(struct session *session, struct err *err)
{
	struct execution *execution = mem_new0(1, sizeof(*execution));

	if (id_new(execution->id, "ex", err) < 0) {
		free(execution);
		return NULL;
	}
	execution->session = session;
	(void)snprintf(execution->requester, sizeof(execution->requester), "%.*s", ID_SIZE - 1,
		       session->host->actor);
	execution->code = BUF_INIT(FRONT_CODE_MAX);
	execution->events = event_buffer_new();
	execution->next = session->executions.first;
	session->executions.first = execution;
	session->tenant->executions++;
	return execution;
}

void execution_free(struct execution *execution)
{
	for (struct execution **at = &execution->session->executions.first; *at != NULL;
	     at = &(*at)->next)
		if (*at == execution) {
			*at = execution->next;
			break;
		}
	if (execution->state != EXECUTION_FINISHED)
		execution->session->tenant->executions--;
	execution->session->host->executions.followers -= execution->event_waiter_count;
	row_before_run_forget(execution);
	pending_row_forget(execution);
	replay_remove(execution);
	event_buffer_free(execution->events);
	free(execution->lease);
	asking_free(execution->asking);
	free(execution->waiters);
	free(execution->event_waiters);
	free(execution);
}

struct execution *execution_begin(struct session *session, struct db_execution *row,
				  const char *idempotency, const char *code, size_t len,
				  struct err *err)
{
	struct execution *execution = execution_new(session, err);

	if (execution == NULL)
		return NULL;
	row->sequence = session->executions.sequence + 1;
	(void)snprintf(row->status, sizeof(row->status), "pending");
	memcpy(row->id, execution->id, sizeof(row->id));
	memcpy(row->session, session->row.id, sizeof(row->session));
	clock_rfc3339_now(row->created_at);
	pending_row_note(execution, row, idempotency);
	if (buf_add(&execution->code, code, len, err) < 0) {
		execution_free(execution);
		return NULL;
	}
	return execution;
}

struct job *execution_job(struct execution *execution)
{
	struct job *job = job_new(execution->session, JOB_EXECUTE, 0);

	execution->session->executions.sequence++;
	job->execution = execution;
	return job;
}

struct execution *execution_find(struct session *session, const char *id)
{
	for (struct execution *at = session->executions.first; at != NULL; at = at->next)
		if (strcmp(at->id, id) == 0)
			return at;
	return NULL;
}

void execution_wait(struct execution *execution, const struct request *req)
{
	const unsigned call = (unsigned)(req->call - api_calls);

	execution->waiters = mem_grow(execution->waiters, execution->waiter_count + 1,
				      sizeof(*execution->waiters));
	execution->waiters[execution->waiter_count++] = (struct waiter){ req->id, call };
}

/* Answers a request for events if there are new ones. */
static bool try_events(struct execution *execution, uint64_t request, uint64_t after)
{
	const struct api_failure failure = { .error = execution->failure,
					     .message = execution->why.text };
	cleanup_arena struct arena arena = { 0 };
	struct api_events reply;

	if (!event_buffer_read(execution->events, after, &arena, &reply))
		return false;
	/* For a client that reads only events; before the end it does no harm. */
	if (execution->failed)
		reply.failure = &failure;
	reply_execution_events(execution->session->host, request, &reply);
	execution->given_ns = clock_mono_ns();
	execution->is_read = execution->is_read || reply.is_last;
	if (reply.is_last)
		once_done(execution->session);
	return true;
}

void execution_wait_events(struct execution *execution, uint64_t request, uint64_t after)
{
	if (after > 0)
		event_buffer_reader_back(execution->events);
	if (try_events(execution, request, after))
		return;
	execution->event_waiters = mem_grow(execution->event_waiters,
					    execution->event_waiter_count + 1,
					    sizeof(*execution->event_waiters));
	execution->session->host->executions.followers++;
	execution->event_waiters[execution->event_waiter_count++] =
		(struct event_waiter){ request, after };
}

static void publish(struct execution *execution)
{
	size_t remaining = 0;

	for (size_t i = 0; i < execution->event_waiter_count; i++) {
		const struct event_waiter waiter = execution->event_waiters[i];

		if (!try_events(execution, waiter.request, waiter.after))
			execution->event_waiters[remaining++] = waiter;
	}
	execution->session->host->executions.followers -= execution->event_waiter_count - remaining;
	execution->event_waiter_count = remaining;
}

void execution_publish(struct host *host)
{
	/*
	 * Every job that ends calls this, and with thousands of sessions a walk through all is
	 * expensive.
	 */
	if (host->executions.followers == 0)
		return;
	for (struct session *session = host->sessions.first; session != NULL; session = session->next)
		for (struct execution *at = session->executions.first; at != NULL; at = at->next)
			if (at->event_waiter_count > 0)
				publish(at);
}

void execution_forget(struct execution *execution, uint64_t request)
{
	size_t remaining = 0;

	for (size_t i = 0; i < execution->event_waiter_count; i++)
		if (execution->event_waiters[i].request != request)
			execution->event_waiters[remaining++] = execution->event_waiters[i];
	execution->session->host->executions.followers -= execution->event_waiter_count - remaining;
	execution->event_waiter_count = remaining;
	remaining = 0;
	for (size_t i = 0; i < execution->waiter_count; i++)
		if (execution->waiters[i].request != request)
			execution->waiters[remaining++] = execution->waiters[i];
	execution->waiter_count = remaining;
	lease_drop(execution->lease, request, clock_mono_ns());
}

/* Frees finished executions, except the newest ones, whose events can be read again. */
static void drop_old(struct session *session)
{
	struct execution *next;
	unsigned finished = 0;

	for (struct execution *at = session->executions.first; at != NULL; at = next) {
		next = at->next;
		if (at->state == EXECUTION_FINISHED && ++finished > HOST_EVENT_BUFFERS_MAX)
			execution_free(at);
	}
}

/* Writes into the open transaction, in which an error fails everything. */
static int keep_record(struct execution *execution, const struct job *job, const char *status,
		       struct err *err)
{
	struct host *host = execution->session->host;
	struct db_end end = { .status = status,
			      .why = execution->failed ? execution->why.text : NULL };
	int code;

	if (job != NULL && job->result.json != NULL) {
		end.record = job->result.json;
		end.record_len = job->result.json_len;
		if (job->result.json[job->result.receipt_part.at] == '{') {
			end.receipt = job->result.json + job->result.receipt_part.at;
			end.receipt_len = job->result.receipt_part.len;
		}
	}
	code = pending_row_waits(execution) ? pending_row_write(execution, &end, err)
				      : db_execution_finish(host->db, execution->id, &end, err);
	if (code < 0)
		return code;
	return audit_add(host, "execution.end", execution->session->row.id, status, err,
			 "execution=%s", execution->id);
}

void execution_rowless(struct session *session, const struct err *failed)
{
	for (struct execution *at = session->executions.first; at != NULL; at = at->next) {
		pending_row_drop(at);
		at->row = EXECUTION_ROW_NONE;
		at->failure = front_storage_error(failed);
		(void)err_set(&at->why, ERR_SYSTEM, "its session could not be kept: %s",
			      failed->text);
	}
}

static void keep(struct execution *execution, const struct job *job)
{
	struct host *host = execution->session->host;
	const char *status = job != NULL && job->result.json != NULL ? job->result.status
			     : execution->cancel == EXECUTION_CANCELLED ? "cancelled"
									: "failed";
	const bool is_alone = !host->transactions.is_open;
	struct err err;

	observe_execution(host, job, status);
	log_line(LOG_INFO, "execution ended", "session=%s execution=%s status=%s ms=%llu",
		 execution->session->row.id, execution->id, status,
		 job != NULL ? (unsigned long long)(job->times.ended_ns - job->times.begun_ns) /
				       1000000u
			     : 0ull);
	if (execution->row == EXECUTION_ROW_NONE)
		return;
	/* One commit for the record, its usage and its objects. */
	execution->row =
		host->transactions.is_open ? EXECUTION_ROW_UNCOMMITTED : EXECUTION_ROW_STORED;
	execution->transaction = host->transactions.current;
	transaction_note(execution->session);
	if (is_alone && db_begin(host->db, &err) < 0)
		log_line(LOG_WARN, "a record is kept without a transaction", "why=\"%s\"",
			 err.text);
	if (job != NULL && job->result.json != NULL)
		usage_executed(host, job);
	if (keep_record(execution, job, status, &err) < 0 ||
	    (job != NULL && job->result.json != NULL &&
	     db_objects_add(host->db, execution->id, job->result.json, job->result.json_len,
			    &err) < 0) ||
	    (is_alone && (db_commit(host->db, &err) < 0 || db_sync(host->db, &err) < 0))) {
		transaction_fail(host, &err);
		if (is_alone)
			pending_row_failed(execution);
	}
}

static void settle(struct execution *execution)
{
	row_before_run_forget(execution);
	execution->state = EXECUTION_FINISHED;
	free(TAKE_PTR(execution->lease)); /* there is nothing left to cancel */
	execution->session->tenant->executions--;
	execution->given_ns = clock_mono_ns();
	event_buffer_finish(execution->events);
	publish(execution);
	execution->waiter_count = 0;
	replay_add(execution);
	if (execution->row != EXECUTION_ROW_UNCOMMITTED)
		pending_row_committed(execution);
	drop_old(execution->session);
}

void execution_want_stop(struct execution *execution, enum execution_stop stop)
{
	if (execution->stop < stop)
		execution->stop = stop;
}

void execution_nudge(const struct execution *execution, reckon_session *handle)
{
	switch (execution->stop) {
	case EXECUTION_STOP_NO:
		break;
	case EXECUTION_STOP_INTERRUPT:
		if (execution->reason != NULL)
			reckon_interrupt_for(handle, execution->reason);
		else
			reckon_interrupt(handle);
		break;
	case EXECUTION_STOP_KILL:
		reckon_kill(handle);
		break;
	}
}

void execution_drop(struct execution *execution, const struct err *failed)
{
	struct host *host = execution->session->host;

	execution->failed = true;
	execution->failure = front_storage_error(failed);
	(void)err_set(&execution->why, ERR_SYSTEM,
		      "it was not run, because that it had begun could "
		      "not be kept: %s",
		      failed->text);
	execution->why.errnum = failed->errnum;
	for (size_t i = 0; i < execution->waiter_count; i++)
		front_fail(host, execution->waiters[i].request, execution->failure,
			   execution->why.text, "", failed->remedy, 0);
	settle(execution);
}

static void reply_record(struct host *host, const struct waiter *waiter, struct api_bytes record)
{
	if (waiter->call == API_EXECUTE_ONCE)
		reply_execute_once(host, waiter->request,
				   &(struct api_execute_once_out){ .record = record });
	else
		reply_execute(host, waiter->request,
			      &(struct api_execute_out){ .record = record });
}

void execution_finish(struct execution *execution, const struct job *job)
{
	struct host *host = execution->session->host;

	if (execution->row == EXECUTION_ROW_NONE) {
		execution->failed = true;
	} else if (job->result.json == NULL) {
		execution->failed = true;
		execution->failure = job->error.code == RECKON_ELOST ? API_ERR_UNAVAILABLE
								     : API_ERR_INTERNAL;
		(void)err_set(&execution->why, ERR_LOST, "%s", job->error.message);
		/* If there is no record, the code did not begin (reckon_execute()). */
		if (job->error.code == RECKON_ELOST)
			execution_release_key(execution);
	}
	keep(execution, job);
	for (size_t i = 0; i < execution->waiter_count; i++) {
		if (execution->row == EXECUTION_ROW_NONE)
			front_fail(host, execution->waiters[i].request, execution->failure,
				  execution->why.text, "", "", 0);
		else if (job->result.json != NULL)
			reply_record(host, &execution->waiters[i],
				     (struct api_bytes){ job->result.json, job->result.json_len });
		else
			front_fail_reckon(host, execution->waiters[i].request, &job->error);
	}
	settle(execution);
}

void execution_release_key(const struct execution *execution)
{
	struct host *host = execution->session->host;
	struct err err;

	if (db_execution_unkey(host->db, execution->id, &err) < 0)
		transaction_fail(host, &err);
}

void execution_fail(struct execution *execution, enum api_error error, const char *why)
{
	execution->failed = true;
	execution->failure = error;
	(void)err_set(&execution->why, ERR_LOST, "%s", why);
	keep(execution, NULL);
	for (size_t i = 0; i < execution->waiter_count; i++)
		front_fail(execution->session->host, execution->waiters[i].request, error, why,
			  "it had not begun", "", 0);
	settle(execution);
}
