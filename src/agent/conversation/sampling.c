/*
 * sampling.c - parses the answer options in a conversation document.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    a document of a client, a program or a compromised agent.
 * Never:    silently drops what exceeds a limit.
 */
#include "agent/conversation/sampling.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_get.h"
#include "wire/agent.h"

bool sampling_is_name(const char *name, size_t len)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";

	return name != NULL && len > 0 && len <= AGENT_TOOL_NAME_MAX && strlen(name) == len &&
	       strspn(name, letters) == len;
}

static char *copy_number(const struct json_value *object, const char *key)
{
	const struct json_value *value = json_read_member(object, key);
	cleanup_buf struct buf json = BUF_INIT(64);
	struct err err;

	if (json_read_kind(value) != JSON_KIND_NUMBER || json_read_dump(value, &json, &err) < 0)
		return NULL;
	return TAKE_PTR(json.data);
}

static int take_choice(const struct json_value *document, struct model_sampling *sampling,
		       struct err *err)
{
	static const char *const words[] = { [MODEL_CHOICE_AUTO] = "auto",
					     [MODEL_CHOICE_NONE] = "none",
					     [MODEL_CHOICE_REQUIRED] = "required" };
	size_t len;
	const char *choice = json_read_text(json_read_member(document, "tool_choice"), &len);
	bool is_parallel = true;

	(void)json_read_bool(json_read_member(document, "parallel_tool_calls"), &is_parallel);
	sampling->one_call = !is_parallel;
	if (choice == NULL)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(words[i], choice) == 0) {
			sampling->choice = (enum model_choice)i;
			return 0;
		}
	if (!sampling_is_name(choice, len))
		return err_set(err, ERR_INVALID, "conversation: \"tool_choice\" is none of auto, "
			       "none, required, or the name of a tool");
	sampling->choice = MODEL_CHOICE_TOOL;
	sampling->choice_tool = mem_strdup(choice);
	return 0;
}

static int take_sampling(const struct json_value *document, struct model_sampling *ret,
			 struct err *err)
{
	const struct json_value *sampling = json_read_member(document, "sampling");
	const struct json_value *stops = json_read_member(sampling, "stop");
	const char *effort = json_get_text(sampling, "reasoning_effort");

	ret->temperature = copy_number(sampling, "temperature");
	ret->top_p = copy_number(sampling, "top_p");
	ret->seed = copy_number(sampling, "seed");
	ret->answer_tokens = json_get_count(sampling, "max_tokens");
	if (effort != NULL && strlen(effort) < 32)
		ret->effort = mem_strdup(effort);
	if (json_read_count(stops) > MODEL_STOPS_MAX)
		return err_set(err, ERR_LIMIT, "conversation: \"stop\" has at most %u texts",
			       MODEL_STOPS_MAX);
	for (size_t i = 0; i < json_read_count(stops); i++) {
		const char *stop = json_read_text(json_read_at(stops, i), NULL);

		if (stop != NULL && stop[0] != '\0')
			ret->stops[ret->stop_count++] = mem_strdup(stop);
	}
	return 0;
}

/* {"name", "schema", "strict"} */
static int take_output(const struct json_value *document, struct model_sampling *ret,
		       struct err *err)
{
	const struct json_value *output = json_read_member(document, "output");
	const struct json_value *schema = json_read_member(output, "schema");
	cleanup_buf struct buf json = BUF_INIT(MODEL_ARGS_MAX);
	size_t len = 0;
	const char *name = json_read_text(json_read_member(output, "name"), &len);

	if (json_read_kind(output) == JSON_KIND_NULL)
		return 0;
	if (json_read_kind(schema) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "conversation: \"output\" has a JSON schema");
	if (name != NULL && !sampling_is_name(name, len))
		return err_set(err, ERR_INVALID, "conversation: the name of \"output\" is one of "
			       "letters, digits, '_' and '-'");
	if (json_read_dump(schema, &json, err) < 0)
		return err_set(err, ERR_LIMIT, "conversation: the schema of \"output\" has more "
			       "than %zu bytes", json.max);
	ret->schema = TAKE_PTR(json.data);
	ret->schema_name = mem_strdup(name != NULL ? name : "answer");
	(void)json_read_bool(json_read_member(output, "strict"), &ret->is_strict);
	return 0;
}

int sampling_read(const struct json_value *document, struct model_sampling *ret, struct err *err)
{
	if (take_sampling(document, ret, err) < 0 || take_choice(document, ret, err) < 0)
		return (int)err->code;
	return take_output(document, ret, err);
}
