/*
 * inquiry.c - the life of a question: who waits for it, and how it ends.
 *
 * Runs in:  reckond's loop.
 * Reads:    jobs that came back.
 * Never:    leaves a reckon-agent behind, or a question without an end.
 */
#include "host/runs/inquiry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/calls/call.h"
#include "host/executions/cancel.h"
#include "host/host.h"

#define JSON_MAX ((size_t)60 * 1024 * 1024)
#define ENDED_KEPT 200u
#define ENDED_BYTES_MAX ((size_t)64 * 1024 * 1024) /* in memory; all of them have rows */
#define ARTIFACTS "/reckon/v1/artifacts/"

/* ---- one of many ---------------------------------------------------------------------------- */

static void drop_puts(struct inquiry *inquiry)
{
	struct job *job;

	while ((job = inquiry->puts) != NULL) {
		inquiry->puts = job->next;
		job_free(job);
	}
}

struct inquiry *inquiry_new(struct host *host, struct tenant *tenant, struct err *err)
{
	struct inquiry *inquiry = mem_new0(1, sizeof(*inquiry));

	if (id_new(inquiry->id, "run", err) < 0) {
		free(inquiry);
		return NULL;
	}
	inquiry->host = host;
	inquiry->tenant = tenant;
	inquiry->ring = ring_new();
	inquiry->question = BUF_INIT(FRONT_QUESTION_MAX);
	inquiry->load = BUF_INIT(AGENT_TALK_MAX);
	inquiry->json = BUF_INIT(JSON_MAX);
	inquiry_driver_init(inquiry);
	inquiry->about = host->about;
	memcpy(inquiry->actor, host->actor, sizeof(inquiry->actor));
	inquiry->next = host->inquiries;
	host->inquiries = inquiry;
	return inquiry;
}

static void free_one(struct inquiry *inquiry)
{
	for (struct inquiry **at = &inquiry->host->inquiries; *at != NULL; at = &(*at)->next)
		if (*at == inquiry) {
			*at = inquiry->next;
			break;
		}
	inquiry_hang_up(inquiry);
	drop_puts(inquiry);
	for (size_t i = 0; i < inquiry->file_count; i++)
		free(inquiry->files[i]);
	free(inquiry->files);
	free(inquiry->model);
	free(inquiry->hold);
	free(inquiry->waiters);
	free(inquiry->event_waiters);
	inquiry->host->followers -= inquiry->event_waiter_count;
	ring_free(inquiry->ring);
	buf_done(&inquiry->question);
	buf_done(&inquiry->load);
	for (size_t i = 0; i < inquiry->result_count; i++) {
		free((char *)(uintptr_t)inquiry->results[i].call);
		free((char *)(uintptr_t)inquiry->results[i].text);
	}
	buf_done(&inquiry->json);
	driver_done(&inquiry->driver);
	free(inquiry);
}

void inquiry_discard(struct inquiry *inquiry)
{
	free_one(inquiry);
}

struct inquiry *inquiry_find(struct host *host, const struct tenant *tenant, const char *id)
{
	for (struct inquiry *at = host->inquiries; at != NULL; at = at->next)
		if (at->tenant == tenant && strcmp(at->id, id) == 0)
			return at;
	return NULL;
}

unsigned inquiry_count(const struct host *host, const struct tenant *tenant)
{
	unsigned count = 0;

	for (const struct inquiry *at = host->inquiries; at != NULL; at = at->next)
		count += at->state != INQUIRY_ENDED && (tenant == NULL || at->tenant == tenant);
	return count;
}

bool inquiry_is_unread(const struct host *host)
{
	for (const struct inquiry *at = host->inquiries; at != NULL; at = at->next)
		if (at->state == INQUIRY_ENDED && ring_is_unread(at->ring))
			return true;
	return false;
}

