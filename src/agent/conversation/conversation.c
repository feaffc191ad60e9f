/*
 * conversation.c - parses a JSON document into a conversation.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    a document of a client, a program or a compromised agent.
 * Never:    assumes that it is well-formed, or sends a model the reasoning of another one.
 */
#include "agent/conversation/conversation.h"

#include <stdlib.h>
#include <string.h>

#include "agent/conversation/repeat.h"
#include "agent/conversation/sampling.h"
#include "agent/conversation/tool_cell.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_get.h"

#define MESSAGES_MAX 4000u

static const char no_result[] = "[the application gave no result of this call]";

/* The position in the document, for error messages. */
struct place {
	const char *what; /* "messages" */
	size_t index;
};

void conversation_init(struct conversation *conversation)
{
	*conversation = (struct conversation){ .runs_code = true,
					       .instructions = BUF_INIT(MODEL_TEXT_MAX) };
}

void conversation_done(struct conversation *conversation)
{
	buf_done(&conversation->instructions);
}

uint64_t conversation_maker(const struct agent_settings *settings, const char *base_url,
			    const char *model)
{
	cleanup_buf struct buf name = BUF_INIT(64 * 1024);
	struct err full;

	if (buf_addf(&name, &full, "%llu %s %s", (unsigned long long)settings->protocol, base_url,
		     model) < 0)
		return 0;
	return repeat_hash(name.data, name.len);
}

static int wrong(const struct place *place, struct err *err, const char *why)
{
	return err_set(err, ERR_INVALID, "conversation: %s[%zu]: %s", place->what, place->index,
		       why);
}

/* Marks an error about a limit with "conversation: ", which says that the document is at fault. */
static int past_bound(const struct place *place, struct err *err)
{
	if (err->code == ERR_LIMIT)
		(void)err_wrap(err, "conversation: %s[%zu]", place->what, place->index);
	return (int)err->code;
}

/* A string, "" if the member is missing; ERR_INVALID for anything else. */
static int take_text(const struct json_value *object, const char *key, struct buf *ret,
		     struct err *err)
{
	const struct json_value *value = json_read_member(object, key);
	size_t len;
	const char *text = json_read_text(value, &len);

	if (text != NULL && buf_add(ret, text, len, err) < 0)
		return err_set(err, ERR_LIMIT, "\"%s\" has more than %zu bytes", key, ret->max);
	if (text == NULL && json_read_kind(value) != JSON_KIND_NULL)
		return err_set(err, ERR_INVALID, "conversation: \"%s\" is not text", key);
	return 0;
}

/* ---- tools ---- */

/* Tools with "cell" have their own limit, because a dialect adds one to a client's tools. */
static int check_count(const struct model_conversation *conv, struct err *err)
{
	size_t cells = 0;

	for (size_t i = 0; i < conv->tool_count; i++)
		cells += conv->tools[i].kind == MODEL_TOOL_CELL;
	if (conv->tool_count - cells > MODEL_APPLICATION_TOOLS_MAX)
		return err_set(err, ERR_LIMIT, "there are at most %u tools",
			       MODEL_APPLICATION_TOOLS_MAX);
	if (cells > MODEL_CELL_TOOLS_MAX)
		return err_set(err, ERR_LIMIT, "there are at most %u tools with a \"cell\"",
			       MODEL_CELL_TOOLS_MAX);
	return 0;
}

static int take_tool(const struct json_value *tool, const struct place *place,
		     struct model_conversation *conv, struct err *err)
{
	static const char none[] = "{\"type\":\"object\",\"properties\":{}}";
	const struct json_value *parameters = json_read_member(tool, "parameters");
	cleanup_buf struct buf json = BUF_INIT(MODEL_ARGS_MAX);
	size_t len = 0;
	const char *name = json_read_text(json_read_member(tool, "name"), &len);

