/*
 * order_tools.c - the tools of a request of Responses: those that run here, and the application's.
 *
 * Runs in:  reckon-front-openai and tests.
 * Reads:    JSON of any client.
 * Never:    accepts a tool that it cannot support: it refuses it by name.
 *
 * A shell whose environment is a container runs here, in the same container as the code
 * interpreter. A local shell, or one without an environment (the older form), is the application's:
 * the model sees a function of that name.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_get.h"
#include "dialects/openai/openai.h"

/* ---- containers ----------------------------------------------------------------------------- */

static int take_id(const char *id, struct order *order, struct err *err)
{
	if (order->container != NULL && strcmp(order->container, id) != 0)
		return err_set(err, ERR_INVALID, "tools: they are to use one container");
	order->container = id;
	/* An impossible id becomes "-", which is never found. */
	if (!name_swap(id, OPENAI_CONTAINER, "se_", order->session, sizeof(order->session)))
		(void)snprintf(order->session, sizeof(order->session), "-");
	return 0;
}

int order_memory(const char *word, uint64_t *ret, struct err *err)
{
	static const struct {
		const char *word;
		uint64_t bytes;
	} sizes[] = { { "1g", UINT64_C(1) << 30 }, { "4g", UINT64_C(4) << 30 },
		      { "16g", UINT64_C(16) << 30 }, { "64g", UINT64_C(64) << 30 } };

	for (size_t i = 0; word != NULL && i < ARRAY_LEN(sizes); i++)
		if (strcmp(word, sizes[i].word) == 0) {
			*ret = sizes[i].bytes;
			return 0;
		}
	return word == NULL ? 0 : err_set(err, ERR_INVALID, "memory_limit: 1g, 4g, 16g or 64g");
}

static int take_new(const struct json_value *container, struct order *order, struct err *err)
{
	const struct json_value *files = json_read_member(container, "file_ids");
	const struct json_value *policy = json_read_member(container, "network_policy");

	if (json_read_count(json_read_member(container, "skills")) > 0)
		return err_set(err, ERR_INVALID, "container.skills: there are no skills here");
	if (json_read_kind(policy) == JSON_KIND_OBJECT && !json_get_is(policy, "type", "disabled"))
		return err_set(err, ERR_INVALID, "container.network_policy: a container has no "
			       "network here");
	if (files_count(files, "container.file_ids", err) < 0)
		return (int)err->code;
	if (json_read_count(files) > 0 && order->file_list_count < ARRAY_LEN(order->file_lists))
		order->file_lists[order->file_list_count++] = files;
	return order_memory(json_get_text(container, "memory_limit"), &order->memory_bytes, err);
}

int order_take_container(const struct json_value *container, struct order *order, struct err *err)
{
	const char *id = json_read_text(container, NULL);

	if (id != NULL)
		return take_id(id, order, err);
	if (json_read_kind(container) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "tools: code_interpreter has a container");
	return take_new(container, order, err);
}

static int take_environment(const struct json_value *environment, struct order *order,
			    struct err *err)
{
	const char *id = json_get_text(environment, "container_id");

	order->has_shell = true;
	order->shell_is_local = json_read_kind(environment) == JSON_KIND_NULL ||
				json_get_is(environment, "type", "local");
	if (order->shell_is_local || json_get_is(environment, "type", "container_auto"))
		return order->shell_is_local ? 0 : take_new(environment, order, err);
	if (json_get_is(environment, "type", "container_reference") && id != NULL)
		return take_id(id, order, err);
	return err_set(err, ERR_INVALID, "tools: the environment of a shell is container_auto, "
		       "container_reference with a container_id, or local");
}

bool order_has_container(const struct order *order)
{
	return order->runs_code || (order->has_shell && !order->shell_is_local);
}

/* ---- parsing -------------------------------------------------------------------------------- */