void inquiry_act(struct inquiry *inquiry)
{
	struct host *host = inquiry->host;

	host->about = inquiry->about;
	(void)snprintf(host->about.session, sizeof(host->about.session), "%s",
		       inquiry->session_id);
	memcpy(host->actor, inquiry->actor, sizeof(host->actor));
	log_about(&host->about);
}

/* ---- who waits ------------------------------------------------------------------------------ */

/* Answers a request for events if there is something to say. */
static bool try_events(struct inquiry *inquiry, uint64_t request, uint64_t after)
{
	const struct api_failure failure = { .error = inquiry->failure,
					     .message = inquiry->why.text };
	cleanup_arena struct arena arena = { 0 };
	struct api_events told;

	if (!ring_read(inquiry->ring, after, &arena, &told))
		return false;
	if (inquiry->failed)
		told.failure = &failure;
	reply_run_events(inquiry->host, request, &told);
	return true;
}

void inquiry_wait_events(struct inquiry *inquiry, uint64_t request, uint64_t after)
{
	if (after > 0)
		ring_reader_back(inquiry->ring);
	if (try_events(inquiry, request, after))
		return;
	inquiry->event_waiters = mem_grow(inquiry->event_waiters, inquiry->event_waiter_count + 1,
					  sizeof(*inquiry->event_waiters));
	inquiry->event_waiters[inquiry->event_waiter_count++] =
		(struct event_waiter){ request, after };
	inquiry->host->followers++;
}

void inquiry_tell(struct inquiry *inquiry)
{
	size_t kept = 0;

	for (size_t i = 0; i < inquiry->event_waiter_count; i++) {
		const struct event_waiter waiter = inquiry->event_waiters[i];

		if (!try_events(inquiry, waiter.request, waiter.after))
			inquiry->event_waiters[kept++] = waiter;
	}
	inquiry->host->followers -= inquiry->event_waiter_count - kept;
	inquiry->event_waiter_count = kept;
}

void inquiry_publish(struct host *host)
{
	for (struct inquiry *at = host->inquiries; at != NULL; at = at->next)
		if (at->event_waiter_count > 0)
			inquiry_tell(at);
}

static void answer_waiter(struct inquiry *inquiry, const struct waiter *waiter)
{
	if (inquiry->failed)
		peer_fail(inquiry->host, waiter->request, inquiry->failure, inquiry->why.text, "",
			  inquiry->why.remedy, 0);
	else
		call_reply_answer(inquiry->host, waiter,
				  (struct api_bytes){ buf_text(&inquiry->json),
						      inquiry->json.len });
}

void inquiry_wait(struct inquiry *inquiry, const struct asked *asked)
{
	const struct waiter waiter = { asked->id, (unsigned)(asked->call - api_calls) };

	if (inquiry->state == INQUIRY_ENDED) {
		answer_waiter(inquiry, &waiter);
		return;
	}
	inquiry->waiters = mem_grow(inquiry->waiters, inquiry->waiter_count + 1,
				    sizeof(*inquiry->waiters));
	inquiry->waiters[inquiry->waiter_count++] = waiter;
}

static void forget_one(struct inquiry *inquiry, uint64_t request)
{
	size_t kept = 0;

	for (size_t i = 0; i < inquiry->event_waiter_count; i++)
		if (inquiry->event_waiters[i].request != request)
			inquiry->event_waiters[kept++] = inquiry->event_waiters[i];
	inquiry->host->followers -= inquiry->event_waiter_count - kept;
	inquiry->event_waiter_count = kept;
	kept = 0;
	for (size_t i = 0; i < inquiry->waiter_count; i++)
		if (inquiry->waiters[i].request != request)
			inquiry->waiters[kept++] = inquiry->waiters[i];
	inquiry->waiter_count = kept;
	hold_drop(inquiry->hold, request, clock_mono_ns());
}

/* Nobody is going to read what it would cost. */
static void stop_abandoned(struct inquiry *inquiry)
{
	if (!hold_is_over(inquiry->hold, clock_mono_ns()))
		return;
	free(TAKE_PTR(inquiry->hold));
	inquiry->is_abandoned = true;
	if (inquiry->cell != NULL)
		cancel_note_why(inquiry->cell);
	inquiry_stop(inquiry);
}

