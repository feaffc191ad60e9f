/*
 * message.c - answers a request of Messages: starts a run and writes it as one message.
 *
 * Runs in:  reckon-front-anthropic.
 * Reads:    bodies of any client, events of a run.
 * Never:    begins a stream before the run has any output.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/anthropic/message.h"
#include "dialects/model_api.h"

#define MESSAGE_MAX ((size_t)64 * 1024 * 1024)
#define GATHER_MS 100u /* calls within this time go into one message; later ones into the next */

/* ---- end reasons ---------------------------------------------------------------------------- */

/* NULL: there is no message, but an error. */
static const char *stop_of(const struct json_value *answer)
{
	static const struct model_api_reason reasons[] = {
		{ "answer", "end_turn" },	{ "tool_calls", "tool_use" },
		{ "length", "max_tokens" },	{ "refused", "refusal" },
		{ "max_steps", "pause_turn" },	{ "stuck", "end_turn" },
		{ "max_tokens", "max_tokens" }, { "budget", "max_tokens" },
		{ "max_time", "max_tokens" },
	};

	return model_api_reason_of(answer, reasons, ARRAY_LEN(reasons));
}

/* An invalid conversation is the client's error; other failures are the server's. */
static void fail_as(const struct message *message, const struct json_value *answer)
{
	const char *why = json_get_text(answer, "message");
	const bool is_invalid = why != NULL && strncmp(why, "conversation: ", 14) == 0;

	message_fail(message, is_invalid ? 400 : 500,
		     why != NULL ? why : "the model gave no answer");
}

/* Adds the calls for the application. */
static int add_calls(struct message *message, const struct json_value *answer)
{
	const struct json_value *calls = json_read_member(answer, "calls");

	for (size_t i = 0; i < json_read_count(calls); i++) {
		cleanup_buf struct buf input = BUF_INIT(MESSAGE_MAX);
		const struct json_value *call = json_read_at(calls, i);
		const struct json_value *arguments = json_read_member(call, "arguments");
		struct err err;

		if (json_read_kind(arguments) != JSON_KIND_OBJECT ||
		    json_read_dump(arguments, &input, &err) < 0) {
			buf_clear(&input);
			(void)buf_adds(&input, "{}", &err);
		}
		if (blocks_call(&message->blocks,
				&(struct block_call){ .type = "tool_use",
						      .id = json_get_text(call, "id"),
						      .name = json_get_text(call, "name"),
						      .input = buf_text(&input),
						      .len = input.len }) < 0)
			return -1;
	}
	return 0;
}

/* Adds the stored answer of a resumed run whose events are lost. */
static int add_stored_answer(struct message *message, const struct json_value *answer)
{
	struct blocks *blocks = &message->blocks;
	size_t len = 0;
	const char *text = json_read_text(json_read_member(answer, "answer"), &len);

	if (!message->order->is_waiting || blocks->count > 0 || blocks->open != BLOCK_NONE ||
	    len == 0)
		return 0;
	return blocks_text(blocks, BLOCK_TEXT, text, len);
}

static void end(struct message *message, const struct json_value *answer)
{
	if (stop_of(answer) == NULL) {
		fail_as(message, answer);
		return;
	}
	message_usage(json_read_member(answer, "usage"), &message->usage);
	if (message_begin(message) < 0 || add_stored_answer(message, answer) < 0 ||
	    blocks_close(&message->blocks) < 0 || add_calls(message, answer) < 0)
		return;
	message_finish(message, stop_of(answer));
}

/* The run's code waits for the application: the run continues, and the next request resumes it. */
static void park(struct message *message)
{
	if (message_begin(message) < 0 || blocks_close(&message->blocks) < 0)
		return;
	for (size_t i = 0; i < message->call_count; i++) {
		const struct lent_call *call = &message->calls[i];
		char id[NAME_SIZE];

		if (!programmatic_id(message->run.id, &message->place, call->id, id))
			continue;
		if (blocks_call(&message->blocks, &(struct block_call){
							  .type = "tool_use",
							  .id = id,
							  .name = call->name,
							  .input = call->arguments,
							  .len = call->len,
							  .caller = message->order->caller,
							  .cell = message->cell }) < 0)
			return;
	}
	message_finish(message, "tool_use");
	run_leave(&message->run);
}

/* Collects a call by code, to report it when no further call comes. */
static int take_call(struct message *message, const struct run_event *event)
{
	struct arena *arena = &message->order->arena;
	cleanup_buf struct buf arguments = BUF_INIT(MESSAGE_MAX);
	struct err err;

	if (message->call_count == ANTHROPIC_LENT_MAX || event->id == NULL ||
	    json_read_dump(event->json, &arguments, &err) < 0)
		return 0;
	message->calls[message->call_count++] = (struct lent_call){
		.id = arena_text(arena, event->id, strlen(event->id)),
		.name = arena_text(arena, event->text, strlen(event->text)),
		.arguments = arena_text(arena, buf_text(&arguments), arguments.len),
		.len = arguments.len,
	};
	message->wait_s = event->wait_s;
	return 0;
}

