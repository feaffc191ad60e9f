/*
 * order.c - parses a request of Chat Completions: its conversation and options.
 *
 * Runs in:  reckon-front-openai and tests.
 * Reads:    JSON of any client.
 * Never:    accepts an option that it cannot honour: it refuses it by name.
 */
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/model_api.h"
#include "dialects/openai/openai.h"

/* ---- messages ------------------------------------------------------------------------------- */

static int take_calls(const struct json_value *calls, struct transcript *transcript,
		      struct err *err)
{
	for (size_t i = 0; i < json_read_count(calls); i++) {
		const struct json_value *call = json_read_at(calls, i);
		const struct json_value *function = json_read_member(call, "function");
		const char *id = json_get_text(call, "id"), *name = json_get_text(function, "name");
		size_t len;
		const char *arguments =
			json_read_text(json_read_member(function, "arguments"), &len);

		if (id == NULL || name == NULL || arguments == NULL)
			return err_set(err, ERR_INVALID, "tool_calls: id, function.name and "
				       "function.arguments are needed");
		if (transcript_call(transcript, id, name, arguments, len, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int take_message(const struct json_value *message, struct order *order,
			struct transcript *transcript, struct err *err)
{
	const struct json_value *content = json_read_member(message, "content");
	cleanup_buf struct buf text = BUF_INIT(OPENAI_CONVERSATION_MAX);
	const char *files[OPENAI_FILES_MAX];
	const size_t first = order->file_count;
	const bool is_user = json_get_is(message, "role", "user");
	const bool is_tool = json_get_is(message, "role", "tool");
	const bool is_model = json_get_is(message, "role", "assistant");

	if (!is_user && !is_tool && !is_model && !json_get_is(message, "role", "system") &&
	    !json_get_is(message, "role", "developer"))
		return err_set(err, ERR_INVALID,
			       "role: it is system, developer, user, assistant or "
			       "tool");
	if (!is_tool && !is_model && transcript_close(transcript, err) < 0)
		return (int)err->code;
	if (json_read_kind(content) != JSON_KIND_NULL &&
	    input_content(content, order, transcript, &text, err) < 0)
		return (int)err->code;
	if (is_tool) {
		if (json_get_text(message, "tool_call_id") == NULL)
			return err_set(err, ERR_INVALID, "tool_call_id: it is missing");
		return transcript_result(transcript, json_get_text(message, "tool_call_id"),
					 buf_text(&text), text.len, err);
	}
	if (is_model)
		return transcript_assistant(transcript, buf_text(&text), text.len, err) < 0
			       ? (int)err->code
			       : take_calls(json_read_member(message, "tool_calls"), transcript,
					    err);
	for (size_t i = first; i < order->file_count; i++)
		files[i - first] = order->files[i].path;
	return transcript_user(transcript, is_user ? "user" : "system", &text, files,
			       order->file_count - first, err);
}

static int write_messages(struct order *order, struct json_writer *writer, struct err *err)
{
	const struct json_value *messages = json_read_member(order->body, "messages");
	cleanup_transcript struct transcript transcript;

	transcript_init(&transcript, writer);
	json_write_key(writer, "messages");
	json_write_array_begin(writer);
	for (size_t i = 0; i < json_read_count(messages); i++)
		if (take_message(json_read_at(messages, i), order, &transcript, err) < 0)
			return err_wrap(err, "messages[%zu]", i);
	if (transcript_close(&transcript, err) < 0)
		return (int)err->code;
	json_write_array_end(writer);
	return 0;
}

/* ---- tools ---------------------------------------------------------------------------------- */

static int write_tool(const struct json_value *tool, struct order *order,
		      struct json_writer *writer, struct err *err)
{
	const struct json_value *function = json_read_member(tool, "function");
	const struct json_value *parameters = json_read_member(function, "parameters");

	if (json_get_is(tool, "type", "code_interpreter")) {
		order->runs_code = true;
		return json_get_has(tool, "container")
			       ? order_take_container(json_read_member(tool, "container"), order,
						      err)
			       : 0;
	}
	if (!json_get_is(tool, "type", "function") || json_get_text(function, "name") == NULL)
		return err_set(err, ERR_INVALID, "tools: one is a function with a name, or a "
			       "code_interpreter");
	json_write_object_begin(writer);
	json_write_member_string(writer, "name", json_get_text(function, "name"));
	json_write_member_string(writer, "description", json_get_text(function, "description"));
	if (json_read_kind(parameters) == JSON_KIND_OBJECT &&
	    openai_write_value(writer, "parameters", parameters, err) < 0)
		return (int)err->code;
	json_write_object_end(writer);
	return 0;
}

static int write_tools(struct order *order, struct json_writer *writer, struct err *err)
{
	const struct json_value *tools = json_read_member(order->body, "tools");
	const struct json_value *choice = json_read_member(order->body, "tool_choice");
	const char *word = json_read_text(choice, NULL);
	bool is_parallel = true;

	json_write_key(writer, "tools");
	json_write_array_begin(writer);
	for (size_t i = 0; i < json_read_count(tools); i++)
		if (write_tool(json_read_at(tools, i), order, writer, err) < 0)
			return (int)err->code;
	json_write_array_end(writer);
	if (json_get_is(choice, "type", "function"))
		word = json_get_text(json_read_member(choice, "function"), "name");
	if (json_read_kind(choice) != JSON_KIND_NULL && word == NULL)
		return err_set(err, ERR_INVALID, "tool_choice: it is not supported here");
	if (word != NULL)
		json_write_member_string(writer, "tool_choice", word);
	(void)json_read_bool(json_read_member(order->body, "parallel_tool_calls"), &is_parallel);
	json_write_member_bool(writer, "parallel_tool_calls", is_parallel);
	json_write_member_bool(writer, "code", order->runs_code);
	return 0;
}

/* ---- sampling ------------------------------------------------------------------------------- */

static int write_stop(const struct json_value *stop, struct json_writer *writer, struct err *err)
{
	if (json_read_kind(stop) == JSON_KIND_ARRAY)
		return openai_write_value(writer, "stop", stop, err);
	if (json_read_text(stop, NULL) == NULL)
		return 0;
	json_write_key(writer, "stop");
	json_write_array_begin(writer);
	json_write_string(writer, json_read_text(stop, NULL));
	json_write_array_end(writer);
	return 0;
}

static int write_sampling(const struct json_value *body, struct json_writer *writer,
			  struct err *err)
{
	static const struct {
		const char *key, *name;
	} numbers[] = { { "temperature", "temperature" },
			{ "top_p", "top_p" },
			{ "seed", "seed" } };
	const char *length = json_get_has(body, "max_completion_tokens") ? "max_completion_tokens"
									 : "max_tokens";

	json_write_key(writer, "sampling");
	json_write_object_begin(writer);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (json_get_has(body, numbers[i].key) &&
		    openai_write_value(writer, numbers[i].name,
				       json_read_member(body, numbers[i].key), err) < 0)
			return (int)err->code;
	if (json_get_has(body, length) &&
	    openai_write_value(writer, "max_tokens", json_read_member(body, length), err) < 0)
		return (int)err->code;
	if (json_get_text(body, "reasoning_effort") != NULL)
		json_write_member_string(writer, "reasoning_effort",
					 json_get_text(body, "reasoning_effort"));
	if (write_stop(json_read_member(body, "stop"), writer, err) < 0)
		return (int)err->code;
	json_write_object_end(writer);
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int check(const struct json_value *body, struct order *ret, struct err *err)
{
	int64_t n = 1;

	if (json_read_kind(body) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "the body is a JSON object");
	ret->model = json_get_text(body, "model");
	if (ret->model == NULL || ret->model[0] == '\0')
		return err_set(err, ERR_INVALID, "model: it is missing");
	if (strlen(ret->model) > MODEL_API_NAME_MAX)
		return err_set(err, ERR_INVALID, "model: it has at most %u characters",
			       MODEL_API_NAME_MAX);
	if (json_read_kind(json_read_member(body, "messages")) != JSON_KIND_ARRAY)
		return err_set(err, ERR_INVALID, "messages: they are missing");
	(void)json_read_int(json_read_member(body, "n"), &n);
	if (n != 1)
		return err_set(err, ERR_INVALID, "n: only 1 is supported here");
	if (json_get_has(body, "functions"))
		return err_set(err, ERR_INVALID, "functions: say tools instead");
	(void)json_read_bool(json_read_member(body, "stream"), &ret->is_stream);
	return 0;
}

int chat_order_read(const char *json, size_t len, struct order *ret, struct buf *conversation,
		    struct err *err)
{
	const struct json_value *format;
	struct json_writer writer;

	if (json_read_parse(json, len, OPENAI_BODY_MAX, &ret->body, err) < 0 ||
	    check(ret->body, ret, err) < 0)
		return (int)err->code;
	format = json_read_member(ret->body, "response_format");
	json_write_init(&writer, conversation);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "schema", "reckon.conversation/1");
	if (write_tools(ret, &writer, err) < 0 || write_sampling(ret->body, &writer, err) < 0 ||
	    order_write_output(format, json_read_member(format, "json_schema"), &writer, err) < 0 ||
	    write_messages(ret, &writer, err) < 0)
		return (int)err->code;
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}