void inquiry_forget(struct host *host, uint64_t request)
{
	struct inquiry *next;

	for (struct inquiry *at = host->inquiries; at != NULL; at = next) {
		next = at->next;
		if (at->state == INQUIRY_ENDED)
			continue;
		forget_one(at, request);
		stop_abandoned(at);
	}
}

/* ---- the end -------------------------------------------------------------------------------- */

static void count_up(struct inquiry *inquiry)
{
	const struct agent_usage *all = &inquiry->driver.usage, *before = &inquiry->before;
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
	struct metrics *metrics = &inquiry->host->seen.metrics;
	const struct {
		const char *kind;
		uint64_t count;
	} tokens[] = { { "input", usage->in }, { "cached", usage->cached },
		       { "output", usage->out }, { "reasoning", usage->reasoning } };

	metrics_add(metrics, METRICS_RUNS,
		    metrics_counter_label(METRICS_RUNS, agent_stop_name(inquiry->stop)), 1);
	metrics_add(metrics, METRICS_RUN_STEPS, 0, usage->steps);
	metrics_add(metrics, METRICS_RUN_COST, 0, usage->cost_micro);
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++)
		metrics_add(metrics, METRICS_RUN_TOKENS,
			    metrics_counter_label(METRICS_RUN_TOKENS, tokens[i].kind),
			    tokens[i].count);
}

static int write_answer(struct inquiry *inquiry, struct err *err)
{
	const struct driver *driver = &inquiry->driver;
	const bool is_parked = inquiry->stop == AGENT_STOP_CALLS;
	struct outcome_call calls[AGENT_CALLS_MAX];
	const struct outcome_frame frame = {
		.run = inquiry->id,
		.session = inquiry->session_id,
		.model = inquiry->model,
		.question = buf_text(&inquiry->question),
		.question_len = inquiry->question.len,
		.answer = driver->has_answer ? buf_text(&driver->answer) : NULL,
		.answer_len = driver->answer.len,
		.stop = agent_stop_name(inquiry->stop),
		.message = inquiry->why.text,
		.usage = &driver->usage,
		.calls = calls,
		.call_count = is_parked ? driver->call_count : 0,
		.has_price = inquiry->has_price,
		.link = ARTIFACTS,
	};

	for (size_t i = 0; i < frame.call_count; i++)
		calls[i] = (struct outcome_call){ driver->calls[i].id, driver->calls[i].name,
						  driver->calls[i].arguments };
	return outcome_write(&driver->outcome, &frame, &inquiry->json, err);
}

/* The last event holds the answer. */
static void push_end(struct inquiry *inquiry)
{
	cleanup_buf struct buf json = BUF_INIT(JSON_MAX + 64);
	struct json_writer writer;

	if (!inquiry->failed) {
		inquiry_event_begin(&writer, &json, "done");
		json_write_key(&writer, "answer");
		json_write_raw(&writer, buf_text(&inquiry->json), inquiry->json.len);
		inquiry_event_end(inquiry, &writer, "done");
	}
	ring_finish(inquiry->ring);
}

static void settle(struct inquiry *inquiry)
{
	struct session *session = inquiry->session;
	/* What goes on with a run that waits for the application needs its variables. */
	const bool ends_session = inquiry->made_session && !inquiry->keeps_session &&
				  inquiry->stop != AGENT_STOP_CALLS;

	push_end(inquiry);
	inquiry_tell(inquiry);
	for (size_t i = 0; i < inquiry->waiter_count; i++)
		answer_waiter(inquiry, &inquiry->waiters[i]);
	inquiry->waiter_count = 0;
	inquiry->session = NULL;
	/* What nobody reads any more. */
	driver_done(&inquiry->driver);
	if (session != NULL && ends_session && session->row.id[0] != '\0')
		session_end(session, API_ERR_SESSION_CLOSED,
			    "the question that it was made for has its answer", 0);
}

