/*
 * order.c - parses a request of Responses: its conversation and options.
 *
 * Runs in:  reckon-front-openai and tests.
 * Reads:    JSON of any client; the stored conversation of a run.
 * Never:    accepts an option that it cannot honour: it refuses it by name.
 *
 * order_tools.c parses its tools.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/model_api.h"
#include "dialects/openai/files/files_read.h"
#include "dialects/openai/responses/references.h"

void order_done(struct order *order)
{
	buf_done(&order->file_lines);
	references_done(order);
	files_brought_done(order);
	for (size_t i = 0; i < order->earlier_count; i++)
		json_read_free(order->earlier[i]);
	free(order->earlier);
	order->earlier = NULL;
	order->earlier_count = 0;
	json_read_free(order->body);
	order->body = NULL;
	arena_done(&order->arena);
}

/* ---- what it is ----------------------------------------------------------------------------- */

static int check_rest(const struct json_value *body, struct err *err)
{
	static const char *const unknown[] = { "prompt" };

	for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
		if (json_get_has(body, unknown[i]))
			return err_set(err, ERR_INVALID, "%s: it is not supported here",
				       unknown[i]);
	return 0;
}

static void take_include(const struct json_value *body, struct order *order)
{
	const struct json_value *include = json_read_member(body, "include");

	for (size_t i = 0; i < json_read_count(include); i++) {
		const char *what = json_read_text(json_read_at(include, i), NULL);

		if (what != NULL && strcmp(what, "code_interpreter_call.outputs") == 0)
			order->shows_outputs = true;
		else if (what != NULL && strcmp(what, "reasoning.encrypted_content") == 0)
			order->shows_sealed = true;
	}
	order->shows_thoughts = json_get_has(json_read_member(body, "reasoning"), "summary");
}

/* Reads an id, or an object with the id. */
static int take_conversation(const struct json_value *body, struct order *order, struct err *err)
{
	const struct json_value *given = json_read_member(body, "conversation");
	const char *id = json_read_kind(given) == JSON_KIND_OBJECT ? json_get_text(given, "id")
								   : json_read_text(given, NULL);

	if (json_read_kind(given) == JSON_KIND_NULL)
		return 0;
	if (id == NULL || id[0] == '\0' || strlen(id) >= sizeof(order->conversation))
		return err_set(err, ERR_INVALID, "conversation: an id, or an object with one");
	if (order->previous != NULL)
		return err_set(err, ERR_INVALID,
			       "conversation and previous_response_id "
			       "cannot be used together");
	(void)snprintf(order->conversation, sizeof(order->conversation), "%s", id);
	return 0;
}

int order_read(const char *json, size_t len, struct order *ret, struct err *err)
{
	if (json_read_parse(json, len, OPENAI_BODY_MAX, &ret->body, err) < 0)
		return (int)err->code;
	if (json_read_kind(ret->body) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "the body is a JSON object");
	ret->model = json_get_text(ret->body, "model");
	ret->previous = json_get_text(ret->body, "previous_response_id");
	if ((ret->model == NULL && ret->previous == NULL) ||
	    (ret->model != NULL && ret->model[0] == '\0'))
		return err_set(err, ERR_INVALID, "model: it is missing");
	if (ret->model != NULL && strlen(ret->model) > MODEL_API_NAME_MAX)
		return err_set(err, ERR_INVALID, "model: it has at most %u characters",
			       MODEL_API_NAME_MAX);
	if (!json_get_has(ret->body, "input"))
		return err_set(err, ERR_INVALID, "input: it is missing");
	ret->is_stored = true;
	(void)json_read_bool(json_read_member(ret->body, "store"), &ret->is_stored);
	(void)json_read_bool(json_read_member(ret->body, "stream"), &ret->is_stream);
	(void)json_read_bool(json_read_member(ret->body, "background"), &ret->is_background);
	if (ret->is_background && !ret->is_stored)
		return err_set(err, ERR_INVALID, "background: it needs store");
	if (take_conversation(ret->body, ret, err) < 0)
		return (int)err->code;
	take_include(ret->body, ret);
	if (order_take_tools(json_read_member(ret->body, "tools"), ret, err) < 0)
		return (int)err->code;
	return check_rest(ret->body, err);
}

/* ---- its conversation ----------------------------------------------------------------------- */

static int write_number(const struct json_value *body, const char *key, const char *name,
			struct json_writer *writer, struct err *err)
{
	const struct json_value *value = json_read_member(body, key);

	if (json_read_kind(value) == JSON_KIND_NULL)
		return 0;
	if (json_read_kind(value) != JSON_KIND_NUMBER)
		return err_set(err, ERR_INVALID, "%s: it is a number", key);
	return openai_write_value(writer, name, value, err);
}

