/*
 * write.c - writes a conversation as a JSON document.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    the conversation.
 * Never:    writes more than AGENT_CONVERSATION_MAX, or an API key.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/conversation/conversation.h"
#include "agent/conversation/tool_cell.h"
#include "base/cleanup.h"

static void write_text(struct json_writer *writer, const char *key, const struct buf *text)
{
	if (text->len > 0)
		json_write_member_text(writer, key, text->data, text->len);
}

static void write_raw(struct json_writer *writer, const char *key, const char *json, size_t len)
{
	json_write_key(writer, key);
	json_write_raw(writer, json, len);
}

static void write_images(struct json_writer *writer, const struct model_turn *turn)
{
	if (turn->image_count == 0)
		return;
	json_write_key(writer, "images");
	json_write_array_begin(writer);
	for (size_t i = 0; i < turn->image_count; i++) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "mime", turn->images[i].mime);
		write_text(writer, "base64", &turn->images[i].base64);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_call(struct json_writer *writer, const struct model_call *call)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "id", call->id);
	json_write_member_string(writer, "name", call->name);
	write_raw(writer, "arguments", call->args.data, call->args.len);
	if (call->own_id)
		json_write_member_bool(writer, "own_id", true);
	if (call->extra.len > 0)
		write_raw(writer, "extra", call->extra.data, call->extra.len);
	json_write_object_end(writer);
}

/* All sealed items have the same maker, because those of others were dropped. */
static void write_sealed(struct json_writer *writer, const struct model_turn *turn, uint64_t maker)
{
	char made_by[24];

	if (turn->sealed.len == 0)
		return;
	(void)snprintf(made_by, sizeof(made_by), "%016" PRIx64, maker);
	json_write_key(writer, "sealed");
	json_write_array_begin(writer);
	json_write_object_begin(writer);
	json_write_member_string(writer, "made_by", made_by);
	json_write_key(writer, "items");
	json_write_array_begin(writer);
	json_write_raw(writer, turn->sealed.data, turn->sealed.len);
	json_write_array_end(writer);
	json_write_object_end(writer);
	json_write_array_end(writer);
}

static void write_answer(struct json_writer *writer, const struct model_turn *turn, uint64_t maker)
{
	write_text(writer, "text", &turn->text);
	write_text(writer, "thoughts", &turn->thoughts);
	write_sealed(writer, turn, maker);
	if (turn->thought_key != NULL)
		json_write_member_string(writer, "thought_key", turn->thought_key);
	if (turn->blob.len > 0) {
		json_write_key(writer, "items");
		json_write_array_begin(writer);
		json_write_raw(writer, turn->blob.data, turn->blob.len);
		json_write_array_end(writer);
	}
	if (turn->call_count == 0)
		return;
	json_write_key(writer, "calls");
	json_write_array_begin(writer);
	for (size_t i = 0; i < turn->call_count; i++)
		write_call(writer, &turn->calls[i]);
	json_write_array_end(writer);
}

