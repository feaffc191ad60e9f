/*
 * run.c - the life of a run: created, prepared, asked; events of its session and jobs.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back.
 * Never:    leaves a run without an end.
 */
#include "host/runs/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/host.h"

#define JSON_MAX ((size_t)60 * 1024 * 1024)
#define ENDED_RUNS 200u
#define ENDED_BYTES_MAX ((size_t)64 * 1024 * 1024) /* in memory; all runs have rows */

/* ---- create, find, free --------------------------------------------------------------------- */

struct run *run_new(struct host *host, struct tenant *tenant, struct err *err)
{
	struct run *run = mem_new0(1, sizeof(*run));

	if (id_new(run->id, "run", err) < 0) {
		free(run);
		return NULL;
	}
	run->host = host;
	run->tenant = tenant;
	run->events = event_buffer_new();
	run->question = BUF_INIT(FRONT_QUESTION_MAX);
	run->load = BUF_INIT(AGENT_CONVERSATION_MAX);
	run->json = BUF_INIT(JSON_MAX);
	run_driver_init(run);
	run->about = host->about;
	memcpy(run->actor, host->actor, sizeof(run->actor));
	run->next = host->runs.first;
	host->runs.first = run;
	return run;
}

static void free_one(struct run *run)
{
	for (struct run **at = &run->host->runs.first; *at != NULL; at = &(*at)->next)
		if (*at == run) {
			*at = run->next;
			break;
		}
	run_hang_up(run);
	run_drop_puts(run);
	for (size_t i = 0; i < run->file_count; i++)
		free(run->files[i]);
	free(run->files);
	free(run->model);
	free(run->tools);
	free(run->lease);
	free(run->waiters);
	free(run->event_waiters);
	run->host->executions.followers -= run->event_waiter_count;
	event_buffer_free(run->events);
	buf_done(&run->question);
	buf_done(&run->load);
	for (size_t i = 0; i < run->result_count; i++) {
		free((char *)(uintptr_t)run->results[i].call);
		free((char *)(uintptr_t)run->results[i].text);
	}
	buf_done(&run->json);
	driver_done(&run->driver);
	free(run);
}

void run_discard(struct run *run)
{
	free_one(run);
}

struct run *run_find(struct host *host, const struct tenant *tenant, const char *id)
{
	for (struct run *at = host->runs.first; at != NULL; at = at->next)
		if (at->tenant == tenant && strcmp(at->id, id) == 0)
			return at;
	return NULL;
}

unsigned run_count(const struct host *host, const struct tenant *tenant)
{
	unsigned count = 0;

	for (const struct run *at = host->runs.first; at != NULL; at = at->next)
		count += at->state != RUN_ENDED && (tenant == NULL || at->tenant == tenant);
	return count;
}

bool run_is_unread(const struct host *host)
{
	for (const struct run *at = host->runs.first; at != NULL; at = at->next)
		if (at->state == RUN_ENDED && event_buffer_is_unread(at->events))
			return true;
	return false;
}

/* ---- clients that disconnect ---------------------------------------------------------------- */

static void forget_one(struct run *run, uint64_t request)
{
	size_t remaining = 0;

	for (size_t i = 0; i < run->event_waiter_count; i++)
		if (run->event_waiters[i].request != request)
			run->event_waiters[remaining++] = run->event_waiters[i];
	run->host->executions.followers -= run->event_waiter_count - remaining;
	run->event_waiter_count = remaining;
	remaining = 0;
	for (size_t i = 0; i < run->waiter_count; i++)
		if (run->waiters[i].request != request)
			run->waiters[remaining++] = run->waiters[i];
	run->waiter_count = remaining;
	lease_drop(run->lease, request, clock_mono_ns());
}