	if (!sampling_is_name(name, len))
		return wrong(place, err, "a tool has a name of letters, digits, '_' and '-'");
	if (model_conversation_tool(conv, name) != NULL)
		return wrong(place, err, "there are two tools of this name");
	if (json_read_kind(parameters) == JSON_KIND_OBJECT) {
		if (json_read_dump(parameters, &json, err) < 0)
			return err_set(err, ERR_LIMIT, "\"parameters\" have more than %zu bytes",
				       json.max);
	} else if (parameters != NULL && json_read_kind(parameters) != JSON_KIND_NULL) {
		return wrong(place, err, "\"parameters\" is a JSON schema");
	}
	if (model_conversation_add_tool(conv, MODEL_TOOL_APPLICATION, name,
				   json_read_text(json_read_member(tool, "description"), NULL),
				   json.len > 0 ? json.data : none, err) < 0)
		return (int)err->code;
	return tool_cell_read(tool, &conv->tools[conv->tool_count - 1], err) < 0
		       ? wrong(place, err, "\"cell\" has the texts before and after")
		       : check_count(conv, err);
}

static int take_tools(const struct json_value *document, struct model_conversation *conv,
		      struct err *err)
{
	const struct json_value *tools = json_read_member(document, "tools");
	struct place place = { .what = "tools" };

	for (; place.index < json_read_count(tools); place.index++)
		if (take_tool(json_read_at(tools, place.index), &place, conv, err) < 0)
			return past_bound(&place, err);
	return 0;
}

/* ---- messages ---- */

static struct model_turn *last_of(const struct model_conversation *conv)
{
	return conv->count > 0 ? conv->turns[conv->count - 1] : NULL;
}

static const struct model_call *call_of(const struct model_turn *turn, const char *id)
{
	for (size_t i = 0; i < turn->call_count; i++)
		if (strcmp(turn->calls[i].id, id) == 0)
			return &turn->calls[i];
	return NULL;
}

static bool has_result(const struct model_turn *results, const char *id)
{
	for (size_t i = 0; results != NULL && i < results->result_count; i++)
		if (strcmp(results->results[i].call_id, id) == 0)
			return true;
	return false;
}

/* Finds the last answer and its results so far; false: the last turn is a question. */
static bool find_open(const struct model_conversation *conv, struct model_turn **ret_answer,
		      struct model_turn **ret_results)
{
	size_t at = conv->count;

	*ret_results = NULL;
	if (at > 0 && conv->turns[at - 1]->role == MODEL_ROLE_RESULTS)
		*ret_results = conv->turns[--at];
	if (at == 0 || conv->turns[at - 1]->role != MODEL_ROLE_MODEL)
		return false;
	*ret_answer = conv->turns[at - 1];
	return true;
}

const struct model_call *conversation_waiting(const struct model_conversation *conv, size_t index)
{
	struct model_turn *answer, *results;

	if (!find_open(conv, &answer, &results))
		return NULL;
	for (size_t i = 0; i < answer->call_count; i++) {
		const struct model_call *call = &answer->calls[i];
		const struct model_tool *tool = model_conversation_tool(conv, call->name);

		if (tool != NULL && tool->kind == MODEL_TOOL_APPLICATION &&
		    !has_result(results, call->id) && index-- == 0)
			return call;
	}
	return NULL;
}

int conversation_close_calls(struct model_conversation *conv, struct err *err)
{
	struct model_turn *answer, *results;

	if (!find_open(conv, &answer, &results) || answer->call_count == 0)
		return 0;
	if (results == NULL)
		results = model_conversation_add(conv, MODEL_ROLE_RESULTS);
	for (size_t i = 0; i < answer->call_count; i++)
		if (!has_result(results, answer->calls[i].id) &&
		    model_turn_add_result(results, &answer->calls[i], no_result,
					  sizeof(no_result) - 1, true, err) < 0)
			return (int)err->code;
	model_turn_sort_results(results, answer);
	return 0;
}

