/*
 * response_follow.c - converts a run's events into a response: its items, its stream, its end.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    events of a run, with text of a model.
 * Never:    fails a response because it cannot be stored.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/openai/responses/conversations.h"
#include "dialects/openai/responses/response.h"

#define LOOK_MS 40u /* an event within this time counts as available now */

/* ---- its stream ----------------------------------------------------------------------------- */

static int send_state(struct response *response, const char *type, const struct buf *whole)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;

	items_event_begin(&response->items, &json, &out, type);
	json_write_key(&json, "response");
	json_write_raw(&json, buf_text(whole), whole->len);
	return items_event_end(&response->items, &json, type);
}

int response_begin(struct response *response)
{
	cleanup_buf struct buf whole = BUF_INIT(OPENAI_OUT_MAX);
	char headers[160];

	items_init(&response->items, response->request, response->order, &response->run);
	if (!response->order->is_stream)
		return 0;
	(void)snprintf(headers, sizeof(headers), "x-request-id: %s\r\n",
		       request_id(response->request));
	if (sse_begin(response->request, headers) < 0)
		return -1;
	if (response_write(response, "in_progress", NULL, NULL, &whole) < 0) {
		answer_break_off(response->request);
		return -1;
	}
	if (send_state(response, "response.created", &whole) < 0)
		return -1;
	return send_state(response, "response.in_progress", &whole);
}

void response_done(struct response *response)
{
	items_done(&response->items);
	run_done(&response->run);
}

/* ---- its end -------------------------------------------------------------------------------- */

struct ending {
	const char *status, *event, *why;
};

static struct ending ending_of(const struct response *response, const struct json_value *answer,
			       const char *why)
{
	const bool has_failed = why != NULL || response_has_failed(answer);

	if (has_failed && response->is_cancelled)
		return (struct ending){ "cancelled", "response.incomplete", NULL };
	if (has_failed && why == NULL)
		why = json_get_text(answer, "message");
	if (has_failed)
		return (struct ending){ "failed", "response.failed",
					why != NULL ? why : "the model gave no answer" };
	if (response_reason(answer) != NULL)
		return (struct ending){ "incomplete", "response.incomplete", NULL };
	return (struct ending){ "completed", "response.completed", NULL };
}

static void refuse_failed(struct response *response, const char *why)
{
	const bool is_invalid = strncmp(why, "conversation: ", 14) == 0;

	/* The driver has used up its retries. */
	answer_refuse(response->request,
		      &(struct refusal){ .status = is_invalid ? 400 : 500,
					 .code = is_invalid ? "invalid" : "server_error",
					 .message = why,
					 .headers = "x-should-retry: false\r\n" });
}

/* For events that are lost: takes what the answer contains of them. */
static int take_answer(struct response *response, const struct json_value *answer)
{
	const struct json_value *steps = json_read_member(answer, "steps");
	const char *session = json_get_text(answer, "session");
	size_t len;
	const char *text = json_read_text(json_read_member(answer, "answer"), &len);

	if (session != NULL)
		(void)snprintf(response->run.session, sizeof(response->run.session), "%s", session);
	for (size_t i = 0; i < json_read_count(steps); i++) {
		const struct json_value *step = json_read_at(steps, i);
		struct run_event event = { .execution = json_get_text(step, "execution"),
					   .json = json_read_member(step, "command") };
		struct run_event record = { .execution = event.execution,
					    .json = json_read_member(step, "record") };

		event.text = json_read_text(json_read_member(step, "code"), &event.len);
		if (json_read_kind(record.json) != JSON_KIND_OBJECT)
			record.json = NULL;
		if (event.text != NULL && (items_cell(&response->items, &event) < 0 ||
					   items_record(&response->items, &record) < 0))
			return -1;
	}
	return text != NULL && len > 0 ? items_text(&response->items, ITEM_MESSAGE, text, len) : 0;
}

static int take_rest(struct response *response, const struct json_value *answer)
{
	const struct json_value *calls = json_read_member(answer, "calls");
	struct items *items = &response->items;

	if (response->run.is_partial && items->count == 0 && items->open == ITEM_NONE &&
	    take_answer(response, answer) < 0)
		return -1;
	if (items_close(items) < 0)
		return -1;
	for (size_t i = 0; i < json_read_count(calls); i++)
		if (items_call(items, json_read_at(calls, i)) < 0)
			return -1;
	return 0;
}

