/*
 * items.c - the items of a response's output: sent as they grow, and collected for the whole.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    text of a model, records of hostile programs.
 * Never:    opens an item while another one is open.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/responses/items.h"

void items_init(struct items *items, struct request *request, const struct order *order,
		const struct run *run)
{
	*items = (struct items){ .request = request,
				 .order = order,
				 .run = run->id,
				 .session = run->session,
				 .is_stream = order->is_stream,
				 .text = BUF_INIT(OPENAI_OUT_MAX),
				 .sealed = BUF_INIT(SEALED_MAX * 2),
				 .code = BUF_INIT(OPENAI_OUT_MAX),
				 .output = BUF_INIT(OPENAI_OUT_MAX),
				 .conversation_output = BUF_INIT(OPENAI_OUT_MAX),
				 .shell = { .output = BUF_INIT(OPENAI_OUT_MAX) } };
}

void items_done(struct items *items)
{
	buf_done(&items->text);
	buf_done(&items->sealed);
	buf_done(&items->code);
	buf_done(&items->output);
	buf_done(&items->conversation_output);
	buf_done(&items->shell.output);
	cites_done(&items->cites);
}

/* Sends an event that has only its position, and perhaps one text. */
static int send_of_item(struct items *items, const char *type, const char *id, const char *key,
			const struct buf *text)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;

	items_event_of(items, &json, &out, type, id);
	if (key != NULL)
		json_write_member_text(&json, key, buf_text(text), text->len);
	return items_event_end(items, &json, type);
}

/* The next `sandbox:/mnt/data/NAME` with a known file; moves *at behind it. */
static bool next_citation(const struct items *items, const char **at, struct json_writer *json)
{
	char container[NAME_SIZE], id[NAME_SIZE];
	struct cite cite;

	items_container(items, container);
	while (cites_next(&items->cites, buf_text(&items->text), at, &cite)) {
		if (!name_of_artifact(OPENAI_CONTAINER_FILE, cite.file->artifact, cite.file->path,
				      id, sizeof(id)))
			continue;
		json_write_object_begin(json);
		json_write_member_string(json, "type", "container_file_citation");
		json_write_member_string(json, "container_id", container);
		json_write_member_string(json, "file_id", id);
		json_write_member_string(json, "filename", cite.file->path);
		json_write_member_uint(json, "start_index", cite.start);
		json_write_member_uint(json, "end_index", cite.end);
		json_write_object_end(json);
		return true;
	}
	return false;
}

/* ---- messages and reasoning ------------------------------------------------------------------ */

static void write_part(const struct items *items, struct json_writer *json, bool is_whole)
{
	const char *at = buf_text(&items->text);

	json_write_object_begin(json);
	json_write_member_string(json, "type", "output_text");
	json_write_member_text(json, "text", is_whole ? at : "", is_whole ? items->text.len : 0);
	json_write_key(json, "annotations");
	json_write_array_begin(json);
	while (is_whole && next_citation(items, &at, json))
		;
	json_write_array_end(json);
	json_write_key(json, "logprobs");
	json_write_raw(json, "[]", 2);
	json_write_object_end(json);
}

static int write_open(const struct items *items, bool is_whole, struct buf *ret)
{
	const bool is_message = items->open == ITEM_MESSAGE;
	struct json_writer json;
	char id[NAME_SIZE];
	struct err err;

	items_id(items, is_message ? "msg_" : "rs_", id);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "type", is_message ? "message" : "reasoning");
	if (is_message) {
		json_write_member_string(&json, "status", is_whole ? "completed" : "in_progress");
		json_write_member_string(&json, "role", "assistant");
	}
	json_write_key(&json, is_message ? "content" : "summary");
	json_write_array_begin(&json);
	if (is_whole && is_message) {
		write_part(items, &json, true);
	} else if (is_whole && items->open == ITEM_REASONING) {
		json_write_object_begin(&json);
		json_write_member_string(&json, "type", "summary_text");
		json_write_member_text(&json, "text", buf_text(&items->text), items->text.len);
		json_write_object_end(&json);
	}
	json_write_array_end(&json);
	if (is_whole && items->sealed.len > 0)
		json_write_member_text(&json, "encrypted_content", items->sealed.data,
				       items->sealed.len);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? items_give_up(items) : 0;
}

/* Begins an event about a part, with its type and other members. */
static void begin_of_part(struct items *items, struct json_writer *json, struct buf *out,
			  const char *type)
{
	const bool is_message = items->open == ITEM_MESSAGE;
	char id[NAME_SIZE];

	items_id(items, is_message ? "msg_" : "rs_", id);
	items_event_of(items, json, out, type, id);
	json_write_member_uint(json, is_message ? "content_index" : "summary_index", 0);
}