/* ---- content -------------------------------------------------------------------------------- */

static int send_ping(struct message *message)
{
	static const char ping[] = "{\"type\":\"ping\"}";

	if (!message->order->is_stream)
		return 0;
	if (message_begin(message) < 0)
		return -1;
	return sse_event(message->request, 0, "ping", ping, sizeof(ping) - 1);
}

static int take(struct message *message, const struct run_event *event)
{
	struct blocks *blocks = &message->blocks;
	const enum anthropic_tool tool = message->order->tool;

	switch (event->kind) {
	case RUN_QUIET:
		return send_ping(message);
	case RUN_TEXT:
		if (event->len == 0)
			return 0;
		return message_begin(message) < 0
			       ? -1
			       : blocks_text(blocks, BLOCK_TEXT, event->text, event->len);
	case RUN_THOUGHT:
		if (!message->order->shows_thoughts || event->len == 0)
			return 0;
		return message_begin(message) < 0
			       ? -1
			       : blocks_text(blocks, BLOCK_THINKING, event->text, event->len);
	case RUN_SEALED:
		if (!message->order->shows_thoughts)
			return 0;
		return message_begin(message) < 0 ? -1 : blocks_sealed(blocks, event->json);
	case RUN_CELL:
		if (event->execution == NULL ||
		    !name_swap(event->execution, "ex_", "srvtoolu_", message->cell,
			       sizeof(message->cell)))
			message->cell[0] = '\0';
		message->call_count = 0;
		return message_begin(message) < 0
			       ? -1
			       : blocks_cell(blocks, tool, event, &message->shown);
	case RUN_TOOL:
		return take_call(message, event);
	case RUN_RECORD:
		message->call_count = 0; /* calls that it did not wait for */
		return message_begin(message) < 0
			       ? -1
			       : blocks_record(blocks, message->shown, event);
	case RUN_TURN:
		message_usage(event->json, &message->usage);
		message->place.turn = event->number;
		return blocks_close(blocks);
	case RUN_DISCARD: /* the text comes again, in a new block */
		return blocks_close(blocks);
	case RUN_GONE:
	case RUN_CODE: /* the cell soon has all of it */
	case RUN_DONE:
	case RUN_FAILED:
		break;
	}
	return 0;
}

/* Whether an earlier message has already reported the event. */
static bool is_known(struct message *message, const struct run_event *event)
{
	if (event->number == 0 || event->number > message->order->place.last ||
	    event->kind == RUN_DONE)
		return false;
	if (event->kind == RUN_TURN) {
		message_usage(event->json, &message->usage);
		message->before = message->usage;
		message->place.turn = event->number;
	}
	return true;
}

static enum run_event_kind next(struct message *message, struct run_event *ret)
{
	const bool waits = message->call_count > 0;
	enum run_event_kind kind;

	message->run.quiet_ms = waits ? GATHER_MS : RUN_QUIET_MS;
	do
		kind = run_next(&message->run, ret);
	while (is_known(message, ret));
	if (ret->number != 0)
		message->place.last = ret->number;
	return kind;
}

static void follow(struct message *message)
{
	struct run_event event;

	while (next(message, &event) != RUN_GONE) {
		if (event.kind == RUN_QUIET && message->call_count > 0) {
			park(message);
			return;
		}
		if (event.kind == RUN_DONE) {
			upstream_cancel_when_gone(message->request, 0);
			end(message, event.json);
			return;
		}
		if (event.kind == RUN_FAILED) {
			message_fail(message, 500,
			     event.failure->message != NULL ? event.failure->message
							    : "it could not be begun");
			return;
		}
		if (take(message, &event) < 0)
			return;
	}
}

/* ---- the request ---------------------------------------------------------------------------- */

/* The container's language decides which tool its cells are shown as. */
static int look_at_container(struct request *request, struct order *order)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_session session;

	if (order->container == NULL)
		return 0;
	if (call_or_refuse(request, API_SESSION_SHOW,
			   &(struct api_session_show_in){ .session = order->session }, &session,
			   &call) < 0)
		return -1;
	if (strcmp(session.status, "live") != 0) {
		answer_refuse_simple(request, 404, "not_found", "the container has expired", NULL);
		return -1;
	}
	if (order->tool != ANTHROPIC_NO_CODE)
		order->tool = strcmp(session.language, ANTHROPIC_SHELL_LANGUAGE) == 0
				      ? ANTHROPIC_BASH
				      : ANTHROPIC_PYTHON;
	return 0;
}

static const char *language_of(const struct order *order)
{
	return order->tool == ANTHROPIC_BASH ? ANTHROPIC_SHELL_LANGUAGE : NULL;
}

