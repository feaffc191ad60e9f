/*
 * end.c - ends a run: it is answered, stopped or abandoned.
 *
 * Runs in:  reckond's loop.
 * Reads:    the results of its driver.
 * Never:    leaves a reckon-agent running, or a waiting request unanswered.
 */
#include "host/runs/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "host/executions/asking.h"
#include "host/executions/cancel.h"
#include "host/host.h"

#define JSON_MAX ((size_t)60 * 1024 * 1024)
#define ANSWERED_GRACE_MS 60000u /* for the client to come back, after code waited for it */
#define ARTIFACTS "/reckon/v1/artifacts/"

void run_drop_puts(struct run *run)
{
	struct job *job;

	while ((job = run->puts) != NULL) {
		run->puts = job->next;
		job_free(job);
	}
}

void run_hang_up(struct run *run)
{
	loop_io_free(TAKE_PTR(run->io));
	driver_close(&run->driver);
}

static void stop_cell(struct run *run)
{
	struct execution *cell = run->cell;
	struct session *session = run->session;

	if (cell == NULL || session == NULL)
		return;
	execution_want_stop(cell, EXECUTION_STOP_INTERRUPT);
	if (session->queue.running != NULL && session->queue.running->execution == cell)
		execution_nudge(cell, session->box.handle);
	for (const struct context *at = session->kernels.first; at != NULL; at = at->next)
		if (at->running != NULL && at->running->execution == cell)
			execution_nudge(cell, at->handle);
}

static void count_up(struct run *run)
{
	const struct agent_usage *all = &run->driver.usage, *before = &run->before;
	/* A continued run starts with the sums of the run before it, which are already counted. */
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

/* The last event contains the answer. */
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
	/* A run that continues this one, after the application's results, needs the variables. */
	const bool ends_session = run->made_session && !run->keeps_session &&
				  run->stop != AGENT_STOP_CALLS;

	push_end(run);
	run_tell(run);
	for (size_t i = 0; i < run->waiter_count; i++)
		run_answer_waiter(run, &run->waiters[i]);
	run->waiter_count = 0;
	run->session = NULL;
	/* Frees data that is not needed any more. */
	driver_done(&run->driver);
	if (session != NULL && ends_session && session->row.id[0] != '\0')
		session_end(session, API_ERR_SESSION_CLOSED,
			    "the question that it was made for has its answer", 0);
}

/* Audits the end in the name of the client that started the run, whatever ended it. */
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
	run_drop_puts(run);
	stop_cell(run);
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
	stop_cell(run);
	/* Before READY there is no question to interrupt. */
	if (run->driver.state == DRIVER_STARTING)
		run_end(run, AGENT_STOP_INTERRUPTED, "");
	else if (driver_interrupt(&run->driver, &err) < 0)
		run_end(run, AGENT_STOP_FAILED, err.text);
}

/*
 * Stops the run if its lease is over, because nobody would read an answer that costs money. While
 * its code waits for the client, the client may be disconnected to work on its reply, so the lease
 * is renewed.
 */
void run_stop_abandoned(struct run *run)
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