static void end(struct response *response, const struct json_value *answer, const char *failure)
{
	const struct ending ending = ending_of(response, answer, failure);
	const bool has_failed = strcmp(ending.status, "failed") == 0;
	const bool is_waited_for = !response->order->is_stream && response->document == NULL;
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);

	upstream_cancel_when_gone(response->request, 0);
	if (has_failed && is_waited_for) {
		refuse_failed(response, ending.why);
		return;
	}
	if (take_rest(response, answer) < 0)
		return;
	if (response_write(response, ending.status, ending.why, answer, &out) < 0) {
		answer_break_off(response->request);
		return;
	}
	/* Store it before the client reads of it: the client may request it at once. */
	if (response->order->is_stored && (!has_failed || response->order->is_background) &&
	    stored_keep(response->request, response, &out) < 0 && !response->order->is_background) {
		response->is_unstored = true;
		buf_clear(&out);
		if (response_write(response, ending.status, ending.why, answer, &out) < 0) {
			answer_break_off(response->request);
			return;
		}
	}
	if (!has_failed && !response->is_known && response->order->conversation[0] != '\0')
		conversation_extend(response->request, response->order->conversation, response->id,
				    json_read_member(response->document != NULL
							     ? response->document
							     : response->order->body,
						     "input"),
				    &response->items);
	if (response->is_silent)
		return;
	if (!response->order->is_stream) {
		openai_answer(response->request, &out);
		return;
	}
	items_end(&response->items);
	if (send_state(response, ending.event, &out) == 0)
		answer_end(response->request);
}

/* ---- its events ----------------------------------------------------------------------------- */

static int take(struct response *response, const struct run_event *event)
{
	struct items *items = &response->items;

	switch (event->kind) {
	case RUN_TEXT:
		return event->len > 0 ? items_text(items, ITEM_MESSAGE, event->text, event->len)
				      : 0;
	case RUN_THOUGHT:
		return event->len > 0 && response->order->shows_thoughts
			       ? items_text(items, ITEM_REASONING, event->text, event->len)
			       : 0;
	case RUN_CELL:
		return items_cell(items, event);
	case RUN_RECORD:
		return items_record(items, event);
	case RUN_TURN:
	case RUN_DISCARD: /* the text comes again, in a new item */
		return items_close(items);
	case RUN_SEALED:
		return response->order->shows_sealed ? items_sealed(items, event->json) : 0;
	case RUN_GONE:
	case RUN_QUIET:
	case RUN_TOOL: /* the run has no tools for code */
	case RUN_CODE: /* the cell soon has all of it */
	case RUN_DONE:
	case RUN_FAILED:
		break;
	}
	return 0;
}

enum step { STEP_TAKEN, STEP_ENDED, STEP_QUIET, STEP_GONE };

/* Takes one event. QUIET: none came for a moment; GONE: the client has left. */
static enum step step(struct response *response)
{
	struct run_event event;

	if (run_next(&response->run, &event) == RUN_GONE)
		return STEP_GONE;
	if (event.kind == RUN_DONE || event.kind == RUN_FAILED) {
		end(response, event.json,
		    event.kind == RUN_DONE	     ? NULL
		    : event.failure->message != NULL ? event.failure->message
						     : "it could not be begun");
		return STEP_ENDED;
	}
	if (event.kind == RUN_QUIET)
		return STEP_QUIET;
	return take(response, &event) < 0 ? STEP_GONE : STEP_TAKEN;
}

void response_follow(struct response *response)
{
	enum step now;

	do {
		now = step(response);
		if (now == STEP_QUIET && response->order->is_stream &&
		    sse_beat(response->request) < 0)
			return;
	} while (now == STEP_TAKEN || now == STEP_QUIET);
}

int response_look(struct response *response)
{
	enum step now;

	response->run.quiet_ms = LOOK_MS;
	do
		now = step(response);
	while (now == STEP_TAKEN);
	return now == STEP_GONE ? -1 : now == STEP_ENDED;
}