static int send_part(struct items *items, const char *type, bool is_whole)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;

	begin_of_part(items, &json, &out, type);
	json_write_key(&json, "part");
	if (items->open == ITEM_MESSAGE) {
		write_part(items, &json, is_whole);
	} else {
		json_write_object_begin(&json);
		json_write_member_string(&json, "type", "summary_text");
		json_write_member_text(&json, "text", buf_text(&items->text),
				       is_whole ? items->text.len : 0);
		json_write_object_end(&json);
	}
	return items_event_end(items, &json, type);
}

static int send_text(struct items *items, const char *type, const char *key, const char *text,
		     size_t len)
{
	cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX);
	struct json_writer json;

	begin_of_part(items, &json, &out, type);
	json_write_member_text(&json, key, text, len);
	if (items->open == ITEM_MESSAGE) {
		json_write_key(&json, "logprobs");
		json_write_raw(&json, "[]", 2);
	}
	return items_event_end(items, &json, type);
}

static int send_annotations(struct items *items)
{
	static const char type[] = "response.output_text.annotation.added";
	const char *at = buf_text(&items->text);

	for (unsigned i = 0;; i++) {
		cleanup_buf struct buf out = BUF_INIT(OPENAI_OUT_MAX), one = BUF_INIT(8192);
		struct json_writer json;

		json_write_init(&json, &one);
		if (!next_citation(items, &at, &json))
			return 0;
		begin_of_part(items, &json, &out, type);
		json_write_member_uint(&json, "annotation_index", i);
		json_write_key(&json, "annotation");
		json_write_raw(&json, buf_text(&one), one.len);
		if (items_event_end(items, &json, type) < 0)
			return -1;
	}
}

static int open_item(struct items *items, enum item_kind kind)
{
	cleanup_buf struct buf item = BUF_INIT(OPENAI_OUT_MAX);

	items->open = kind;
	if (!items->is_stream)
		return 0;
	if (write_open(items, false, &item) < 0 ||
	    items_send(items, "response.output_item.added", &item) < 0)
		return -1;
	if (kind == ITEM_SEALED)
		return 0;
	return send_part(items, kind == ITEM_MESSAGE ? "response.content_part.added"
						     : "response.reasoning_summary_part.added",
			 false);
}

int items_text(struct items *items, enum item_kind kind, const char *text, size_t len)
{
	struct err err;

	if (items->open != kind && (items_close(items) < 0 || open_item(items, kind) < 0))
		return -1;
	if (buf_add(&items->text, text, len, &err) < 0)
		return items_give_up(items);
	if (!items->is_stream)
		return 0;
	return send_text(items, kind == ITEM_MESSAGE ? "response.output_text.delta"
						     : "response.reasoning_summary_text.delta",
			 "delta", text, len);
}

static int send_ends(struct items *items)
{
	const bool is_message = items->open == ITEM_MESSAGE;

	if (items->open == ITEM_SEALED)
		return 0;
	if (is_message && send_annotations(items) < 0)
		return -1;
	if (send_text(items, is_message ? "response.output_text.done"
					: "response.reasoning_summary_text.done",
		      "text", buf_text(&items->text), items->text.len) < 0)
		return -1;
	return send_part(items, is_message ? "response.content_part.done"
					   : "response.reasoning_summary_part.done", true);
}

int items_close(struct items *items)
{
	cleanup_buf struct buf item = BUF_INIT(OPENAI_OUT_MAX);
	int rc;

	if (items->open == ITEM_NONE)
		return 0;
	if (items->open == ITEM_SHELL)
		return items_close_shell(items);
	if ((items->is_stream && send_ends(items) < 0) || write_open(items, true, &item) < 0)
		return -1;
	rc = items_finish(items, &item, &item);
	items->open = ITEM_NONE;
	buf_clear(&items->text);
	buf_clear(&items->sealed);
	return rc;
}

/* Comes after the visible reasoning, if any is shown. */
int items_sealed(struct items *items, const struct json_value *sealed)
{
	cleanup_buf struct buf text = BUF_INIT(SEALED_MAX * 2);
	struct err err;

	if (sealed_text(sealed, &text, &err) < 0)
		return 0; /* the client does not send it back */
	if (items->open != ITEM_REASONING &&
	    (items_close(items) < 0 || open_item(items, ITEM_SEALED) < 0))
		return -1;
	return buf_add(&items->sealed, text.data, text.len, &err) < 0 ? items_give_up(items)
								      : items_close(items);
}

/* ---- cells ---------------------------------------------------------------------------------- */

enum outputs { OUTPUTS_NONE, OUTPUTS_ALL, OUTPUTS_LOGS };

static int write_cell(const struct items *items, const char *id, const char *status,
		      const struct json_value *record, bool is_whole, enum outputs outputs,
		      struct buf *ret)
{
	char container[NAME_SIZE];
	struct json_writer json;
	struct err err;

	items_container(items, container);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "type", "code_interpreter_call");
	json_write_member_string(&json, "status", status);
	json_write_member_text(&json, "code", buf_text(&items->code),
			       is_whole ? items->code.len : 0);
	json_write_member_string(&json, "container_id", container);
	json_write_key(&json, "outputs");
	if (is_whole && outputs == OUTPUTS_NONE) {
		json_write_null(&json);
	} else {
		json_write_array_begin(&json);
		if (is_whole && outputs == OUTPUTS_LOGS)
			outputs_write_logs(&json, record);
		else if (is_whole)
			outputs_write(&json, record);
		json_write_array_end(&json);
	}
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? items_give_up(items) : 0;
}

