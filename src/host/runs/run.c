/*
 * run.c - the life of a question: who waits for it, and how it ends.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back.
 * Never:    leaves a reckon-agent behind, or a question without an end.
 */
#include "host/runs/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/fronts/reply.h"
#include "host/executions/asking.h"
#include "host/executions/cancel.h"
#include "host/host.h"

#define JSON_MAX ((size_t)60 * 1024 * 1024)
#define ENDED_KEPT 200u
#define ENDED_BYTES_MAX ((size_t)64 * 1024 * 1024) /* in memory; all of them have rows */
#define ANSWERED_GRACE_MS 60000u /* after the code has waited: so long to come back */
#define ARTIFACTS "/reckon/v1/artifacts/"

/* ---- one of many ---------------------------------------------------------------------------- */

static void drop_puts(struct run *run)
{
	struct job *job;

	while ((job = run->puts) != NULL) {
		run->puts = job->next;
		job_free(job);
	}
}

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
	run->load = BUF_INIT(AGENT_TALK_MAX);
	run->json = BUF_INIT(JSON_MAX);
	run_driver_init(run);
	run->about = host->about;
	memcpy(run->actor, host->actor, sizeof(run->actor));
	run->next = host->runs;
	host->runs = run;
	return run;
}

static void free_one(struct run *run)
{
	for (struct run **at = &run->host->runs; *at != NULL; at = &(*at)->next)
		if (*at == run) {
			*at = run->next;
			break;
		}
	run_hang_up(run);
	drop_puts(run);
	for (size_t i = 0; i < run->file_count; i++)
		free(run->files[i]);
	free(run->files);
	free(run->model);
	free(run->tools);
	free(run->lease);
	free(run->waiters);
	free(run->event_waiters);
	run->host->followers -= run->event_waiter_count;
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
	for (struct run *at = host->runs; at != NULL; at = at->next)
		if (at->tenant == tenant && strcmp(at->id, id) == 0)
			return at;
	return NULL;
}

unsigned run_count(const struct host *host, const struct tenant *tenant)
{
	unsigned count = 0;

	for (const struct run *at = host->runs; at != NULL; at = at->next)
		count += at->state != RUN_ENDED && (tenant == NULL || at->tenant == tenant);
	return count;
}

bool run_is_unread(const struct host *host)
{
	for (const struct run *at = host->runs; at != NULL; at = at->next)
		if (at->state == RUN_ENDED && event_buffer_is_unread(at->events))
			return true;
	return false;
}

void run_act(struct run *run)
{
	struct host *host = run->host;

	host->about = run->about;
	(void)snprintf(host->about.session, sizeof(host->about.session), "%s",
		       run->session_id);
	memcpy(host->actor, run->actor, sizeof(host->actor));
	log_about(&host->about);
}

/* ---- who waits ------------------------------------------------------------------------------ */

/* Answers a request for events if there is something to say. */
static bool try_events(struct run *run, uint64_t request, uint64_t after)
{
	const struct api_failure failure = { .error = run->failure,
					     .message = run->why.text };
	cleanup_arena struct arena arena = { 0 };
	struct api_events told;

	if (!event_buffer_read(run->events, after, &arena, &told))
		return false;
	if (run->failed)
		told.failure = &failure;
	reply_run_events(run->host, request, &told);
	return true;
}

void run_wait_events(struct run *run, uint64_t request, uint64_t after)
{
	if (after > 0)
		event_buffer_reader_back(run->events);
	if (try_events(run, request, after))
		return;
	run->event_waiters = mem_grow(run->event_waiters, run->event_waiter_count + 1,
					  sizeof(*run->event_waiters));
	run->event_waiters[run->event_waiter_count++] =
		(struct event_waiter){ request, after };
	run->host->followers++;
}

