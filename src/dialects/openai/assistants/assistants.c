/*
 * assistants.c - assistants: create, list, show, change and delete them.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    bodies and ids of any client.
 * Never:    accepts a tool that Reckon does not support.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/assistants/threads.h"

#define TOOLS_MAX 128u

int assistant_check_tools(const struct json_value *body, struct err *err)
{
	const struct json_value *tools = json_read_member(body, "tools");

	if (json_read_count(tools) > TOOLS_MAX)
		return err_set(err, ERR_INVALID, "tools: there are at most %u", TOOLS_MAX);
	for (size_t i = 0; i < json_read_count(tools); i++) {
		const char *type = json_read_text(
			json_read_member(json_read_at(tools, i), "type"), NULL);

		if (type == NULL ||
		    (strcmp(type, "code_interpreter") != 0 && strcmp(type, "function") != 0))
			return err_set(err, ERR_INVALID, "tools: the type '%.60s' is not supported "
				       "here", type != NULL ? type : "");
	}
	return 0;
}

int assistant_check_resources(const struct json_value *body, struct err *err)
{
	const struct json_value *resources = json_read_member(body, "tool_resources");

	return files_count(json_read_member(json_read_member(resources, "code_interpreter"),
					    "file_ids"),
			   "tool_resources.code_interpreter.file_ids", err);
}

static int write_shown(const char *id, const struct json_value *body, const struct json_value *was,
		       struct buf *ret, struct err *err)
{
	static const struct object_member members[] = {
		{ "name", "null" },	  { "description", "null" },
		{ "model", "null" },	  { "instructions", "null" },
		{ "tools", "[]" },	  { "tool_resources", "{}" },
		{ "metadata", "{}" },	  { "temperature", "1.0" },
		{ "top_p", "1.0" },	  { "response_format", "\"auto\"" },
		{ "reasoning_effort", "null" },
	};

	if (json_read_text(json_read_member(body, "model"), NULL) == NULL && was == NULL)
		return err_set(err, ERR_INVALID, "model: it is missing");
	if (assistant_check_tools(body, err) < 0 || assistant_check_resources(body, err) < 0)
		return (int)err->code;
	return object_write(&assistant_kind, id, body, was, members, ARRAY_LEN(members), ret, err);
}

static void put(struct request *request, const char *id, const struct json_value *was)
{
	cleanup_buf struct buf shown = BUF_INIT(OBJECT_MAX);
	struct json_value *body = NULL;
	char new[NAME_SIZE];
	struct err err;

	if (object_body(request, &body) < 0)
		return;
	if (id == NULL && object_id(&assistant_kind, new) < 0)
		answer_refuse_simple(request, 500, "internal", "there is no random number", NULL);
	else if (write_shown(id != NULL ? id : new, body, was, &shown, &err) < 0)
		answer_refuse_invalid(request, &err);
	else if (object_put(request, &assistant_kind, id != NULL ? id : new, NULL, &shown, NULL) ==
		 0)
		openai_answer(request, &shown);
	json_read_free(body);
}

static void change(struct request *request, const char *id)
{
	struct json_value *value = NULL;

	if (object_find(request, &assistant_kind, id, &value) == 0)
		put(request, id, json_read_member(value, "object"));
	json_read_free(value);
}

void assistants_handle(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const char *id = rest[0] == '/' ? rest + 1 : "";

	if (id[0] == '\0' && verb == HTTP_VERB_POST)
		put(request, NULL, NULL);
	else if (id[0] == '\0' && verb == HTTP_VERB_GET)
		object_list(request, &assistant_kind, NULL, NULL, NULL);
	else if (verb == HTTP_VERB_GET)
		object_show(request, &assistant_kind, id);
	else if (verb == HTTP_VERB_POST)
		change(request, id);
	else
		object_delete(request, &assistant_kind, id);
}
