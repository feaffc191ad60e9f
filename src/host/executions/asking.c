/*
 * asking.c - questions of running code to its client, and their answers.
 *
 * Runs in:  reckond's loop; asking_questions() in a thread of the pool.
 * Reads:    checked calls.
 * Never:    passes an answer to an execution of another tenant, or to one that asked nothing.
 *
 * The questions are events of the execution (docs/internals/questions.md).
 */
#include "host/executions/asking.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/host.h"

#define TOOLS_MAX 64u /* for an execution and for a session */
#define TOOLS_BYTES_MAX ((size_t)256 * 1024)

struct asking {
	reckon_answers *answers;
	reckon_questions questions;
	reckon_tool *tools;
	struct arena arena;
};

/* ---- checks --------------------------------------------------------------------------------- */

static bool is_tool_name(const char *name)
{
	return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") ==
	       strlen(name);
}

bool asking_is_good(struct host *host, const struct request *req, const struct api_list *list)
{
	const struct api_tool *tools = list->items;
	const char *why = NULL;

	for (size_t i = 0; i < list->count; i++) {
		if (!is_tool_name(tools[i].name))
			why = "tools.name must have letters, digits, '_' and '-'";
		for (size_t k = 0; k < i; k++)
			if (strcmp(tools[i].name, tools[k].name) == 0)
				why = "tools: two have the same name";
	}
	if (why != NULL)
		front_fail(host, req->id, API_ERR_INVALID, why, "", "choose other names", 0);
	return why == NULL;
}

/* ---- tools of a session --------------------------------------------------------------------- */

bool asking_fits(struct host *host, const struct request *req, const struct api_list *list)
{
	const struct api_tool *tools = list->items;
	size_t bytes = 0;

	for (size_t i = 0; i < list->count; i++)
		bytes += strlen(tools[i].name) + tools[i].parameters.len +
			 (tools[i].description != NULL ? strlen(tools[i].description) : 0);
	if (bytes > TOOLS_BYTES_MAX)
		front_fail(host, req->id, API_ERR_INVALID,
			  "tools: those of a session have at most 256 KiB in all", "",
			  "shorten their descriptions, or name them with each execution", 0);
	return bytes <= TOOLS_BYTES_MAX;
}

char *asking_keep(const struct api_list *list)
{
	cleanup_buf struct buf text = BUF_INIT(TOOLS_BYTES_MAX * 8);
	const struct api_tool *tools = list->items;
	struct json_writer json;
	struct err ignored;

	if (list->count == 0)
		return NULL;
	json_write_init(&json, &text);
	json_write_array_begin(&json);
	for (size_t i = 0; i < list->count; i++) {
		json_write_object_begin(&json);
		json_write_member_string(&json, "name", tools[i].name);
		if (tools[i].description != NULL)
			json_write_member_string(&json, "description", tools[i].description);
		if (tools[i].parameters.data != NULL) {
			json_write_key(&json, "parameters");
			json_write_raw(&json, tools[i].parameters.data, tools[i].parameters.len);
		}
		json_write_object_end(&json);
	}
	json_write_array_end(&json);
	return json_write_finish(&json, &ignored) == 0 ? mem_strdup(buf_text(&text)) : NULL;
}

/* ---- an execution --------------------------------------------------------------------------- */

static void add_tool(const char *name, const char *description, const char *parameters, void *arg)
{
	struct asking *asking = arg;

	if (asking->questions.tool_count == TOOLS_MAX || name == NULL)
		return;
	asking->tools[asking->questions.tool_count++] = (reckon_tool){
		.name = arena_text(&asking->arena, name, strlen(name)),
		.description = description != NULL ? arena_text(&asking->arena, description,
								strlen(description))
						   : NULL,
		.parameters = parameters != NULL
				      ? arena_text(&asking->arena, parameters, strlen(parameters))
				      : NULL,
	};
}