void run_forget(struct host *host, uint64_t request)
{
	struct run *next;

	for (struct run *at = host->runs.first; at != NULL; at = next) {
		next = at->next;
		if (at->state == RUN_ENDED)
			continue;
		forget_one(at, request);
		run_stop_abandoned(at);
	}
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static void put_files(struct run *run)
{
	struct job *job;

	run->jobs++; /* keeps the count above 0 until all files are queued */
	while ((job = run->puts) != NULL) {
		run->puts = job->next;
		run_expect(run, job);
		file_queue_enqueue(run->session, job);
	}
	run->jobs--;
}

static void go_on(struct run *run)
{
	struct err err;

	if (run->jobs > 0 || run->state != RUN_PREPARING)
		return;
	if (run->puts != NULL) {
		put_files(run);
		return;
	}
	if (run_ask(run, &err) < 0)
		run_end(run, AGENT_STOP_FAILED, err.text);
}

void run_opened(struct run *run)
{
	run->jobs--;
	if (run->state == RUN_PREPARING && run->session != NULL)
		memcpy(run->session_id, run->session->row.id,
		       sizeof(run->session_id));
	if (run->session_id[0] != '\0' && run->state != RUN_ENDED)
		run_keep_session(run);
	go_on(run);
}

void run_job_done(struct run *run, const struct job *job)
{
	run->jobs--;
	if (job->execution != NULL)
		run_cell_done(run, job);
	else if (job->error.code < 0)
		run_abort(run, job->files.refusal != 0 ? job->files.refusal
							      : API_ERR_INVALID,
			     job->error.message);
	else
		go_on(run);
}

void run_job_failed(struct run *run, enum api_error error, const char *why)
{
	run->jobs--;
	run->cell = NULL;
	if (run->state == RUN_PREPARING)
		run_abort(run, error, why);
	else if (run->state == RUN_ASKING)
		run_cell_refuse(run, error == API_ERR_EXECUTION_CANCELLED ? "refused"
										  : "lost", why);
}

/* ---- sessions, time, shutdown --------------------------------------------------------------- */

void run_session_ends(struct session *session, const char *why)
{
	for (struct run *at = session->host->runs.first; at != NULL; at = at->next) {
		if (at->session != session || at->state == RUN_ENDED)
			continue;
		at->keeps_session = true; /* it is ending already */
		run_end(at, AGENT_STOP_LOST, why);
	}
}

void run_session_gone(struct session *session)
{
	for (struct run *at = session->host->runs.first; at != NULL; at = at->next)
		if (at->session == session)
			at->session = NULL;
}

static void check(struct run *run, uint64_t now)
{
	if (run->state == RUN_ENDED)
		return;
	if (run->session != NULL)
		persist_use(run->session);
	run_stop_abandoned(run);
	if (run->state == RUN_ASKING && driver_is_late(&run->driver, now))
		run_end(run, AGENT_STOP_FAILED,
			    "reckon-agent did not keep its time limit");
}

/* Frees ended runs, except the newest. */
static void drop_old(struct host *host)
{
	struct run *next;
	size_t bytes = 0;
	unsigned ended = 0;

	for (struct run *at = host->runs.first; at != NULL; at = next) {
		next = at->next;
		if (at->state != RUN_ENDED)
			continue;
		bytes += at->json.len;
		if ((++ended > ENDED_RUNS || bytes > ENDED_BYTES_MAX) && at->jobs == 0)
			free_one(at);
	}
}

void run_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();
	struct run *next;

	for (struct run *at = host->runs.first; at != NULL; at = next) {
		next = at->next;
		check(at, now);
	}
	drop_old(host);
}

void run_stop_all(struct host *host, const char *why)
{
	struct run *next;

	for (struct run *at = host->runs.first; at != NULL; at = next) {
		next = at->next;
		run_end(at, AGENT_STOP_INTERRUPTED, why);
	}
}

void run_free_all(struct host *host)
{
	while (host->runs.first != NULL)
		free_one(host->runs.first);
	models_free(host->runs.models);
	host->runs.models = NULL;
}

static void front_lost(struct host *host, uint64_t first, uint64_t last)
{
	for (struct run *at = host->runs.first; at != NULL; at = at->next)
		lease_lose(at->lease, first, last);
}

static void job_opened(struct job *opened)
{
	if (opened->run != NULL)
		run_opened(opened->run);
}

static void job_done(struct job *job)
{
	if (job->run != NULL)
		run_job_done(job->run, job);
}

static void job_failed(struct job *job, enum api_error error, const char *why)
{
	if (job->run != NULL)
		run_job_failed(job->run, error, why);
}

static void ends(struct session *session, enum api_error end, const char *why)
{
	(void)end;
	run_session_ends(session, why);
}

const struct module runs_module = {
	.request_gone = run_forget,
	.front_lost = front_lost,
	.job_opened = job_opened,
	.job_done = job_done,
	.job_failed = job_failed,
	.session_ends = ends,
	.session_gone = run_session_gone,
};