void run_tell(struct run *run)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->event_waiter_count; i++) {
		const struct event_waiter waiter = run->event_waiters[i];

		if (!try_events(run, waiter.request, waiter.after))
			run->event_waiters[kept++] = waiter;
	}
	run->host->followers -= run->event_waiter_count - kept;
	run->event_waiter_count = kept;
}

void run_publish(struct host *host)
{
	for (struct run *at = host->runs; at != NULL; at = at->next)
		if (at->event_waiter_count > 0)
			run_tell(at);
}

static void answer_waiter(struct run *run, const struct waiter *waiter)
{
	if (run->failed)
		front_fail(run->host, waiter->request, run->failure, run->why.text, "",
			  run->why.remedy, 0);
	else
		run_reply_answer(run->host, waiter,
				  (struct api_bytes){ buf_text(&run->json),
						      run->json.len });
}

void run_wait(struct run *run, const struct request *req)
{
	const struct waiter waiter = { req->id, (unsigned)(req->call - api_calls) };

	if (run->state == RUN_ENDED) {
		answer_waiter(run, &waiter);
		return;
	}
	run->waiters = mem_grow(run->waiters, run->waiter_count + 1,
				    sizeof(*run->waiters));
	run->waiters[run->waiter_count++] = waiter;
}

static void forget_one(struct run *run, uint64_t request)
{
	size_t kept = 0;

	for (size_t i = 0; i < run->event_waiter_count; i++)
		if (run->event_waiters[i].request != request)
			run->event_waiters[kept++] = run->event_waiters[i];
	run->host->followers -= run->event_waiter_count - kept;
	run->event_waiter_count = kept;
	kept = 0;
	for (size_t i = 0; i < run->waiter_count; i++)
		if (run->waiters[i].request != request)
			run->waiters[kept++] = run->waiters[i];
	run->waiter_count = kept;
	lease_drop(run->lease, request, clock_mono_ns());
}

/* Nobody is going to read what it would cost. While its code waits for the client, that one may
 * work elsewhere: it comes back to answer. */
static void stop_abandoned(struct run *run)
{
	const uint64_t now = clock_mono_ns();

	if (run->cell != NULL && asking_waits(run->cell->asking))
		hold_renew(run->lease, now, ANSWERED_GRACE_MS);
	if (!lease_is_over(run->lease, now))
		return;
	free(TAKE_PTR(run->lease));
	run->is_abandoned = true;
	if (run->cell != NULL)
		cancel_note_why(run->cell);
	run_stop(run);
}

void run_forget(struct host *host, uint64_t request)
{
	struct run *next;

	for (struct run *at = host->runs; at != NULL; at = next) {
		next = at->next;
		if (at->state == RUN_ENDED)
			continue;
		forget_one(at, request);
		stop_abandoned(at);
	}
}

/* ---- the end -------------------------------------------------------------------------------- */

static void count_up(struct run *run)
{
	const struct agent_usage *all = &run->driver.usage, *before = &run->before;
	/* A run that was taken up has the sums of the one before, which were counted. */
	const bool is_later = all->requests >= before->requests;
	const struct agent_usage added = {
		.steps = all->steps - before->steps,
		.in = all->in - before->in,
		.cached = all->cached - before->cached,
		.out = all->out - before->out,
		.reasoning = all->reasoning - before->reasoning,
		.cost_micro = all->cost_micro - before->cost_micro,
	}, nothing = { 0 };
	const struct agent_usage *usage = is_later ? &added : &nothing;
	struct metrics *metrics = &run->host->seen.metrics;
	const struct {
		const char *kind;
		uint64_t count;
	} tokens[] = { { "input", usage->in }, { "cached", usage->cached },
		       { "output", usage->out }, { "reasoning", usage->reasoning } };

	metrics_add(metrics, METRICS_RUNS,
		    metrics_counter_label(METRICS_RUNS, agent_stop_name(run->stop)), 1);
	metrics_add(metrics, METRICS_RUN_STEPS, 0, usage->steps);
	metrics_add(metrics, METRICS_RUN_COST, 0, usage->cost_micro);
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++)
		metrics_add(metrics, METRICS_RUN_TOKENS,
			    metrics_counter_label(METRICS_RUN_TOKENS, tokens[i].kind),
			    tokens[i].count);
}

