/*
 * order.c - parses a request of Messages: its conversation and options.
 *
 * Runs in:  reckon-front-anthropic and tests.
 * Reads:    JSON of any client.
 * Never:    accepts an option that it cannot honour: it refuses it by name.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/anthropic/anthropic.h"
#include "dialects/model_api.h"

#define TOOL_CODE "code_execution"
#define EFFORT_LARGE 16384

void order_done(struct order *order)
{
	model_api_order_done(&order->body, &order->conversation, &order->arena);
}

/* ---- tools ---------------------------------------------------------------------------------- */

static int add_code_tool(const char *type, struct order *order, struct err *err)
{
	static const struct {
		const char *type;
		enum anthropic_tool tool;
		const char *caller; /* the name that SDKs accept as caller */
		bool has_editor;
	} versions[] = {
		{ "code_execution_20250522", ANTHROPIC_PYTHON, "code_execution_20250825", false },
		{ "code_execution_20250825", ANTHROPIC_BASH, "code_execution_20250825", true },
		{ "code_execution_20260120", ANTHROPIC_BASH, "code_execution_20260120", true },
		{ "code_execution_20260521", ANTHROPIC_BASH, "code_execution_20260120", true },
	};

	for (size_t i = 0; i < ARRAY_LEN(versions); i++)
		if (strcmp(type, versions[i].type) == 0) {
			order->tool = versions[i].tool;
			order->caller = versions[i].caller;
			order->has_editor = versions[i].has_editor;
			return 0;
		}
	return err_set(err, ERR_INVALID, "tools: the type '%.60s' is not supported here", type);
}

/* Writes a tool of the application. */
static int write_tool(const struct json_value *tool, struct json_writer *writer, struct err *err)
{
	const struct json_value *schema = json_read_member(tool, "input_schema");
	cleanup_buf struct buf json = BUF_INIT(ANTHROPIC_CONVERSATION_MAX);
	const char *name = json_get_text(tool, "name");

	if (name == NULL || json_read_kind(schema) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "tools: a tool has a name and an input_schema");
	if (json_read_dump(schema, &json, err) < 0)
		return (int)err->code;
	json_write_object_begin(writer);
	json_write_member_string(writer, "name", name);
	json_write_member_string(writer, "description", json_get_text(tool, "description"));
	json_write_key(writer, "parameters");
	json_write_raw(writer, buf_text(&json), json.len);
	json_write_object_end(writer);
	return 0;
}

static bool is_own(const struct json_value *tool)
{
	const char *type = json_get_text(tool, "type");

	return type == NULL || strcmp(type, "custom") == 0;
}