static int write_sampling(const struct json_value *body, struct json_writer *writer,
			  struct err *err)
{
	const char *effort = json_get_text(json_read_member(body, "reasoning"), "effort");

	json_write_key(writer, "sampling");
	json_write_object_begin(writer);
	if (write_number(body, "temperature", "temperature", writer, err) < 0 ||
	    write_number(body, "top_p", "top_p", writer, err) < 0 ||
	    write_number(body, "max_output_tokens", "max_tokens", writer, err) < 0)
		return (int)err->code;
	if (effort != NULL)
		json_write_member_string(writer, "reasoning_effort", effort);
	json_write_object_end(writer);
	return write_number(body, "max_tool_calls", "max_calls", writer, err);
}

int order_write_output(const struct json_value *format, const struct json_value *schema,
		       struct json_writer *writer, struct err *err)
{
	const char *type = json_get_text(format, "type"), *name = json_get_text(schema, "name");
	bool strict = false;

	if (type == NULL || strcmp(type, "text") == 0)
		return 0;
	json_write_key(writer, "output");
	json_write_object_begin(writer);
	if (strcmp(type, "json_object") == 0) {
		json_write_key(writer, "schema");
		json_write_raw(writer, "{\"type\":\"object\"}", 17);
	} else if (strcmp(type, "json_schema") != 0 ||
		   json_read_kind(json_read_member(schema, "schema")) != JSON_KIND_OBJECT) {
		return err_set(err, ERR_INVALID,
			       "format: its type is text, json_object, or json_schema "
			       "with a schema");
	} else {
		if (name != NULL)
			json_write_member_string(writer, "name", name);
		if (openai_write_value(writer, "schema", json_read_member(schema, "schema"), err) <
		    0)
			return (int)err->code;
		(void)json_read_bool(json_read_member(schema, "strict"), &strict);
		json_write_member_bool(writer, "strict", strict);
	}
	json_write_object_end(writer);
	return 0;
}

/* Copies earlier messages unchanged, with their model's reasoning. */
static int write_messages(struct order *order, const struct json_value *before,
			  struct json_writer *writer, struct err *err)
{
	const struct json_value *messages = json_read_member(before, "messages");
	cleanup_buf struct buf json = BUF_INIT(OPENAI_CONVERSATION_MAX);
	cleanup_transcript struct transcript transcript;

	transcript_init(&transcript, writer);
	json_write_key(writer, "messages");
	json_write_array_begin(writer);
	for (size_t i = 0; i < json_read_count(messages); i++) {
		buf_clear(&json);
		if (json_read_dump(json_read_at(messages, i), &json, err) < 0)
			return (int)err->code;
		json_write_raw(writer, buf_text(&json), json.len);
	}
	if (input_write(json_read_member(order->body, "input"), order, &transcript, err) < 0)
		return (int)err->code;
	json_write_array_end(writer);
	return 0;
}

static int write_instructions(const struct order *order, const char *text, size_t len,
			      struct json_writer *writer, struct err *err)
{
	cleanup_buf struct buf whole = BUF_INIT(OPENAI_CONVERSATION_MAX);

	if ((text != NULL && buf_add(&whole, text, len, err) < 0) ||
	    buf_add(&whole, buf_text(&order->file_lines), order->file_lines.len, err) < 0)
		return (int)err->code;
	if (whole.len > 0)
		json_write_member_text(writer, "instructions", whole.data, whole.len);
	return 0;
}

int order_write(struct order *order, const struct json_value *before, struct buf *ret,
		struct err *err)
{
	const struct json_value *body = order->body;
	struct json_writer writer;
	bool is_parallel = true;
	size_t len;
	const char *instructions = json_read_text(json_read_member(body, "instructions"), &len);
	const struct json_value *format =
		json_read_member(json_read_member(body, "text"), "format");

	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "schema", "reckon.conversation/1");
	if (json_get_text(before, "made_by") != NULL)
		json_write_member_string(&writer, "made_by", json_get_text(before, "made_by"));
	if (write_instructions(order, instructions, len, &writer, err) < 0)
		return (int)err->code;
	json_write_member_bool(&writer, "code", order->runs_code);
	(void)json_read_bool(json_read_member(body, "parallel_tool_calls"), &is_parallel);
	json_write_member_bool(&writer, "parallel_tool_calls", is_parallel);
	if (order_write_tools(order, &writer, err) < 0 || write_sampling(body, &writer, err) < 0 ||
	    order_write_output(format, format, &writer, err) < 0 ||
	    write_messages(order, before, &writer, err) < 0)
		return (int)err->code;
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}
