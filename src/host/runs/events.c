/*
 * events.c - events and answers of a run, and the requests that wait for them.
 *
 * Runs in:  reckond's loop.
 * Reads:    event buffers.
 * Never:    sends a request the same event twice.
 */
#include "host/runs/run.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/fronts/reply.h"
#include "host/host.h"

void run_act(struct run *run)
{
	struct host *host = run->host;

	host->about = run->about;
	(void)snprintf(host->about.session, sizeof(host->about.session), "%s",
		       run->session_id);
	memcpy(host->actor, run->actor, sizeof(host->actor));
	log_about(&host->about);
}

void run_expect(struct run *run, struct job *job)
{
	run->jobs++;
	job->run = run;
	job->run_events = run->events;
}

/* ---- events --------------------------------------------------------------------------------- */

void run_event_begin(struct json_writer *writer, struct buf *json, const char *name)
{
	json_write_init(writer, json);
	json_write_object_begin(writer);
	json_write_member_string(writer, "event", name);
}

void run_event_end(struct run *run, struct json_writer *writer, const char *name)
{
	struct err err;

	json_write_object_end(writer);
	if (json_write_finish(writer, &err) == 0)
		event_buffer_push(run->events, name, writer->out->data, writer->out->len);
	else
		log_line(LOG_WARN, "an event could not be told", "run=%s why=\"%s\"", run->id,
			 err.text);
}

/* ---- waiting requests ----------------------------------------------------------------------- */

/* Answers a request for events if there are new ones. */
static bool try_events(struct run *run, uint64_t request, uint64_t after)
{
	const struct api_failure failure = { .error = run->failure,
					     .message = run->why.text };
	cleanup_arena struct arena arena = { 0 };
	struct api_events reply;

	if (!event_buffer_read(run->events, after, &arena, &reply))
		return false;
	if (run->failed)
		reply.failure = &failure;
	reply_run_events(run->host, request, &reply);
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
	run->host->executions.followers++;
}

void run_tell(struct run *run)
{
	size_t remaining = 0;

	for (size_t i = 0; i < run->event_waiter_count; i++) {
		const struct event_waiter waiter = run->event_waiters[i];

		if (!try_events(run, waiter.request, waiter.after))
			run->event_waiters[remaining++] = waiter;
	}
	run->host->executions.followers -= run->event_waiter_count - remaining;
	run->event_waiter_count = remaining;
}

void run_publish(struct host *host)
{
	for (struct run *at = host->runs.first; at != NULL; at = at->next)
		if (at->event_waiter_count > 0)
			run_tell(at);
}

void run_reply_answer(struct host *host, const struct waiter *waiter, struct api_bytes answer)
{
	if (waiter->call == API_RUN_SHOW)
		reply_run_show(host, waiter->request,
			       &(struct api_run_show_out){ .answer = answer });
	else
		reply_run_create(host, waiter->request,
				 &(struct api_run_create_out){ .answer = answer });
}

void run_answer_waiter(struct run *run, const struct waiter *waiter)
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
		run_answer_waiter(run, &waiter);
		return;
	}
	run->waiters = mem_grow(run->waiters, run->waiter_count + 1,
				    sizeof(*run->waiters));
	run->waiters[run->waiter_count++] = waiter;
}