/* By whoever asked, whatever ended it. */
static void note_end(struct inquiry *inquiry)
{
	struct host *host = inquiry->host;
	const struct agent_usage *usage = &inquiry->driver.usage;
	const char *stop = agent_stop_name(inquiry->stop);
	const struct log_context about = host->about;
	char actor[sizeof(host->actor)];

	memcpy(actor, host->actor, sizeof(actor));
	inquiry_act(inquiry);
	audit_note(host, "agent.end", inquiry->session_id,
		   inquiry->stop == AGENT_STOP_ANSWER ? "ok" : stop,
		   "run=%s steps=%" PRIu64 " tokens=%" PRIu64 " cost_micro=%" PRIu64, inquiry->id,
		   usage->steps, usage->in + usage->out, usage->cost_micro);
	log_line(LOG_INFO, "question ended", "run=%s session=%s model=\"%s\" stop=%s steps=%" PRIu64,
		 inquiry->id, inquiry->session_id, inquiry->model, stop, usage->steps);
	host->about = about;
	memcpy(host->actor, actor, sizeof(host->actor));
	log_about(&host->about);
}

static void end(struct inquiry *inquiry)
{
	inquiry->state = INQUIRY_ENDED;
	inquiry->ended_ns = clock_mono_ns();
	inquiry_hang_up(inquiry);
	drop_puts(inquiry);
	inquiry_cell_stop(inquiry);
	count_up(inquiry);
	note_end(inquiry);
	inquiry_keep_end(inquiry);
	settle(inquiry);
}

void inquiry_end(struct inquiry *inquiry, enum agent_stop stop, const char *message)
{
	struct err err;

	if (inquiry->state == INQUIRY_ENDED)
		return;
	inquiry->stop = stop;
	if (stop == AGENT_STOP_INTERRUPTED && inquiry->is_abandoned && message[0] == '\0')
		message = "the client that asked went away";
	(void)err_set(&inquiry->why, ERR_LIMIT, "%s", message);
	if (write_answer(inquiry, &err) < 0) {
		inquiry_fail(inquiry, API_ERR_INTERNAL, err.text);
		return;
	}
	end(inquiry);
}

void inquiry_fail(struct inquiry *inquiry, enum api_error error, const char *why)
{
	if (inquiry->state == INQUIRY_ENDED)
		return;
	inquiry->stop = AGENT_STOP_FAILED;
	inquiry->failed = true;
	inquiry->failure = error;
	(void)err_set(&inquiry->why, ERR_LOST, "%s", why);
	end(inquiry);
}

