/*
 * run.h - a run of a model, as a dialect of a model's API follows it: begun, read, event by event.
 *
 *   cleanup_run struct run run = RUN_INIT;
 *   struct run_event event;
 *
 *   if (run_begin(&run, request, &in) < 0)
 *           return;
 *   while (run_next(&run, &event) >= 0 && event.kind != RUN_DONE …)
 *
 * The run ends when the client goes away: what nobody reads is not paid for. One in the background
 * goes on, and is followed again by its id, from its first event that is kept. Everything that an
 * event shows lives until the next one.
 *
 * Where code calls tools that the run lends (`in.tools`), the request can end while the run goes on:
 * run_leave(); another one takes it up with run_resume(), and answers the calls.
 */
#pragma once

#include "base/id.h"
#include "codec/json_read.h"
#include "dialects/call.h"
#include "dialects/events.h"

#define RUN_QUIET_MS 10000u /* for a sign of life */

enum run_event_kind {
	RUN_GONE = -1, /* nobody waits any more, or it was answered why there is no run: return */
	RUN_QUIET,     /* nothing happened for RUN_QUIET_MS */
	RUN_TEXT,      /* `text`: a piece of what the model says */
	RUN_THOUGHT,   /* `text`: a piece of what it thinks */
	RUN_SEALED,    /* `json`: of its thoughts, for `sealed` of the message (docs/conversation.schema.json) */
	RUN_CODE,      /* `text`: a piece of the code of `call`, while it is written */
	RUN_DISCARD,   /* what came since the last RUN_TURN does not hold */
	RUN_TURN,      /* an answer of the model is complete: `json` has the sums so far */
	RUN_CELL,      /* `text` is about to run as `execution`; `json`: its `command`, or NULL */
	RUN_TOOL,      /* the code of the cell calls the tool `text` with `json`, as `id` */
	RUN_RECORD,    /* `json` is its record, or NULL where that was too long or there is none */
	RUN_DONE,      /* `json` is the answer (docs/ask.schema.json); the end */
	RUN_FAILED,    /* `failure`; the end */
};

struct run_event {
	enum run_event_kind kind;
	const char *text;
	size_t len;
	uint64_t call;
	const char *execution;
	uint64_t number; /* of the event; 0: it is none */
	const char *id;	 /* of RUN_TOOL, for API_EXECUTION_TOOL_RESULTS */
	uint64_t wait_s; /* of RUN_TOOL: so long it waits */
	const struct json_value *json;
	const struct api_failure *failure;
};

struct run {
	struct request *request;
	struct call call;
	struct api_run_events_in in;
	struct event_reader reader;
	struct json_value *document;
	char id[ID_SIZE];
	char session[ID_SIZE]; /* "" until it is there */
	uint64_t quiet_ms;     /* for RUN_QUIET */
	uint64_t at_once, at_once_max; /* runs of the tenant, when it was begun; 0: not known */
	bool has_begun;
	bool is_partial;       /* events before the first one are no longer kept, or some between */
};
#define RUN_INIT ((struct run){ .call = CALL_INIT, .quiet_ms = RUN_QUIET_MS })
void run_done(struct run *run);
#define cleanup_run __attribute__((cleanup(run_done)))

/* Negative when it was refused, which is answered, or the client is gone. `in->background`: whoever
 * leaves, it goes on. */
int run_begin(struct run *run, struct request *request, struct api_run_create_in *in);
/* One that was begun by an earlier request. */
void run_follow(struct run *run, struct request *request, const char *id);
enum run_event_kind run_next(struct run *run, struct run_event *ret);

/*
 * Takes up a run that goes on, behind its event of this number; it is held from here on. CALL_FAILED
 * when there is none, it was broken off, or belongs to another session: nothing was answered.
 */
enum call_status run_resume(struct run *run, struct request *request, const char *id,
			    const char *session, uint64_t after);
/* At the end of the request, whatever is to be answered has been: while code waits for its calls the
 * run goes on. */
void run_leave(struct run *run);
