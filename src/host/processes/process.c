/*
 * process.c - the life of a session's processes: start, end, loss, and their rows.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back from the pool.
 * Never:    tells a client that a process runs or has ended before its row is stored.
 */
#include "host/processes/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/fronts/reply.h"
#include "host/host.h"
#include "host/sessions/gone.h"

/* ---- create, find, free --------------------------------------------------------------------- */

struct process *process_new(struct session *session, struct err *err)
{
	struct process *process = mem_new0(1, sizeof(*process));

	db_process_init(&process->row);
	if (id_new(process->row.id, "pr", err) < 0) {
		free(process);
		return NULL;
	}
	memcpy(process->row.session, session->row.id, sizeof(process->row.session));
	(void)snprintf(process->row.requester, sizeof(process->row.requester), "%.*s", ID_SIZE - 1,
		       session->host->actor);
	process->session = session;
	process->follow.events = event_buffer_new();
	process->started_ns = clock_mono_ns();
	process->follow.alone_ns = process->started_ns;
	process->next = session->processes.first;
	session->processes.first = process;
	session->tenant->processes++;
	return process;
}

void process_drop(struct process *process)
{
	struct session *session = process->session;

	for (struct process **at = &session->processes.first; *at != NULL; at = &(*at)->next)
		if (*at == process) {
			*at = process->next;
			break;
		}
	if (process->phase != PROCESS_ENDED)
		session->tenant->processes--;
	session->host->pace.ended_event_bytes -= process->follow.event_bytes;
	process_unwatch(process);
	process_fail_input(process, API_ERR_PROCESS_ENDED, "the process has ended");
	event_buffer_free(process->follow.events);
	free(process->follow.readers);
	free(process->follow.waiters);
	db_process_done(&process->row);
	free(process);
}

void process_forget_all(struct session *session)
{
	while (session->processes.first != NULL)
		process_drop(session->processes.first);
}

struct process *process_find(const struct session *session, const char *id)
{
	struct process *at = session->processes.first;

	while (at != NULL && (at->phase == PROCESS_STARTING || strcmp(at->row.id, id) != 0))
		at = at->next;
	return at;
}

unsigned process_count(const struct session *session)
{
	unsigned count = 0;

	for (const struct process *at = session->processes.first; at != NULL; at = at->next)
		count += at->phase != PROCESS_ENDED || at->handle != NULL;
	return count;
}

bool process_keeps(const struct session *session)
{
	const struct process *at = session->processes.first;

	while (at != NULL && (at->phase == PROCESS_ENDED || (at->row.flags & PROCESS_DETACH) != 0))
		at = at->next;
	return at != NULL;
}

static void leave_nothing(struct process *process)
{
	if (process->stay == PROCESS_MAY_STAY)
		process->stay = PROCESS_CLOSES;
}

/* Closes the handle if nobody needs it, which also ends programs that the process left running. */
static void close_handle(struct process *process)
{
	const bool may_stay = (process->row.flags & PROCESS_DETACH) != 0 &&
			      process->stay == PROCESS_MAY_STAY;

	if (process->handle == NULL || process->jobs > 0 || process->phase != PROCESS_ENDED ||
	    may_stay)
		return;
	process_unwatch(process);
	process_ask(process, JOB_PROCESS_CLOSE, NULL);
}

/* ---- rows and events ------------------------------------------------------------------------ */

void process_put(struct process *process)
{
	struct session *session = process->session;
	struct err err;

	process->is_unstored = db_process_put(session->host->db, &process->row, &err) < 0;
	if (process->is_unstored)
		transaction_fail(session->host, &err);
	process->is_uncommitted = session->host->transactions.is_open;
	process->transaction = session->host->transactions.current;
	transaction_note(session);
}

static void push(struct process *process, const char *name, const struct buf *json)
{
	process->row.last_event++;
	(void)event_buffer_push(process->follow.events, name, buf_text(json), json->len);
}

static void push_start(struct process *process)
{
	cleanup_buf struct buf json = BUF_INIT(128);
	struct err err;

	if (buf_addf(&json, &err, "{\"event\":\"start\",\"pid\":%d}", process->row.pid) == 0)
		push(process, "start", &json);
}

static void keep_events(struct process *process)
{
	process->follow.event_bytes = event_buffer_shrink(process->follow.events);
	process->session->host->pace.ended_event_bytes += process->follow.event_bytes;
}

/*
 * Its row is stored in the open transaction; events and answers wait for that, as all answers do.
 */