void inquiry_stop(struct inquiry *inquiry)
{
	struct err err;

	if (inquiry->state == INQUIRY_PREPARING) {
		inquiry_end(inquiry, AGENT_STOP_INTERRUPTED, "");
		return;
	}
	if (inquiry->state == INQUIRY_ENDED)
		return;
	inquiry_cell_stop(inquiry);
	/* One that has not said READY was not asked, so it has nothing to end. */
	if (inquiry->driver.state == DRIVER_STARTING)
		inquiry_end(inquiry, AGENT_STOP_INTERRUPTED, "");
	else if (driver_interrupt(&inquiry->driver, &err) < 0)
		inquiry_end(inquiry, AGENT_STOP_FAILED, err.text);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

void inquiry_expect(struct inquiry *inquiry, struct job *job)
{
	inquiry->jobs++;
	job->inquiry = inquiry;
	job->inquiry_ring = inquiry->ring;
}

static void put_files(struct inquiry *inquiry)
{
	struct job *job;

	inquiry->jobs++; /* ours, until all of them are there */
	while ((job = inquiry->puts) != NULL) {
		inquiry->puts = job->next;
		inquiry_expect(inquiry, job);
		beside_enqueue(inquiry->session, job);
	}
	inquiry->jobs--;
}

static void go_on(struct inquiry *inquiry)
{
	struct err err;

	if (inquiry->jobs > 0 || inquiry->state != INQUIRY_PREPARING)
		return;
	if (inquiry->puts != NULL) {
		put_files(inquiry);
		return;
	}
	if (inquiry_ask(inquiry, &err) < 0)
		inquiry_end(inquiry, AGENT_STOP_FAILED, err.text);
}

void inquiry_opened(struct inquiry *inquiry)
{
	inquiry->jobs--;
	if (inquiry->state == INQUIRY_PREPARING && inquiry->session != NULL)
		memcpy(inquiry->session_id, inquiry->session->row.id,
		       sizeof(inquiry->session_id));
	if (inquiry->session_id[0] != '\0' && inquiry->state != INQUIRY_ENDED)
		inquiry_keep_session(inquiry);
	go_on(inquiry);
}

void inquiry_job_done(struct inquiry *inquiry, const struct job *job)
{
	inquiry->jobs--;
	if (job->execution != NULL)
		inquiry_cell_done(inquiry, job);
	else if (job->error.code < 0)
		inquiry_fail(inquiry, job->files.refusal != 0 ? job->files.refusal
							      : API_ERR_INVALID,
			     job->error.message);
	else
		go_on(inquiry);
}

void inquiry_job_failed(struct inquiry *inquiry, enum api_error error, const char *why)
{
	inquiry->jobs--;
	inquiry->cell = NULL;
	if (inquiry->state == INQUIRY_PREPARING)
		inquiry_fail(inquiry, error, why);
	else if (inquiry->state == INQUIRY_ASKING)
		inquiry_cell_refuse(inquiry, error == API_ERR_EXECUTION_CANCELLED ? "refused"
										  : "lost", why);
}

/* ---- what happens around it ----------------------------------------------------------------- */

void inquiry_session_ends(struct session *session, const char *why)
{
	for (struct inquiry *at = session->host->inquiries; at != NULL; at = at->next) {
		if (at->session != session || at->state == INQUIRY_ENDED)
			continue;
		at->keeps_session = true; /* its end is under way */
		inquiry_end(at, AGENT_STOP_LOST, why);
	}
}

void inquiry_session_gone(struct session *session)
{
	for (struct inquiry *at = session->host->inquiries; at != NULL; at = at->next)
		if (at->session == session)
			at->session = NULL;
}

static void check(struct inquiry *inquiry, uint64_t now)
{
	if (inquiry->state == INQUIRY_ENDED)
		return;
	if (inquiry->session != NULL)
		keep_use(inquiry->session);
	stop_abandoned(inquiry);
	if (inquiry->state == INQUIRY_ASKING && driver_is_late(&inquiry->driver, now))
		inquiry_end(inquiry, AGENT_STOP_FAILED,
			    "reckon-agent did not keep its time limit");
}

/* The oldest that ended go first. */
static void drop_old(struct host *host)
{
	struct inquiry *next;
	size_t bytes = 0;
	unsigned kept = 0;

	for (struct inquiry *at = host->inquiries; at != NULL; at = next) {
		next = at->next;
		if (at->state != INQUIRY_ENDED)
			continue;
		bytes += at->json.len;
		if ((++kept > ENDED_KEPT || bytes > ENDED_BYTES_MAX) && at->jobs == 0)
			free_one(at);
	}
}

void inquiry_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();
	struct inquiry *next;

	for (struct inquiry *at = host->inquiries; at != NULL; at = next) {
		next = at->next;
		check(at, now);
	}
	drop_old(host);
}

void inquiry_stop_all(struct host *host, const char *why)
{
	struct inquiry *next;

	for (struct inquiry *at = host->inquiries; at != NULL; at = next) {
		next = at->next;
		inquiry_end(at, AGENT_STOP_INTERRUPTED, why);
	}
}

void inquiry_free_all(struct host *host)
{
	while (host->inquiries != NULL)
		free_one(host->inquiries);
	models_free(host->models);
	host->models = NULL;
}
