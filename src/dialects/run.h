/*
 * run.h - begins and follows a model's run for the dialects of model APIs, event by event.
 *
 *   cleanup_run struct run run = RUN_INIT;
 *   struct run_event event;
 *
 *   if (run_begin(&run, request, &in) < 0)
 *           return;
 *   while (run_next(&run, &event) >= 0 && event.kind != RUN_DONE …)
 *
 * The run ends when the client leaves, so that no unread answer costs money. A background run
 * continues; a later request follows it by its id, from the first stored event. An event's data is
 * valid until the next event.
 *
 * When code calls tools of the application (`in.tools`), the request can end while the run
 * continues: run_leave(); the next request resumes it with run_resume() and answers the calls.
 */
#pragma once

#include "base/id.h"
#include "codec/json_read.h"
#include "dialects/call.h"
#include "dialects/events.h"

#define RUN_QUIET_MS 10000u /* between two heartbeats */

enum run_event_kind {
	RUN_GONE = -1, /* the client is gone, or a refusal was sent: return */
	RUN_QUIET,     /* no event for RUN_QUIET_MS */
	RUN_TEXT,      /* `text`: a piece of the model's answer */
	RUN_THOUGHT,   /* `text`: a piece of its reasoning */
	RUN_SEALED,    /* `json`: for `sealed` of the message (docs/conversation.schema.json) */
	RUN_CODE,      /* `text`: a piece of the code of `call`, as the model writes it */
	RUN_DISCARD,   /* drop what came since the last RUN_TURN */
	RUN_TURN,      /* an answer of the model is complete: `json` has the totals so far */
	RUN_CELL,      /* `text` will run as `execution`; `json`: its `command`, or NULL */
	RUN_TOOL,      /* the cell's code calls the tool `text` with `json`, as `id` */
	RUN_RECORD,    /* `json` is its record, or NULL if it is too long or missing */
	RUN_DONE,      /* `json` is the answer (docs/ask.schema.json); the end */
	RUN_FAILED,    /* `failure`; the end */
};

struct run_event {
	enum run_event_kind kind;
	const char *text;
	size_t len;
	uint64_t call;
	const char *execution;
	uint64_t number; /* of the event; 0: it has no number */
	const char *id;	 /* of RUN_TOOL, for API_EXECUTION_TOOL_RESULTS */
	uint64_t wait_s; /* of RUN_TOOL: how long it waits */
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
	char session[ID_SIZE]; /* "" until the session exists */
	uint64_t quiet_ms;     /* for RUN_QUIET */
	uint64_t at_once, at_once_max; /* runs of the tenant when this one began; 0: unknown */
	bool has_begun;
	bool is_partial;       /* some events before or between those returned are lost */
};
#define RUN_INIT ((struct run){ .call = CALL_INIT, .quiet_ms = RUN_QUIET_MS })
void run_done(struct run *run);
#define cleanup_run __attribute__((cleanup(run_done)))

/* Negative: it was refused, and that was answered, or the client is gone. `in->background`: the run
 * continues without a reader. */
int run_begin(struct run *run, struct request *request, struct api_run_create_in *in);
/* Follows a run that an earlier request began. */
void run_follow(struct run *run, struct request *request, const char *id);
enum run_event_kind run_next(struct run *run, struct run_event *ret);

/*
 * Resumes a running run after its event of this number; from now on this request is its reader.
 * CALL_FAILED: it does not exist, was broken off, or belongs to another session; nothing was
 * answered.
 */
enum call_status run_resume(struct run *run, struct request *request, const char *id,
			    const char *session, uint64_t after);
/* Call this after the whole answer: the run continues while its code waits for its calls. */
void run_leave(struct run *run);