static void settle(struct process *process)
{
	cleanup_buf struct buf json = BUF_INIT(64u * 1024u);
	struct session *session = process->session;
	struct err err;

	clock_rfc3339_now(process->row.ended_at);
	if (process_tell_end(&process->row, &json, &err) == 0)
		push(process, "end", &json);
	event_buffer_finish(process->follow.events);
	process->phase = PROCESS_ENDED;
	session->tenant->processes--;
	process_put(process);
	metrics_add(&session->host->seen.metrics, METRICS_PROCESSES,
		    metrics_counter_label(METRICS_PROCESSES,
					  process_cause_name(process->row.cause)), 1);
	audit_note(session->host, "process.end", session->row.id,
		   process_cause_name(process->row.cause), "process=%s", process->row.id);
	process_fail_input(process, API_ERR_PROCESS_ENDED, "the process has ended");
	process_publish(process);
	process_answer_waiters(process);
	keep_events(process);
}

static bool is_droppable(const struct process *process)
{
	return process->phase == PROCESS_ENDED && process->handle == NULL && process->jobs == 0 &&
	       !process->is_unstored && process->follow.reader_count == 0;
}

/* Frees ended processes except the newest, within a limit of bytes. */
static void drop_old(struct session *session)
{
	struct process *next;
	unsigned count = 0;
	size_t bytes = 0;

	for (struct process *at = session->processes.first; at != NULL; at = next) {
		next = at->next;
		if (at->phase != PROCESS_ENDED)
			continue;
		bytes += at->follow.event_bytes;
		if ((++count > PROCESS_ENDED_COUNT || (count > 1 && bytes > PROCESS_ENDED_BYTES)) &&
		    is_droppable(at))
			process_drop(at);
	}
}

/* If the events of all sessions together exceed the limit, frees all ended processes. */
void process_drop_old(struct host *host)
{
	struct process *next;

	if (host->pace.ended_event_bytes <= PROCESS_ALL_ENDED_BYTES)
		return;
	for (struct session *session = host->sessions.first; session != NULL; session = session->next)
		for (struct process *at = session->processes.first; at != NULL; at = next) {
			next = at->next;
			if (at->follow.event_bytes > 0 && is_droppable(at))
				process_drop(at);
		}
}

/* ---- start ---------------------------------------------------------------------------------- */

/* The program was not started, so its key may be used again. */
static void free_key(struct process *process)
{
	struct err err;

	if (process->row.key[0] != '\0' &&
	    db_process_remove(process->session->host->db, process->row.id, &err) < 0)
		transaction_fail(process->session->host, &err);
}

static void fail_start(struct process *process, const struct job *job)
{
	struct host *host = process->session->host;

	if (job->error.code < 0)
		front_fail_reckon(host, job->request, &job->error);
	else if (life_is_live(process->session->life))
		front_fail(host, job->request, API_ERR_UNAVAILABLE, "the session lost its box", "",
			  "ask again", 1);
	else
		session_tell_gone(host, process->session->tenant, job->request, process->row.session);
	if (process->handle == NULL) {
		free_key(process);
		process_drop(process);
		return;
	}
	/* The session ended during the start. */
	if (process->row.key[0] != '\0') {
		process->row.state = API_PROCESS_STATE_LOST;
		(void)snprintf(process->row.why, sizeof(process->row.why), "%s",
			       "its box went while it was started");
		clock_rfc3339_now(process->row.ended_at);
		process_put(process);
	}
	process->phase = PROCESS_ENDED;
	process->session->tenant->processes--;
	process->stay = PROCESS_UNBORN;
	close_handle(process);
}

static void started(struct process *process, const struct job *job)
{
	struct session *session = process->session;
	struct host *host = session->host;
	cleanup_arena struct arena arena = { 0 };
	struct api_process reply;
	struct err err;

	if (process->handle == NULL || !life_is_live(session->life) || session_is_parked(session) ||
	    process_watch(process, &err) < 0) {
		audit_note(host, "process.start", session->row.id, "failed", "%s", "");
		fail_start(process, job);
		return;
	}
	process->started_ns = process->follow.alone_ns = clock_mono_ns();
	process->phase = PROCESS_RUNNING;
	process->row.pid = process->result.pid;
	process->row.state = API_PROCESS_STATE_RUNNING;
	clock_rfc3339_now(process->row.created_at);
	process_put(process);
	audit_note(host, "process.start", session->row.id, "ok", "process=%s", process->row.id);
	push_start(process);
	process_tell(&arena, &process->row, false, &reply);
	reply_process_create(host, job->request, &reply);
}

/* ---- end ------------------------------------------------------------------------------------ */

static void ended(struct process *process, const struct job *job)
{
	struct db_process *row = &process->row;
	const reckon_process_state *state = &process->result;

	if (process->failed.code < 0) {
		row->state = API_PROCESS_STATE_LOST;
		(void)snprintf(row->why, sizeof(row->why), "%s", process->failed.message);
	} else {
		row->state = API_PROCESS_STATE_ENDED;
		row->cause = process_cause_of(state->cause);
		row->exit_code = state->exit_code;
		row->signal = state->signal;
		process_note_usage(process);
	}
	if (process->follow.is_hung_up && row->why[0] == '\0')
		(void)snprintf(row->why, sizeof(row->why), "%s", "nobody followed it any more");
	process_note_files(process, job->result.changes);
	settle(process);
}