static void add_own(struct asking *asking, const struct api_list *list)
{
	const struct api_tool *tools = list->items;

	for (size_t i = 0; i < list->count; i++) {
		const struct api_bytes *schema = &tools[i].parameters;
		const char *text = schema->data != NULL
					   ? arena_text(&asking->arena, schema->data, schema->len)
					   : NULL;

		add_tool(tools[i].name, tools[i].description, text, asking);
	}
}

static struct asking *make(const struct host *host, uint64_t wait_ms, struct err *err)
{
	reckon_answers *answers;
	struct asking *asking;
	reckon_error error;

	if (reckon_answers_new(&answers, &error) < 0) {
		(void)err_set(err, ERR_SYSTEM, "%s", error.message);
		return NULL;
	}
	asking = mem_new0(1, sizeof(*asking));
	asking->answers = answers;
	asking->tools = mem_new0(TOOLS_MAX, sizeof(*asking->tools));
	asking->questions = (reckon_questions){ .answers = answers,
						.tools = asking->tools,
						.wait_ms = wait_ms != 0 ? wait_ms
									: host->config.tool_wait_ms };
	return asking;
}

int asking_from_json(struct host *host, const char *tools, uint64_t wait_ms, struct asking **ret,
		     struct err *err)
{
	struct asking *asking = make(host, wait_ms, err);

	if (asking == NULL)
		return (int)err->code;
	if (db_tools_each(host->db, tools, add_tool, asking, err) < 0) {
		asking_free(asking);
		return (int)err->code;
	}
	*ret = asking;
	return 0;
}

int asking_new(const struct session *session, const struct api_execute_in *in, struct asking **ret,
	       struct err *err)
{
	const char *session_tools = in->tools.count == 0 ? session->row.tools : NULL;

	*ret = NULL;
	if (!in->allow_input && in->tools.count == 0 && session_tools == NULL)
		return 0;
	if (session_tools != NULL) {
		if (asking_from_json(session->host, session_tools, in->wait_ms, ret, err) < 0)
			return (int)err->code;
	} else {
		*ret = make(session->host, in->wait_ms, err);
	}
	if (*ret == NULL)
		return (int)err->code;
	(*ret)->questions.input = in->allow_input;
	add_own(*ret, &in->tools);
	return 0;
}

bool asking_waits(const struct asking *asking)
{
	return asking != NULL && reckon_answers_waiting(asking->answers) > 0;
}

int asking_once(const struct session *session, const struct api_execute_once_in *in,
		struct asking **ret, struct err *err)
{
	const struct api_execute_in same = { .allow_input = in->allow_input,
					     .tools = in->tools,
					     .wait_ms = in->wait_ms };

	return asking_new(session, &same, ret, err);
}

void asking_free(struct asking *asking)
{
	if (asking == NULL)
		return;
	reckon_answers_free(asking->answers);
	arena_done(&asking->arena);
	free(asking->tools);
	free(asking);
}

const reckon_questions *asking_questions(const struct asking *asking)
{
	return asking != NULL ? &asking->questions : NULL;
}

/* ---- answers -------------------------------------------------------------------------------- */

int asking_input(struct asking *asking, uint64_t seq, const char *text, reckon_error *error)
{
	return reckon_answers_input(asking->answers, seq, text, text != NULL ? strlen(text) : 0,
				    error);
}

bool asking_give(struct asking *asking, const struct api_tool_result *result)
{
	const char *text = result->error != NULL ? result->error : result->denied;
	const int kind = result->value.data != NULL ? RECKON_TOOL_VALUE
			 : result->error != NULL    ? RECKON_TOOL_ERROR
						    : RECKON_TOOL_DENIED;
	reckon_error ignored;

	if (kind == RECKON_TOOL_VALUE)
		return reckon_answers_tool(asking->answers, result->id, kind, result->value.data,
					   result->value.len, &ignored) == 0;
	return reckon_answers_tool(asking->answers, result->id, kind, text, strlen(text),
				   &ignored) == 0;
}