static int take_images(const struct json_value *message, struct model_turn *turn,
		       const struct place *place, struct err *err)
{
	const struct json_value *images = json_read_member(message, "images");

	for (size_t i = 0; i < json_read_count(images); i++) {
		const struct json_value *image = json_read_at(images, i);
		const char *mime = json_read_text(json_read_member(image, "mime"), NULL);
		size_t len;
		const char *base64 = json_read_text(json_read_member(image, "base64"), &len);

		if (mime == NULL || strncmp(mime, "image/", 6) != 0 || strlen(mime) > 64 ||
		    base64 == NULL || len == 0)
			return wrong(place, err, "an image has \"mime\" and \"base64\"");
		if (len > AGENT_IMAGE_MAX)
			return err_set(err, ERR_LIMIT, "an image has at most %u bytes of base 64",
				       AGENT_IMAGE_MAX);
		if (model_turn_add_image(turn, mime, base64, len, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int take_files(const struct json_value *message, struct model_turn *turn, struct err *err)
{
	const struct json_value *files = json_read_member(message, "files");

	for (size_t i = 0; i < json_read_count(files); i++) {
		const char *line = json_read_text(json_read_at(files, i), NULL);

		if (line == NULL)
			return err_set(err, ERR_INVALID, "conversation: a file is a text");
		if (buf_addf(&turn->text, err, "%s- %s\n",
			     i == 0 ? "\n\nFiles in /mnt/data:\n" : "", line) < 0)
			return (int)err->code;
	}
	return 0;
}

/* Joins consecutive questions, because roles have to alternate. */
static int take_user(const struct json_value *message, const struct place *place,
		     struct model_conversation *conv, struct err *err)
{
	struct model_turn *turn = last_of(conv);

	if (conversation_close_calls(conv, err) < 0)
		return (int)err->code;
	if (turn == NULL || turn->role != MODEL_ROLE_USER)
		turn = model_conversation_add(conv, MODEL_ROLE_USER);
	else if (buf_adds(&turn->text, "\n\n", err) < 0)
		return (int)err->code;
	if (take_text(message, "text", &turn->text, err) < 0 ||
	    take_files(message, turn, err) < 0)
		return (int)err->code;
	return take_images(message, turn, place, err);
}

static int take_call(const struct json_value *object, struct model_turn *turn,
		     const struct place *place, struct err *err)
{
	const struct json_value *arguments = json_read_member(object, "arguments");
	const struct json_value *extra = json_read_member(object, "extra");
	const char *id = json_read_text(json_read_member(object, "id"), NULL);
	const char *name = json_read_text(json_read_member(object, "name"), NULL);
	struct model_call *call = model_turn_call(turn, (int64_t)turn->call_count);
	size_t len = 0;
	const char *text = json_read_text(arguments, &len);

	if (call == NULL)
		return err_set(err, ERR_LIMIT, "there are at most %u calls", MODEL_CALLS_MAX);
	if (id == NULL || id[0] == '\0' || name == NULL)
		return wrong(place, err, "a call has \"id\", \"name\" and \"arguments\"");
	if (strlen(id) > MODEL_ID_MAX || strlen(name) > MODEL_NAME_MAX)
		return err_set(err, ERR_LIMIT, "the \"id\" of a call has at most %u characters, "
			       "its \"name\" %u", MODEL_ID_MAX, MODEL_NAME_MAX);
	model_call_set_id(call, id);
	model_call_set_name(call, name);
	if (text != NULL)
		model_call_add(call, text, len);
	if (call->too_long || (json_read_kind(arguments) == JSON_KIND_OBJECT &&
			       json_read_dump(arguments, &call->args, err) < 0))
		return err_set(err, ERR_LIMIT, "the \"arguments\" of a call have more than %zu "
			       "bytes", MODEL_ARGS_MAX);
	(void)json_read_bool(json_read_member(object, "own_id"), &call->own_id);
	if (json_read_kind(extra) == JSON_KIND_OBJECT &&
	    json_read_dump(extra, &call->extra, err) < 0)
		return err_set(err, ERR_LIMIT, "the \"extra\" of a call has more than %zu bytes",
			       MODEL_EXTRA_MAX);
	return 0;
}

/* Reasoning that only the same model can read. */
static int take_own(const struct json_value *message, struct model_turn *turn, struct err *err)
{
	static const char *const keys[] = { "reasoning_content", "reasoning", "reasoning_text",
					    MODEL_THOUGHT_PARTS };
	const struct json_value *items = json_read_member(message, "items");
	const char *key = json_read_text(json_read_member(message, "thought_key"), NULL);

	for (size_t i = 0; key != NULL && i < ARRAY_LEN(keys); i++)
		if (strcmp(keys[i], key) == 0)
			turn->thought_key = keys[i];
	if (take_text(message, "thoughts", &turn->thoughts, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < json_read_count(items); i++) {
		const struct json_value *item = json_read_at(items, i);

		if (json_read_kind(item) != JSON_KIND_OBJECT)
			return err_set(err, ERR_INVALID, "conversation: an item is an object");
		if ((i > 0 && buf_addc(&turn->blob, ',', err) < 0) ||
		    json_read_dump(item, &turn->blob, err) < 0)
			return (int)err->code;
	}
	return 0;
}

static bool is_thought(const struct json_value *item)
{
	static const char *const types[] = { "thinking", "redacted_thinking", "reasoning" };
	const char *type = json_read_text(json_read_member(item, "type"), NULL);

	for (size_t i = 0; type != NULL && i < ARRAY_LEN(types); i++)
		if (strcmp(types[i], type) == 0)
			return true;
	return false;
}

/* An encrypted item that a client sends back; skips items of another model. */
static int take_sealed(const struct json_value *sealed, uint64_t maker, struct model_turn *turn,
		       struct err *err)
{
	const char *made_by = json_read_text(json_read_member(sealed, "made_by"), NULL);
	const struct json_value *items = json_read_member(sealed, "items");
	const struct json_value *extra = json_read_member(sealed, "extra");
	int64_t call = -1;

	if (made_by == NULL || strtoull(made_by, NULL, 16) != maker)
		return 0;
	for (size_t i = 0; i < json_read_count(items); i++)
		if (is_thought(json_read_at(items, i)) &&
		    ((turn->sealed.len > 0 && buf_addc(&turn->sealed, ',', err) < 0) ||
		     json_read_dump(json_read_at(items, i), &turn->sealed, err) < 0))
			return (int)err->code;
	if (json_read_kind(extra) != JSON_KIND_OBJECT ||
	    !json_read_int(json_read_member(sealed, "call"), &call) || call < 0 ||
	    (size_t)call >= turn->call_count || turn->calls[call].extra.len > 0)
		return 0;
	return json_read_dump(extra, &turn->calls[call].extra, err);
}

static int take_assistant(const struct json_value *message, const struct place *place, bool is_own,
			  uint64_t maker, struct model_conversation *conv, struct err *err)
{
	const struct json_value *calls = json_read_member(message, "calls");
	const struct json_value *sealed = json_read_member(message, "sealed");
	struct model_turn *turn;

	if (conversation_close_calls(conv, err) < 0)
		return (int)err->code;
	turn = model_conversation_add(conv, MODEL_ROLE_MODEL);
	turn->stop = MODEL_STOP_END;
	if (take_text(message, "text", &turn->text, err) < 0 ||
	    (is_own && take_own(message, turn, err) < 0))
		return (int)err->code;
	for (size_t i = 0; i < json_read_count(calls); i++)
		if (take_call(json_read_at(calls, i), turn, place, err) < 0)
			return (int)err->code;
	for (size_t i = 0; i < turn->call_count; i++)
		if (!is_own)
			buf_clear(&turn->calls[i].extra);
	for (size_t i = 0; i < json_read_count(sealed); i++)
		if (take_sealed(json_read_at(sealed, i), maker, turn, err) < 0)
			return (int)err->code;
	return model_turn_settle(turn, MODEL_CODE, conv->count, err);
}

static int take_result(const struct json_value *result, const struct place *place,
		       struct model_conversation *conv, struct err *err)
{
	const char *id = json_read_text(json_read_member(result, "id"), NULL);
	cleanup_buf struct buf text = BUF_INIT(MODEL_TEXT_MAX);
	struct model_turn *answer, *results;
	const struct model_call *call = NULL;
	bool failed = false;

	if (id != NULL && find_open(conv, &answer, &results))
		call = id[0] != '\0' ? call_of(answer, id) : NULL;
	else
		return wrong(place, err,
			     "results follow the assistant's message that has the calls");
	if (call == NULL && id[0] != '\0')
		return wrong(place, err, "no call of the message before has this \"id\"");
	if (results != NULL && has_result(results, id))
		return wrong(place, err, "a call has two results");
	(void)json_read_bool(json_read_member(result, "failed"), &failed);
	if (take_text(result, "text", &text, err) < 0)
		return (int)err->code;
	if (results == NULL)
		results = model_conversation_add(conv, MODEL_ROLE_RESULTS);
	return model_turn_add_result(results, call, buf_text(&text), text.len, failed, err);
}

static int take_tool_message(const struct json_value *message, const struct place *place,
			     struct model_conversation *conv, struct err *err)
{
	const struct json_value *results = json_read_member(message, "results");
	struct model_turn *last;

	for (size_t i = 0; i < json_read_count(results); i++)
		if (take_result(json_read_at(results, i), place, conv, err) < 0)
			return (int)err->code;
	last = last_of(conv);
	if (last == NULL || last->role != MODEL_ROLE_RESULTS)
		return wrong(place, err, "a message of the role tool has results");
	return take_images(message, last, place, err);
}

static int take_message(const struct json_value *message, const struct place *place, uint64_t maker,
			struct conversation *conversation, struct model_conversation *conv,
			struct err *err)
{
	const char *role = json_read_text(json_read_member(message, "role"), NULL);

	if (role != NULL && strcmp(role, "user") == 0)
		return take_user(message, place, conv, err);
	if (role != NULL && strcmp(role, "assistant") == 0)
		return take_assistant(message, place, conversation->made_by == maker, maker, conv,
				      err);
	if (role != NULL && strcmp(role, "tool") == 0)
		return take_tool_message(message, place, conv, err);
	if (role == NULL || strcmp(role, "system") != 0)
		return wrong(place, err, "its role is none of system, user, assistant, tool");
	if (conversation->instructions.len > 0 &&
	    buf_adds(&conversation->instructions, "\n\n", err) < 0)
		return (int)err->code;
	return take_text(message, "text", &conversation->instructions, err);
}

static int take_messages(const struct json_value *document, uint64_t maker,
			 struct conversation *conversation, struct model_conversation *conv,
			 struct err *err)
{
	const struct json_value *messages = json_read_member(document, "messages");
	struct place place = { .what = "messages" };

	if (json_read_count(messages) > MESSAGES_MAX)
		return err_set(err, ERR_LIMIT, "conversation: more than %u messages", MESSAGES_MAX);
	for (; place.index < json_read_count(messages); place.index++)
		if (take_message(json_read_at(messages, place.index), &place, maker, conversation,
				 conv, err) < 0)
			return past_bound(&place, err);
	return 0;
}

/* ---- the document --------------------------------------------------------------------------- */

static void take_usage(const struct json_value *document, struct conversation *ret)
{
	const struct json_value *usage = json_read_member(document, "usage");

	ret->usage = (struct agent_usage){
		.requests = json_get_count(usage, "requests"),
		.steps = json_get_count(usage, "steps"),
		.in = json_get_count(usage, "in"),
		.cached = json_get_count(usage, "cached"),
		.out = json_get_count(usage, "out"),
		.reasoning = json_get_count(usage, "reasoning"),
		.cost_micro = json_get_count(usage, "cost_micro"),
	};
	ret->calls = json_get_count(document, "calls");
	ret->calls_max = json_get_count(document, "max_calls");
}

static int read_document(const struct json_value *document, uint64_t maker,
			 struct conversation *conversation, struct model_conversation *conv,
			 struct err *err)
{
	const char *schema = json_read_text(json_read_member(document, "schema"), NULL);
	const char *made_by = json_read_text(json_read_member(document, "made_by"), NULL);

	if (schema == NULL || strcmp(schema, CONVERSATION_SCHEMA) != 0)
		return err_set(err, ERR_INVALID, "conversation: \"schema\" is not "
			       CONVERSATION_SCHEMA);
	if (made_by != NULL)
		conversation->made_by = strtoull(made_by, NULL, 16);
	(void)json_read_bool(json_read_member(document, "code"), &conversation->runs_code);
	(void)json_read_bool(json_read_member(document, "shell"), &conversation->runs_shell);
	(void)json_read_bool(json_read_member(document, "pause"), &conversation->pauses);
	take_usage(document, conversation);
	if (take_text(document, "instructions", &conversation->instructions, err) < 0)
		return err->code == ERR_LIMIT ? err_wrap(err, "conversation") : (int)err->code;
	if (take_tools(document, conv, err) < 0 ||
	    sampling_read(document, &conv->sampling, err) < 0)
		return (int)err->code;
	/* Without code execution nothing can answer these tools. */
	if (!conversation->runs_code)
		tool_cell_drop_all(conv);
	return take_messages(document, maker, conversation, conv, err);
}

int conversation_read(const char *json, size_t len, uint64_t maker,
		      struct conversation *conversation, struct model_conversation *conv,
		      struct err *err)
{
	struct json_value *document = NULL;
	int rc;

	if (json_read_parse(json, len, AGENT_CONVERSATION_MAX, &document, err) < 0)
		return err_wrap(err, "conversation");
	rc = read_document(document, maker, conversation, conv, err);
	json_read_free(document);
	return rc;
}