int items_cell(struct items *items, const struct run_event *cell)
{
	cleanup_buf struct buf item = BUF_INIT(OPENAI_OUT_MAX);
	char id[NAME_SIZE];
	struct err err;

	if ((cell->json == NULL || !items_shell_goes_on(items, cell->json)) &&
	    items_close(items) < 0)
		return -1;
	if (cell->json != NULL)
		return items_command(items, cell->json);
	items_id(items, "ci_", id);
	buf_clear(&items->code);
	if (buf_add(&items->code, cell->text, cell->len, &err) < 0)
		return items_give_up(items);
	if (!items->is_stream)
		return 0;
	if (write_cell(items, id, "in_progress", NULL, false, OUTPUTS_ALL, &item) < 0 ||
	    items_send(items, "response.output_item.added", &item) < 0 ||
	    send_of_item(items, "response.code_interpreter_call.in_progress", id, NULL, NULL) < 0 ||
	    send_of_item(items, "response.code_interpreter_call_code.delta", id, "delta",
			 &items->code) < 0 ||
	    send_of_item(items, "response.code_interpreter_call_code.done", id, "code",
			 &items->code) < 0)
		return -1;
	return send_of_item(items, "response.code_interpreter_call.interpreting", id, NULL, NULL);
}

int items_record(struct items *items, const struct run_event *record)
{
	cleanup_buf struct buf item = BUF_INIT(OPENAI_OUT_MAX),
			       conversation_item = BUF_INIT(OPENAI_OUT_MAX);
	const char *status = record->json != NULL ? "completed" : "failed";
	const enum outputs outputs = items->order->shows_outputs ? OUTPUTS_ALL : OUTPUTS_NONE;
	char id[NAME_SIZE];

	cites_add(&items->cites, record->json);
	if (items->open == ITEM_SHELL)
		return items_command_record(items, record->json);
	items_id(items, "ci_", id);
	if (items->is_stream && send_of_item(items, "response.code_interpreter_call.completed", id,
					     NULL, NULL) < 0)
		return -1;
	if (write_cell(items, id, status, record->json, true, outputs, &item) < 0 ||
	    write_cell(items, id, status, record->json, true, OUTPUTS_LOGS, &conversation_item) < 0)
		return -1;
	return items_finish(items, &item, &conversation_item);
}

/* ---- the application's tools ----------------------------------------------------------------- */

static int write_call(const struct items *items, const char *id, const struct json_value *call,
		      const struct buf *arguments, bool is_whole, struct buf *ret)
{
	struct json_writer json;
	struct err err;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "id", id);
	json_write_member_string(&json, "type", "function_call");
	json_write_member_string(&json, "status", is_whole ? "completed" : "in_progress");
	json_write_member_string(&json, "call_id",
				 json_read_text(json_read_member(call, "id"), NULL));
	json_write_member_string(&json, "name",
				 json_read_text(json_read_member(call, "name"), NULL));
	json_write_member_text(&json, "arguments", buf_text(arguments),
			       is_whole ? arguments->len : 0);
	json_write_object_end(&json);
	return json_write_finish(&json, &err) < 0 ? items_give_up(items) : 0;
}

int items_call(struct items *items, const struct json_value *call)
{
	const struct json_value *given = json_read_member(call, "arguments");
	cleanup_buf struct buf item = BUF_INIT(OPENAI_OUT_MAX), done = BUF_INIT(OPENAI_OUT_MAX);
	cleanup_buf struct buf arguments = BUF_INIT(OPENAI_OUT_MAX);
	size_t len;
	const char *text = json_read_text(given, &len);
	const char *name = json_read_text(json_read_member(call, "name"), NULL);
	char id[NAME_SIZE];
	struct err err;

	if (items_close(items) < 0)
		return -1;
	if (items->order->shell_is_local && name != NULL && strcmp(name, OPENAI_SHELL) == 0)
		return items_local_commands(items, call);
	items_id(items, "fc_", id);
	if ((text != NULL ? buf_add(&arguments, text, len, &err)
			  : json_read_dump(given, &arguments, &err)) < 0)
		return items_give_up(items);
	if (write_call(items, id, call, &arguments, false, &item) < 0 ||
	    write_call(items, id, call, &arguments, true, &done) < 0)
		return -1;
	if (items->is_stream &&
	    (items_send(items, "response.output_item.added", &item) < 0 ||
	     send_of_item(items, "response.function_call_arguments.delta", id, "delta",
			  &arguments) < 0 ||
	     send_of_item(items, "response.function_call_arguments.done", id, "arguments",
			  &arguments) < 0))
		return -1;
	return items_finish(items, &done, &done);
}