/* Puts the tenant's files into the container before the model starts. */
static int bring_uploads(struct request *request, struct order *order)
{
	cleanup_call struct call call = CALL_INIT;
	const bool is_new = order->container == NULL;
	struct api_file_put put;
	struct api_session session;

	if (order->upload_count == 0 || order->tool == ANTHROPIC_NO_CODE)
		return 0;
	if (is_new) {
		if (call_or_refuse(request, API_SESSION_CREATE,
				   &(struct api_session_create_in){
					   .language = language_of(order) }, &session, &call) < 0)
			return -1;
		(void)snprintf(order->session, sizeof(order->session), "%s", session.id);
	}
	for (size_t i = 0; i < order->upload_count; i++) {
		struct order_upload *upload = &order->uploads[i];

		if (!is_new && !upload->is_new) /* code may have changed it */
			continue;
		if (call_or_refuse(request, API_STORED_COPY,
				   &(struct api_stored_copy_in){ .session = order->session,
								 .file = name_id(upload->file) },
				   &put, &call) < 0)
			return -1;
		upload->path = arena_text(&order->arena, put.path, strlen(put.path));
	}
	return 0;
}

static void refuse(struct request *request, const struct order *order, const struct err *err)
{
	answer_refuse_simple(request, err->code == ERR_LIMIT ? 413 : 400,
			     order->wants_thread ? ANTHROPIC_NO_THREADS : "invalid", err->text,
			     NULL);
}

static void answer(struct request *request, struct order *order)
{
	struct message message = { .request = request, .order = order, .run = RUN_INIT,
				   .shown = order->tool };
	const bool runs_code = order->tool != ANTHROPIC_NO_CODE;
	struct api_run_create_in in = {
		.model = order->model,
		.conversation = { order->conversation.data, order->conversation.len },
		.files = { order->files, order->file_count },
		.session = order->session[0] != '\0' ? order->session : NULL,
		.has_keep_conversation = true, /* the client stores it */
		.tools = { order->lent, order->lent_count },
		.language = language_of(order),
	};

	if (in.session != NULL) {
		in.language = NULL;
	} else {
		in.has_keep = in.keep = runs_code;
		in.template = runs_code ? NULL : ANTHROPIC_CODE_LANGUAGE;
	}
	if (run_begin(&message.run, request, &in) == 0) {
		request_note(request, NULL, message.run.session, NULL);
		blocks_init(&message.blocks, request, order->is_stream);
		if (!order->is_waiting ||
		    (message_begin(&message) == 0 && order->waiting_cell != NULL &&
		     blocks_lost(&message.blocks, order->tool, order->waiting_cell) == 0))
			follow(&message);
		blocks_done(&message.blocks);
	}
	run_done(&message.run);
}

/*
 * Gives waiting code its results, and continues its run in this message. False: the code no longer
 * waits, and the conversation continues without its output.
 */
static bool take_up(struct request *request, struct order *order)
{
	struct message message = { .request = request, .order = order, .run = RUN_INIT,
				   .shown = order->tool };
	const uint64_t turn = order->place.turn;
	cleanup_call struct call call = CALL_INIT;
	enum call_status status = CALL_FAILED;

	if (order->run[0] != '\0' && order->execution[0] != '\0')
		status = run_resume(&message.run, request, order->run, order->session,
				    turn > 0 ? turn - 1 : 0);
	/* Calls that timed out meanwhile already have a result: the code gets an error. */
	if (status == CALL_OK)
		status = call_make(request, API_EXECUTION_TOOL_RESULTS,
				   &(struct api_execution_tool_results_in){
					   .session = order->session,
					   .execution = order->execution,
					   .results = { order->answers, order->answer_count } },
				   NULL, &call);
	if (status == CALL_FAILED && call.failure != NULL &&
	    call.failure->error != API_ERR_NOT_WAITING) {
		call_refuse(request, call.failure);
		status = CALL_GONE;
	} else if (message.run.id[0] != '\0' && status != CALL_GONE) {
		request_note(request, NULL, message.run.session, NULL);
		(void)snprintf(message.cell, sizeof(message.cell), "%s", order->waiting_cell);
		blocks_init(&message.blocks, request, order->is_stream);
		follow(&message);
		blocks_done(&message.blocks);
		status = CALL_OK;
	}
	run_done(&message.run);
	return status != CALL_FAILED;
}

void message_create(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(ANTHROPIC_BODY_MAX);
	cleanup_order struct order order = { .conversation = BUF_INIT(ANTHROPIC_CONVERSATION_MAX) };
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (call_or_refuse(request, API_KEY_CHECK, &(struct api_key_check_in){ 0 }, NULL, &call) <
		    0 ||
	    request_body(request, ANTHROPIC_BODY_MAX, &body) < 0)
		return;
	if (order_read(buf_text(&body), body.len, &order, &err) < 0) {
		refuse(request, &order, &err);
		return;
	}
	buf_done(&body);
	if (look_at_container(request, &order) < 0 ||
	    (order.is_waiting && take_up(request, &order)) || bring_uploads(request, &order) < 0)
		return;
	order.place = (struct programmatic_place){ 0 };
	if (order_write(&order, &err) < 0)
		refuse(request, &order, &err);
	else
		answer(request, &order);
}