static int take_tool(const struct json_value *tool, struct order *order, struct err *err)
{
	const char *type = json_get_text(tool, "type");

	if (json_get_is(tool, "type", "function"))
		return json_get_text(tool, "name") != NULL
			       ? 0
			       : err_set(err, ERR_INVALID, "tools: a function has a name");
	if (json_get_is(tool, "type", "shell"))
		return order->has_shell ? err_set(err, ERR_INVALID, "tools: there is one shell")
					: take_environment(json_read_member(tool, "environment"),
							   order, err);
	if (!json_get_is(tool, "type", "code_interpreter"))
		return err_set(err, ERR_INVALID, "tools: the type '%.60s' is not supported here",
			       type != NULL ? type : "");
	order->runs_code = true;
	return order_take_container(json_read_member(tool, "container"), order, err);
}

int order_take_tools(const struct json_value *tools, struct order *order, struct err *err)
{
	for (size_t i = 0; i < json_read_count(tools); i++)
		if (take_tool(json_read_at(tools, i), order, err) < 0)
			return (int)err->code;
	for (size_t i = 0; i < json_read_count(tools); i++) {
		const char *name = json_get_text(json_read_at(tools, i), "name");

		if (order->has_shell && name != NULL && strcmp(name, OPENAI_SHELL) == 0)
			return err_set(err, ERR_INVALID,
				       "tools: a function has the name of the shell");
	}
	return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void write_local_shell(struct json_writer *writer)
{
	static const char parameters[] =
		"{\"type\":\"object\",\"properties\":{\"commands\":{\"type\":\"array\",\"items\":"
		"{\"type\":\"string\"},\"description\":\"what to run, in this order\"},"
		"\"timeout_ms\":{\"type\":\"integer\"},"
		"\"max_output_length\":{\"type\":\"integer\"}},"
		"\"required\":[\"commands\"]}";

	json_write_object_begin(writer);
	json_write_member_string(writer, "name", OPENAI_SHELL);
	json_write_member_string(writer, "description",
				 "Runs commands in a shell of the person's computer, and returns "
				 "the output of each.");
	json_write_key(writer, "parameters");
	json_write_raw(writer, parameters, sizeof(parameters) - 1);
	json_write_object_end(writer);
}

static int write_function(const struct json_value *tool, struct json_writer *writer,
			  struct err *err)
{
	const struct json_value *parameters = json_read_member(tool, "parameters");

	json_write_object_begin(writer);
	json_write_member_string(writer, "name", json_get_text(tool, "name"));
	json_write_member_string(writer, "description", json_get_text(tool, "description"));
	if (json_read_kind(parameters) == JSON_KIND_OBJECT &&
	    openai_write_value(writer, "parameters", parameters, err) < 0)
		return (int)err->code;
	json_write_object_end(writer);
	return 0;
}

static int write_choice(const struct json_value *choice, struct json_writer *writer,
			struct err *err)
{
	const char *word = json_read_text(choice, NULL);

	if (json_read_kind(choice) == JSON_KIND_NULL)
		return 0;
	if (json_get_is(choice, "type", "function"))
		word = json_get_text(choice, "name");
	else if (json_get_is(choice, "type", "code_interpreter"))
		word = OPENAI_CODE_LANGUAGE;
	else if (json_get_is(choice, "type", "shell"))
		word = OPENAI_SHELL;
	if (word == NULL)
		return err_set(err, ERR_INVALID, "tool_choice: it is not supported here");
	json_write_member_string(writer, "tool_choice", word);
	return 0;
}

int order_write_tools(const struct order *order, struct json_writer *writer, struct err *err)
{
	const struct json_value *tools = json_read_member(order->body, "tools");

	if (order->has_shell && !order->shell_is_local)
		json_write_member_bool(writer, "shell", true);
	json_write_key(writer, "tools");
	json_write_array_begin(writer);
	for (size_t i = 0; i < json_read_count(tools); i++)
		if (json_get_is(json_read_at(tools, i), "type", "function") &&
		    write_function(json_read_at(tools, i), writer, err) < 0)
			return (int)err->code;
	if (order->shell_is_local)
		write_local_shell(writer);
	json_write_array_end(writer);
	return write_choice(json_read_member(order->body, "tool_choice"), writer, err);
}