static int write_answer(struct run *run, struct err *err)
{
	const struct driver *driver = &run->driver;
	const bool is_parked = run->stop == AGENT_STOP_CALLS;
	struct outcome_call calls[AGENT_CALLS_MAX];
	struct outcome_checked checked;
	const struct outcome_frame frame = {
		.run = run->id,
		.session = run->session_id,
		.model = run->model,
		.question = buf_text(&run->question),
		.question_len = run->question.len,
		.answer = driver->has_answer ? buf_text(&driver->answer) : NULL,
		.answer_len = driver->answer.len,
		.checked = &checked,
		.stop = agent_stop_name(run->stop),
		.message = run->why.text,
		.usage = &driver->usage,
		.calls = calls,
		.call_count = is_parked ? driver->call_count : 0,
		.has_price = run->has_price,
		.link = ARTIFACTS,
	};

	outcome_read_checked(&driver->checked, buf_text(&driver->answer), driver->answer.len,
			     &checked);
	for (size_t i = 0; i < frame.call_count; i++)
		calls[i] = (struct outcome_call){ driver->calls[i].id, driver->calls[i].name,
						  driver->calls[i].arguments };
	return outcome_write(&driver->outcome, &frame, &run->json, err);
}

/* The last event holds the answer. */
static void push_end(struct run *run)
{
	cleanup_buf struct buf json = BUF_INIT(JSON_MAX + 64);
	struct json_writer writer;

	if (!run->failed) {
		run_event_begin(&writer, &json, "done");
		json_write_key(&writer, "answer");
		json_write_raw(&writer, buf_text(&run->json), run->json.len);
		run_event_end(run, &writer, "done");
	}
	event_buffer_finish(run->events);
}

static void settle(struct run *run)
{
	struct session *session = run->session;
	/* What goes on with a run that waits for the application needs its variables. */
	const bool ends_session = run->made_session && !run->keeps_session &&
				  run->stop != AGENT_STOP_CALLS;

	push_end(run);
	run_tell(run);
	for (size_t i = 0; i < run->waiter_count; i++)
		answer_waiter(run, &run->waiters[i]);
	run->waiter_count = 0;
	run->session = NULL;
	/* What nobody reads any more. */
	driver_done(&run->driver);
	if (session != NULL && ends_session && session->row.id[0] != '\0')
		session_end(session, API_ERR_SESSION_CLOSED,
			    "the question that it was made for has its answer", 0);
}

/* By whoever asked, whatever ended it. */
static void note_end(struct run *run)
{
	struct host *host = run->host;
	const struct agent_usage *usage = &run->driver.usage;
	const char *stop = agent_stop_name(run->stop);
	const struct log_context about = host->about;
	char actor[sizeof(host->actor)];

	memcpy(actor, host->actor, sizeof(actor));
	run_act(run);
	audit_note(host, "agent.end", run->session_id,
		   run->stop == AGENT_STOP_ANSWER ? "ok" : stop,
		   "run=%s steps=%" PRIu64 " tokens=%" PRIu64 " cost_micro=%" PRIu64, run->id,
		   usage->steps, usage->in + usage->out, usage->cost_micro);
	log_line(LOG_INFO, "question ended",
		 "run=%s session=%s model=\"%s\" stop=%s steps=%" PRIu64, run->id, run->session_id,
		 run->model, stop, usage->steps);
	host->about = about;
	memcpy(host->actor, actor, sizeof(host->actor));
	log_about(&host->about);
}

static void end(struct run *run)
{
	run->state = RUN_ENDED;
	run->ended_ns = clock_mono_ns();
	run_hang_up(run);
	drop_puts(run);
	run_cell_stop(run);
	count_up(run);
	note_end(run);
	run_keep_end(run);
	settle(run);
}