static void all_ended(struct session *session, const struct job *job)
{
	struct process *next;

	for (struct process *at = job->process; at != NULL; at = next) {
		next = at->next_ended;
		at->jobs--;
		if (at->phase == PROCESS_ENDING)
			ended(at, job);
		close_handle(at);
	}
	drop_old(session);
}

/* ---- returned jobs -------------------------------------------------------------------------- */

static void closed(struct process *process)
{
	process->handle = NULL;
	if (process->stay == PROCESS_UNBORN)
		process_drop(process);
}

static void signalled(struct process *process, const struct job *job)
{
	struct session *session = process->session;
	struct host *host = session->host;

	if (job->request == 0)
		return;
	audit_note(host, "process.signal", session->row.id, job->error.code < 0 ? "failed" : "ok",
		   "process=%s signal=%llu", process->row.id, (unsigned long long)job->cursor);
	if (job->error.code == RECKON_ENOT_FOUND)
		front_fail(host, job->request, API_ERR_PROCESS_ENDED, "the process has ended", "",
			   "", 0);
	else if (job->error.code < 0)
		front_fail_reckon(host, job->request, &job->error);
	else
		reply_done(host, job->request);
}

/* Without control groups for processes the number is unknown, and programs may still be running. */
static bool is_nothing_left(const struct process *process)
{
	return process->result.left == 0 && process->result.processes_peak > 0;
}

void process_job_done(struct job *job)
{
	struct session *session = job->session;
	struct process *process = job->process;

	observe_job(session->host, job);
	if (job->kind == JOB_PROCESS_END) { /* called by file_queue_job_done() */
		all_ended(session, job);
		return;
	}
	session->processes.jobs--;
	process->jobs--;
	if (job->kind == JOB_PROCESS_START) {
		persist_use(session);
		started(process, job);
	} else if (job->kind == JOB_PROCESS_CLOSE) {
		closed(process);
		drop_old(session);
	} else {
		if (job->kind == JOB_PROCESS_SIGNAL)
			signalled(process, job);
		else if (job->error.code < 0 || is_nothing_left(process))
			leave_nothing(process);
		close_handle(process);
	}
	job_free(job);
	process_pump(session);
	file_queue_pump(session);
	session_pump(session); /* a CLOSE, or a new box, may have waited for this job */
}

/* ---- loss ----------------------------------------------------------------------------------- */

static void lose(struct process *process, enum api_process_state state,
		 enum api_process_cause cause, const char *why)
{
	leave_nothing(process);
	if (process->phase != PROCESS_ENDED) {
		process_unwatch(process);
		process->session->looks.ran_since = true;
		process->row.state = state;
		process->row.cause = cause;
		(void)snprintf(process->row.why, sizeof(process->row.why), "%s", why);
		settle(process);
	}
	close_handle(process);
}

void process_fail_waiting(struct session *session, enum api_error error, const char *why)
{
	struct job *job;

	while ((job = session->processes.starts) != NULL) {
		struct process *process = job->process;

		session->processes.starts = job->next;
		job_fail(job, error, why);
		free_key(process);
		process_drop(process);
	}
	session->processes.pending_rows_last = NULL;
}

void process_lose_all(struct session *session, enum api_process_state state,
		      enum api_process_cause cause, const char *why)
{
	struct host *host = session->host;
	bool is_own;
	struct err err;

	if (session->processes.first == NULL)
		return;
	if (transaction_join(host, &is_own, &err) < 0)
		is_own = false;
	session->processes.ended = NULL;
	for (struct process *at = session->processes.first, *next; at != NULL; at = next) {
		next = at->next;
		if (at->phase != PROCESS_STARTING)
			lose(at, state, cause, why);
	}
	transaction_leave(host, is_own, session->processes.jobs);
}

void process_transaction_failed(struct session *session, uint64_t first)
{
	for (struct process *at = session->processes.first; at != NULL; at = at->next) {
		if (!at->is_uncommitted || at->transaction < first || process_is_held(at))
			continue;
		at->is_uncommitted = false;
		at->is_unstored = true;
		/* The client got an error for the start. */
		if (at->phase == PROCESS_RUNNING)
			process_kill(at);
	}
}

void process_transaction_synced(struct session *session, uint64_t upto)
{
	for (struct process *at = session->processes.first; at != NULL; at = at->next)
		if (at->is_uncommitted && at->transaction <= upto)
			at->is_uncommitted = false;
	if (session->processes.starts != NULL)
		process_pump(session);
}

void process_kill(struct process *process)
{
	struct job *job;

	leave_nothing(process);
	if (process->phase != PROCESS_RUNNING) {
		close_handle(process);
		return;
	}
	job = job_new(process->session, JOB_PROCESS_SIGNAL, 0);
	job->cursor = 9;
	process_ask(process, JOB_PROCESS_SIGNAL, job);
}