/* Writes the original results, because another model may have a larger context window. */
static void write_results(struct json_writer *writer, const struct model_turn *turn)
{
	json_write_key(writer, "results");
	json_write_array_begin(writer);
	for (size_t i = 0; i < turn->result_count; i++) {
		const struct model_result *result = &turn->results[i];

		json_write_object_begin(writer);
		json_write_member_string(writer, "id", result->call_id);
		write_text(writer, "text", result->whole.len > 0 ? &result->whole : &result->text);
		if (result->failed)
			json_write_member_bool(writer, "failed", true);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_turn(struct json_writer *writer, const struct model_turn *turn, bool has_images,
		       uint64_t maker)
{
	static const char *const roles[] = { [MODEL_ROLE_USER] = "user",
					     [MODEL_ROLE_MODEL] = "assistant",
					     [MODEL_ROLE_RESULTS] = "tool" };

	json_write_object_begin(writer);
	json_write_member_string(writer, "role", roles[turn->role]);
	switch (turn->role) {
	case MODEL_ROLE_USER:
		write_text(writer, "text", &turn->text);
		break;
	case MODEL_ROLE_MODEL:
		write_answer(writer, turn, maker);
		break;
	case MODEL_ROLE_RESULTS:
		write_results(writer, turn);
		break;
	}
	if (has_images)
		write_images(writer, turn);
	json_write_object_end(writer);
}

static void write_tools(struct json_writer *writer, const struct model_conversation *conv)
{
	json_write_key(writer, "tools");
	json_write_array_begin(writer);
	for (size_t i = 0; i < conv->tool_count; i++) {
		const struct model_tool *tool = &conv->tools[i];

		if (tool->kind != MODEL_TOOL_APPLICATION && tool->kind != MODEL_TOOL_CELL)
			continue;
		json_write_object_begin(writer);
		json_write_member_string(writer, "name", tool->name);
		json_write_member_string(writer, "description", tool->description);
		write_raw(writer, "parameters", tool->parameters, strlen(tool->parameters));
		if (tool->kind == MODEL_TOOL_CELL)
			tool_cell_write(tool, writer);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_number(struct json_writer *writer, const char *key, const char *number)
{
	if (number != NULL)
		write_raw(writer, key, number, strlen(number));
}

static void write_sampling(struct json_writer *writer, const struct model_sampling *sampling)
{
	static const char *const words[] = { [MODEL_CHOICE_AUTO] = "auto",
					     [MODEL_CHOICE_NONE] = "none",
					     [MODEL_CHOICE_REQUIRED] = "required" };

	json_write_member_string(writer, "tool_choice",
				 sampling->choice == MODEL_CHOICE_TOOL ? sampling->choice_tool
								       : words[sampling->choice]);
	json_write_member_bool(writer, "parallel_tool_calls", !sampling->one_call);
	json_write_key(writer, "sampling");
	json_write_object_begin(writer);
	write_number(writer, "temperature", sampling->temperature);
	write_number(writer, "top_p", sampling->top_p);
	write_number(writer, "seed", sampling->seed);
	if (sampling->answer_tokens > 0)
		json_write_member_uint(writer, "max_tokens", sampling->answer_tokens);
	if (sampling->effort != NULL)
		json_write_member_string(writer, "reasoning_effort", sampling->effort);
	json_write_key(writer, "stop");
	json_write_array_begin(writer);
	for (size_t i = 0; i < sampling->stop_count; i++)
		json_write_string(writer, sampling->stops[i]);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_output(struct json_writer *writer, const struct model_sampling *sampling)
{
	if (sampling->schema == NULL)
		return;
	json_write_key(writer, "output");
	json_write_object_begin(writer);
	json_write_member_string(writer, "name", sampling->schema_name);
	write_raw(writer, "schema", sampling->schema, strlen(sampling->schema));
	json_write_member_bool(writer, "strict", sampling->is_strict);
	json_write_object_end(writer);
}

static void write_usage(struct json_writer *writer, const struct agent_usage *usage)
{
	json_write_key(writer, "usage");
	json_write_object_begin(writer);
	json_write_member_uint(writer, "requests", usage->requests);
	json_write_member_uint(writer, "steps", usage->steps);
	json_write_member_uint(writer, "in", usage->in);
	json_write_member_uint(writer, "cached", usage->cached);
	json_write_member_uint(writer, "out", usage->out);
	json_write_member_uint(writer, "reasoning", usage->reasoning);
	json_write_member_uint(writer, "cost_micro", usage->cost_micro);
	json_write_object_end(writer);
}

/* Leaves out the images of turns before `images_from`. */
static int write_once(const struct conversation *conversation,
		      const struct model_conversation *conv, size_t images_from, struct buf *ret,
		      struct err *err)
{
	struct json_writer writer;
	char made_by[24];

	(void)snprintf(made_by, sizeof(made_by), "%016" PRIx64, conversation->made_by);
	json_write_init(&writer, ret);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "schema", CONVERSATION_SCHEMA);
	json_write_member_string(&writer, "made_by", made_by);
	write_text(&writer, "instructions", &conversation->instructions);
	json_write_member_bool(&writer, "code", conversation->runs_code);
	if (conversation->runs_shell)
		json_write_member_bool(&writer, "shell", true);
	json_write_member_bool(&writer, "pause", conversation->pauses);
	json_write_member_uint(&writer, "max_calls", conversation->calls_max);
	json_write_member_uint(&writer, "calls", conversation->calls);
	write_usage(&writer, &conversation->usage);
	write_tools(&writer, conv);
	write_sampling(&writer, &conv->sampling);
	write_output(&writer, &conv->sampling);
	json_write_key(&writer, "messages");
	json_write_array_begin(&writer);
	for (size_t i = 0; i < conv->count; i++)
		write_turn(&writer, conv->turns[i], i >= images_from, conversation->made_by);
	json_write_array_end(&writer);
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}

int conversation_write(const struct conversation *conversation,
		       const struct model_conversation *conv, struct buf *ret, struct err *err)
{
	const size_t last = conv->count > 2 ? conv->count - 2 : 0;
	const size_t tries[] = { 0, last, conv->count };
	const size_t len = ret->len;

	for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
		if (write_once(conversation, conv, tries[i], ret, err) == 0)
			return 0;
		ret->len = len;
	}
	return (int)err->code;
}