static int find_code_tool(const struct json_value *tools, struct order *order, struct err *err)
{
	for (size_t i = 0; i < json_read_count(tools); i++) {
		const struct json_value *tool = json_read_at(tools, i);

		if (!is_own(tool) && add_code_tool(json_get_text(tool, "type"), order, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int write_tools(const struct json_value *tools, const struct order *order,
		       struct json_writer *writer, struct err *err)
{
	json_write_key(writer, "tools");
	json_write_array_begin(writer);
	for (size_t i = 0; i < json_read_count(tools); i++) {
		bool direct, code;

		programmatic_callers(json_read_at(tools, i), &direct, &code);
		if (direct && is_own(json_read_at(tools, i)) &&
		    write_tool(json_read_at(tools, i), writer, err) < 0)
			return (int)err->code;
	}
	editor_write_tool(order, writer);
	json_write_array_end(writer);
	return 0;
}

static int write_choice(const struct json_value *choice, const struct order *order,
			struct json_writer *writer, struct err *err)
{
	const char *type = json_get_text(choice, "type"), *name = json_get_text(choice, "name");
	bool one = false;

	if (type == NULL)
		return err_set(err, ERR_INVALID, "tool_choice: it has a type");
	if (strcmp(type, "tool") == 0 && name != NULL)
		type = strcmp(name, TOOL_CODE) != 0	? name
		       : order->tool == ANTHROPIC_BASH ? ANTHROPIC_SHELL_LANGUAGE
						       : ANTHROPIC_CODE_LANGUAGE;
	else if (strcmp(type, "any") == 0)
		type = "required";
	else if (strcmp(type, "auto") != 0 && strcmp(type, "none") != 0)
		return err_set(err, ERR_INVALID, "tool_choice: type is auto, any, tool or none");
	(void)json_read_bool(json_read_member(choice, "disable_parallel_tool_use"), &one);
	json_write_member_string(writer, "tool_choice", type);
	json_write_member_bool(writer, "parallel_tool_calls", !one);
	return 0;
}

/* ---- sampling ------------------------------------------------------------------------------- */

static int write_number(const struct json_value *body, const char *key, struct json_writer *writer,
			struct err *err)
{
	const struct json_value *value = json_read_member(body, key);
	cleanup_buf struct buf json = BUF_INIT(64);

	if (json_read_kind(value) == JSON_KIND_NULL)
		return 0;
	if (json_read_kind(value) != JSON_KIND_NUMBER || json_read_dump(value, &json, err) < 0)
		return err_set(err, ERR_INVALID, "%s: Input should be a valid number", key);
	json_write_key(writer, key);
	json_write_raw(writer, buf_text(&json), json.len);
	return 0;
}

/* The reasoning effort, in the words that other providers use. */
static const char *effort_of(const struct json_value *body, struct order *order)
{
	const struct json_value *thinking = json_read_member(body, "thinking");
	const char *effort = json_get_text(json_read_member(body, "output_config"), "effort");
	const char *type = json_get_text(thinking, "type");
	int64_t tokens = 0;

	order->shows_thoughts = type != NULL && strcmp(type, "disabled") != 0;
	if (effort != NULL && strlen(effort) < 32)
		return effort;
	if (type == NULL || strcmp(type, "enabled") != 0 ||
	    !json_read_int(json_read_member(thinking, "budget_tokens"), &tokens))
		return NULL;
	return tokens >= EFFORT_LARGE ? "high" : "medium";
}

static int write_sampling(const struct json_value *body, struct order *order,
			  struct json_writer *writer, struct err *err)
{
	const struct json_value *stops = json_read_member(body, "stop_sequences");
	const char *effort = effort_of(body, order);
	int64_t tokens = 0;

	if (json_get_has(body, "max_tokens") &&
	    (!json_read_int(json_read_member(body, "max_tokens"), &tokens) || tokens < 1))
		return err_set(err, ERR_INVALID, "max_tokens: Input should be a number from 1 on");
	json_write_key(writer, "sampling");
	json_write_object_begin(writer);
	if (write_number(body, "temperature", writer, err) < 0 ||
	    write_number(body, "top_p", writer, err) < 0)
		return (int)err->code;
	model_api_end_sampling(writer, tokens, effort, stops);
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int take_container(const struct json_value *body, struct order *order, struct err *err)
{
	const struct json_value *container = json_read_member(body, "container");
	const char *id = json_read_text(container, NULL);

	if (json_read_kind(container) == JSON_KIND_NULL)
		return 0;
	if (json_read_kind(container) == JSON_KIND_OBJECT) {
		if (json_read_count(json_read_member(container, "skills")) > 0)
			return err_set(err, ERR_INVALID,
				       "container.skills: there are no skills here");
		id = json_get_text(container, "id");
	}
	if (id == NULL)
		return json_read_kind(container) == JSON_KIND_OBJECT
			       ? 0
			       : err_set(err, ERR_INVALID, "container: Input should be a string");
	order->container = arena_text(&order->arena, id, strlen(id));
	/* An impossible id becomes "-", which is never found. */
	if (!name_swap(id, ANTHROPIC_CONTAINER, "se_", order->session, sizeof(order->session)))
		(void)snprintf(order->session, sizeof(order->session), "-");
	return 0;
}

int order_write(struct order *order, struct err *err)
{
	const struct json_value *body = order->body;
	cleanup_buf struct buf system = BUF_INIT(ANTHROPIC_CONVERSATION_MAX);
	struct json_writer writer;

	json_write_init(&writer, &order->conversation);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "schema", "reckon.conversation/1");
	if (json_get_has(body, "system")) {
		if (history_text(json_read_member(body, "system"), &system, err) < 0)
			return err_wrap(err, "system");
		json_write_member_text(&writer, "instructions", buf_text(&system), system.len);
	}
	if (write_tools(json_read_member(body, "tools"), order, &writer, err) < 0)
		return (int)err->code;
	json_write_member_bool(&writer, "code", order->tool != ANTHROPIC_NO_CODE);
	json_write_member_bool(&writer, "pause", true);
	if (json_get_has(body, "tool_choice") &&
	    write_choice(json_read_member(body, "tool_choice"), order, &writer, err) < 0)
		return (int)err->code;
	if (write_sampling(body, order, &writer, err) < 0 ||
	    history_write(json_read_member(body, "messages"), order, &writer, err) < 0)
		return (int)err->code;
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}

static int read_body(const struct json_value *body, struct order *ret, struct err *err)
{
	const char *model = json_get_text(body, "model");

	if (json_read_kind(body) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "the body is a JSON object");
	if (model == NULL || model[0] == '\0')
		return err_set(err, ERR_INVALID, "model: Field required");
	if (strlen(model) > MODEL_API_NAME_MAX)
		return err_set(err, ERR_INVALID, "model: String should have at most %u characters",
			       MODEL_API_NAME_MAX);
	ret->wants_thread = json_get_has(body, "thread");
	if (ret->wants_thread)
		return err_set(err, ERR_INVALID,
			       "thread: conversations are not kept here: send all "
			       "messages");
	if (json_read_kind(json_read_member(body, "messages")) != JSON_KIND_ARRAY ||
	    json_read_count(json_read_member(body, "messages")) == 0)
		return err_set(err, ERR_INVALID, "messages: at least one message is required");
	ret->model = arena_text(&ret->arena, model, strlen(model));
	(void)json_read_bool(json_read_member(body, "stream"), &ret->is_stream);
	if (take_container(body, ret, err) < 0 ||
	    find_code_tool(json_read_member(body, "tools"), ret, err) < 0 ||
	    programmatic_tools(json_read_member(body, "tools"), ret, err) < 0 ||
	    programmatic_answers(json_read_member(body, "messages"), ret, err) < 0)
		return (int)err->code;
	return history_uploads(json_read_member(body, "messages"), ret, err);
}

int order_read(const char *json, size_t len, struct order *ret, struct err *err)
{
	if (json_read_parse(json, len, ANTHROPIC_BODY_MAX, &ret->body, err) < 0)
		return (int)err->code;
	return read_body(ret->body, ret, err);
}