void run_end(struct run *run, enum agent_stop stop, const char *message)
{
	struct err err;

	if (run->state == RUN_ENDED)
		return;
	run->stop = stop;
	if (stop == AGENT_STOP_INTERRUPTED && run->is_abandoned && message[0] == '\0')
		message = "the client that asked went away";
	(void)err_set(&run->why, ERR_LIMIT, "%s", message);
	if (write_answer(run, &err) < 0) {
		run_abort(run, API_ERR_INTERNAL, err.text);
		return;
	}
	end(run);
}

void run_abort(struct run *run, enum api_error error, const char *why)
{
	if (run->state == RUN_ENDED)
		return;
	run->stop = AGENT_STOP_FAILED;
	run->failed = true;
	run->failure = error;
	(void)err_set(&run->why, ERR_LOST, "%s", why);
	end(run);
}

void run_stop(struct run *run)
{
	struct err err;

	if (run->state == RUN_PREPARING) {
		run_end(run, AGENT_STOP_INTERRUPTED, "");
		return;
	}
	if (run->state == RUN_ENDED)
		return;
	run_cell_stop(run);
	/* One that has not said READY was not asked, so it has nothing to end. */
	if (run->driver.state == DRIVER_STARTING)
		run_end(run, AGENT_STOP_INTERRUPTED, "");
	else if (driver_interrupt(&run->driver, &err) < 0)
		run_end(run, AGENT_STOP_FAILED, err.text);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

void run_expect(struct run *run, struct job *job)
{
	run->jobs++;
	job->run = run;
	job->run_events = run->events;
}

static void put_files(struct run *run)
{
	struct job *job;

	run->jobs++; /* ours, until all of them are there */
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

/* ---- what happens around it ----------------------------------------------------------------- */

void run_session_ends(struct session *session, const char *why)
{
	for (struct run *at = session->host->runs; at != NULL; at = at->next) {
		if (at->session != session || at->state == RUN_ENDED)
			continue;
		at->keeps_session = true; /* its end is under way */
		run_end(at, AGENT_STOP_LOST, why);
	}
}

void run_session_gone(struct session *session)
{
	for (struct run *at = session->host->runs; at != NULL; at = at->next)
		if (at->session == session)
			at->session = NULL;
}

static void check(struct run *run, uint64_t now)
{
	if (run->state == RUN_ENDED)
		return;
	if (run->session != NULL)
		persist_use(run->session);
	stop_abandoned(run);
	if (run->state == RUN_ASKING && driver_is_late(&run->driver, now))
		run_end(run, AGENT_STOP_FAILED,
			    "reckon-agent did not keep its time limit");
}

/* The oldest that ended go first. */
static void drop_old(struct host *host)
{
	struct run *next;
	size_t bytes = 0;
	unsigned kept = 0;

	for (struct run *at = host->runs; at != NULL; at = next) {
		next = at->next;
		if (at->state != RUN_ENDED)
			continue;
		bytes += at->json.len;
		if ((++kept > ENDED_KEPT || bytes > ENDED_BYTES_MAX) && at->jobs == 0)
			free_one(at);
	}
}

void run_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();
	struct run *next;

	for (struct run *at = host->runs; at != NULL; at = next) {
		next = at->next;
		check(at, now);
	}
	drop_old(host);
}

void run_stop_all(struct host *host, const char *why)
{
	struct run *next;

	for (struct run *at = host->runs; at != NULL; at = next) {
		next = at->next;
		run_end(at, AGENT_STOP_INTERRUPTED, why);
	}
}

void run_free_all(struct host *host)
{
	while (host->runs != NULL)
		free_one(host->runs);
	models_free(host->models);
	host->models = NULL;
}

static void front_lost(struct host *host, uint64_t first, uint64_t last)
{
	for (struct run *at = host->runs; at != NULL; at = at->next)
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
