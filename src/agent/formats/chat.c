/*
 * chat.c - the wire format OpenAI Chat Completions, which many other servers use, too.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    events of a stream, hostile.
 * Never:    relies on what some servers omit: indexes, ids, finish reasons, [DONE].
 *
 * Tool results can only be text, so their images follow in a user message.
 */
#include <string.h>

#include "agent/formats/chat_details.h"
#include "agent/formats/provider.h"
#include "base/cleanup.h"
#include "codec/json_get.h"

static void write_images(struct json_writer *writer, const struct model_turn *turn,
			 const char *intro, size_t intro_len)
{
	json_write_array_begin(writer);
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "text");
	json_write_member_text(writer, "text", intro, intro_len);
	json_write_object_end(writer);
	for (size_t i = 0; i < turn->image_count; i++) {
		struct err err;

		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "image_url");
		json_write_key(writer, "image_url");
		json_write_object_begin(writer);
		json_write_key(writer, "url");
		if (model_write_data_url(writer, &turn->images[i], &err) < 0)
			json_write_null(writer);
		json_write_object_end(writer);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_user(struct json_writer *writer, const struct model_turn *turn, const char *text,
		       size_t len)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", "user");
	json_write_key(writer, "content");
	if (turn->image_count > 0)
		write_images(writer, turn, text, len);
	else
		json_write_text(writer, text, len);
	json_write_object_end(writer);
}

/* Writes the server's other members of a call, such as signed thoughts. */
static void write_extra(struct json_writer *writer, const struct model_call *call)
{
	struct json_value *extra = NULL;
	const struct json_value *value;
	const char *key;
	struct err err;

	if (call->extra.len == 0 || json_read_parse(call->extra.data, call->extra.len,
						    MODEL_EXTRA_MAX, &extra, &err) < 0)
		return;
	for (size_t i = 0; json_read_member_at(extra, i, &key, &value); i++) {
		cleanup_buf struct buf json = BUF_INIT(MODEL_EXTRA_MAX);

		if (json_read_dump(value, &json, &err) < 0)
			continue;
		json_write_key(writer, key);
		json_write_raw(writer, json.data, json.len);
	}
	json_read_free(extra);
}

static void write_call(struct json_writer *writer, const struct model_call *call)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "id", call->id);
	json_write_member_string(writer, "type", "function");
	json_write_key(writer, "function");
	json_write_object_begin(writer);
	json_write_member_string(writer, "name", call->name);
	json_write_member_text(writer, "arguments", buf_text(&call->args), call->args.len);
	json_write_object_end(writer);
	write_extra(writer, call);
	json_write_object_end(writer);
}

static bool is_in_parts(const struct model_turn *turn, enum agent_echo echo)
{
	return echo != AGENT_ECHO_NONE && turn->thought_key != NULL &&
	       strcmp(turn->thought_key, MODEL_THOUGHT_PARTS) == 0 && turn->thoughts.len > 0;
}

static void write_part(struct json_writer *writer, const struct buf *text)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "text");
	json_write_member_text(writer, "text", buf_text(text), text->len);
	json_write_object_end(writer);
}

/* Writes thoughts and text as parts of the content, the form that Mistral uses. */
static void write_parts(struct json_writer *writer, const struct model_turn *turn)
{
	json_write_array_begin(writer);
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", MODEL_THOUGHT_PARTS);
	json_write_key(writer, MODEL_THOUGHT_PARTS);
	json_write_array_begin(writer);
	write_part(writer, &turn->thoughts);
	json_write_array_end(writer);
	json_write_member_bool(writer, "closed", true);
	json_write_object_end(writer);
	if (turn->text.len > 0)
		write_part(writer, &turn->text);
	json_write_array_end(writer);
}

/* Some servers refuse an answer without its thoughts, others refuse one with them. */
static void write_thought(struct json_writer *writer, const struct model_turn *turn,
			  enum agent_echo echo)
{
	const char *key = turn->thought_key;

	if (turn->blob.len > 0 && echo != AGENT_ECHO_NONE) {
		json_write_key(writer, "reasoning_details");
		json_write_array_begin(writer);
		json_write_raw(writer, turn->blob.data, turn->blob.len);
		json_write_array_end(writer);
		return;
	}
	if (echo == AGENT_ECHO_NONE || (key == NULL && echo != AGENT_ECHO_ALL) ||
	    is_in_parts(turn, echo))
		return;
	json_write_member_text(writer, key != NULL ? key : "reasoning_content",
			       buf_text(&turn->thoughts), key != NULL ? turn->thoughts.len : 0);
}

static void write_answer(struct json_writer *writer, const struct model_turn *turn,
			 enum agent_echo echo)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", "assistant");
	json_write_key(writer, "content");
	if (is_in_parts(turn, echo))
		write_parts(writer, turn);
	else if (turn->text.len > 0 || turn->call_count == 0)
		json_write_text(writer, buf_text(&turn->text), turn->text.len);
	else
		json_write_null(writer);
	write_thought(writer, turn, echo);
	if (turn->call_count > 0) {
		json_write_key(writer, "tool_calls");
		json_write_array_begin(writer);
		for (size_t i = 0; i < turn->call_count; i++)
			write_call(writer, &turn->calls[i]);
		json_write_array_end(writer);
	}
	json_write_object_end(writer);
}

static void write_results(struct json_writer *writer, const struct model_turn *turn)
{
	static const char intro[] = "Images that the code above displayed, in order:";

	for (size_t i = 0; i < turn->result_count; i++) {
		const struct model_result *result = &turn->results[i];

		if (result->call_id[0] == '\0') { /* of a block in the model's text */
			write_user(writer, turn, buf_text(&result->text), result->text.len);
			return;
		}
		json_write_object_begin(writer);
		json_write_member_string(writer, "role", "tool");
		json_write_member_string(writer, "tool_call_id", result->call_id);
		json_write_member_text(writer, "content", buf_text(&result->text),
				       result->text.len);
		json_write_object_end(writer);
	}
	if (turn->image_count > 0)
		write_user(writer, turn, intro, sizeof(intro) - 1);
}

static void write_turn(struct json_writer *writer, const struct model_turn *turn,
		       enum agent_echo echo)
{
	switch (turn->role) {
	case MODEL_ROLE_USER:
		write_user(writer, turn, buf_text(&turn->text), turn->text.len);
		return;
	case MODEL_ROLE_MODEL:
		write_answer(writer, turn, echo);
		return;
	case MODEL_ROLE_RESULTS:
		write_results(writer, turn);
		return;
	}
}

static void write_choice(struct json_writer *writer, const struct model_sampling *sampling)
{
	static const char *const names[] = { [MODEL_CHOICE_AUTO] = "auto",
					     [MODEL_CHOICE_NONE] = "none",
					     [MODEL_CHOICE_REQUIRED] = "required" };

	json_write_key(writer, "tool_choice");
	if (sampling->choice == MODEL_CHOICE_TOOL) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "function");
		json_write_key(writer, "function");
		json_write_object_begin(writer);
		json_write_member_string(writer, "name", sampling->choice_tool);
		json_write_object_end(writer);
		json_write_object_end(writer);
	} else {
		json_write_string(writer, names[sampling->choice]);
	}
	if (sampling->one_call)
		json_write_member_bool(writer, "parallel_tool_calls", false);
}

static void write_tools(struct json_writer *writer, const struct model_conversation *conv)
{
	json_write_key(writer, "tools");
	json_write_array_begin(writer);
	for (size_t i = 0; i < conv->tool_count; i++) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "function");
		json_write_key(writer, "function");
		json_write_object_begin(writer);
		provider_write_tool(writer, &conv->tools[i], "parameters");
		json_write_object_end(writer);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	write_choice(writer, &conv->sampling);
}

static void write_sampling(struct json_writer *writer, const struct model_sampling *sampling)
{
	provider_write_number(writer, "temperature", sampling->temperature);
	provider_write_number(writer, "top_p", sampling->top_p);
	provider_write_number(writer, "seed", sampling->seed);
	provider_write_stops(writer, "stop", sampling);
	if (sampling->effort != NULL)
		json_write_member_string(writer, "reasoning_effort", sampling->effort);
}

static void write_schema(struct json_writer *writer, const struct model_conversation *conv)
{
	json_write_key(writer, "response_format");
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "json_schema");
	json_write_key(writer, "json_schema");
	json_write_object_begin(writer);
	provider_write_schema(writer, conv, true);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static void write_system(struct json_writer *writer, const struct buf *text)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", "system");
	json_write_member_text(writer, "content", text->data, text->len);
	json_write_object_end(writer);
}

static int request(const struct model_conversation *conv, struct provider_request *request,
		   struct err *err)
{
	/* OpenAI's own models refuse the old name, and most other servers only know the old one. */
	const bool is_new = request->ways.limit == AGENT_LIMIT_AUTO
				    ? strstr(request->base_url, "://api.openai.com/") != NULL
				    : request->ways.limit == AGENT_LIMIT_COMPLETION;
	struct json_writer writer;

	json_write_init(&writer, &request->body);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "model", request->model);
	json_write_member_bool(&writer, "stream", true);
	json_write_key(&writer, "stream_options");
	json_write_object_begin(&writer);
	json_write_member_bool(&writer, "include_usage", true);
	json_write_object_end(&writer);
	json_write_member_uint(&writer, is_new ? "max_completion_tokens" : "max_tokens",
			       provider_answer_tokens(request, conv));
	write_sampling(&writer, &conv->sampling);
	json_write_key(&writer, "messages");
	json_write_array_begin(&writer);
	if (conv->system.len > 0)
		write_system(&writer, &conv->system);
	for (size_t i = 0; i < conv->count; i++)
		write_turn(&writer, conv->turns[i], request->ways.echo);
	json_write_array_end(&writer);
	if (conv->tool_count > 0)
		write_tools(&writer, conv);
	if (provider_schema(conv) != NULL)
		write_schema(&writer, conv);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, err) < 0 ||
	    provider_url(request, "/chat/completions", err) < 0)
		return (int)err->code;
	return provider_bearer(request, err);
}

/* Without an index, a new id begins a new call; without an id, the last call continues. */
static int64_t index_of(const struct decoder *decoder, const struct json_value *delta)
{
	const char *id = json_read_text(json_read_member(delta, "id"), NULL);
	const struct model_turn *turn = decoder->turn;
	int64_t index;

	if (json_read_int(json_read_member(delta, "index"), &index))
		return index;
	if (turn->call_count == 0)
		return 0;
	index = turn->calls[turn->call_count - 1].index;
	if (id == NULL || turn->calls[turn->call_count - 1].id == NULL ||
	    strcmp(id, turn->calls[turn->call_count - 1].id) == 0)
		return index;
	return index + 1;
}

static bool is_plain_member(const char *key)
{
	static const char *const plain[] = { "index", "id", "type", "function" };

	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (strcmp(plain[i], key) == 0)
			return true;
	return false;
}

static void copy_members(struct json_writer *writer, const struct json_value *from,
			 const struct json_value *known)
{
	const struct json_value *value;
	const char *key;

	for (size_t i = 0; json_read_member_at(from, i, &key, &value); i++) {
		cleanup_buf struct buf json = BUF_INIT(MODEL_EXTRA_MAX);
		struct err err;

		if (is_plain_member(key) || json_read_member(known, key) != NULL ||
		    json_read_dump(value, &json, &err) < 0)
			continue;
		json_write_key(writer, key);
		json_write_raw(writer, json.data, json.len);
	}
}

/* Keeps unknown members of this piece of a call; the first value of a member counts. */
static void take_extra(struct model_call *call, const struct json_value *delta)
{
	cleanup_buf struct buf merged = BUF_INIT(MODEL_EXTRA_MAX);
	struct json_value *known = NULL;
	const struct json_value *value;
	struct json_writer writer;
	bool has_more = false;
	struct err err; /* too much of it is left out */
	const char *key;

	for (size_t i = 0; json_read_member_at(delta, i, &key, &value); i++)
		has_more = has_more || !is_plain_member(key);
	if (!has_more)
		return;
	if (call->extra.len > 0)
		(void)json_read_parse(call->extra.data, call->extra.len, MODEL_EXTRA_MAX, &known,
				      &err);
	json_write_init(&writer, &merged);
	json_write_object_begin(&writer);
	copy_members(&writer, known, NULL);
	copy_members(&writer, delta, known);
	json_write_object_end(&writer);
	json_read_free(known);
	if (json_write_finish(&writer, &err) < 0)
		return;
	buf_clear(&call->extra);
	(void)buf_add(&call->extra, merged.data, merged.len, &err);
}

static int take_call(struct decoder *decoder, const struct json_value *delta, struct err *err)
{
	const struct json_value *function = json_read_member(delta, "function");
	const struct json_value *arguments = json_read_member(function, "arguments");
	const char *id = json_read_text(json_read_member(delta, "id"), NULL);
	const char *name = json_read_text(json_read_member(function, "name"), NULL);
	struct model_call *call;
	const char *text;
	size_t len;

	if (decoder_call(decoder, index_of(decoder, delta), &call, err) < 0)
		return (int)err->code;
	if (id != NULL && call->id == NULL)
		model_call_set_id(call, id);
	if (name != NULL && call->name == NULL)
		model_call_set_name(call, name);
	take_extra(call, delta);
	text = json_read_text(arguments, &len);
	if (text != NULL) {
		model_call_add(call, text, len);
	} else if (json_read_kind(arguments) == JSON_KIND_OBJECT) {
		cleanup_buf struct buf whole = BUF_INIT(MODEL_EVENT_MAX);

		if (json_read_dump(arguments, &whole, err) < 0)
			return (int)err->code;
		model_call_add(call, buf_text(&whole), whole.len);
	}
	return 0;
}

static enum model_stop stop_of(const char *reason)
{
	if (strcmp(reason, "length") == 0)
		return MODEL_STOP_LENGTH;
	if (strcmp(reason, "content_filter") == 0)
		return MODEL_STOP_REFUSED;
	return MODEL_STOP_END;
}

/* Reads thoughts from reasoning_details if no other member has them. */
static int take_details_text(struct decoder *decoder, const struct json_value *delta,
			     struct err *err)
{
	const struct json_value *details = json_read_member(delta, "reasoning_details");

	for (size_t i = 0; i < json_read_count(details); i++) {
		size_t len;
		const char *text = json_read_text(
			json_read_member(json_read_at(details, i), "text"), &len);

		if (text != NULL && decoder_thought(decoder, text, len, err) < 0)
			return (int)err->code;
	}
	return 0;
}

/* Reads the first member with text, because some gateways send the same text twice. */
static int take_thought(struct decoder *decoder, const struct json_value *delta, struct err *err)
{
	static const char *const keys[] = { "reasoning_content", "reasoning", "reasoning_text" };

	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		size_t len;
		const char *text = json_read_text(json_read_member(delta, keys[i]), &len);

		if (text == NULL || len == 0)
			continue;
		if (decoder->turn->thought_key == NULL)
			decoder->turn->thought_key = keys[i];
		return decoder_thought(decoder, text, len, err);
	}
	return take_details_text(decoder, delta, err);
}

/* Reads text, or an array of parts with text and thoughts. */
static int take_content(struct decoder *decoder, const struct json_value *delta, struct err *err)
{
	const struct json_value *content = json_read_member(delta, "content");
	size_t len;
	const char *text = json_read_text(content, &len);

	if (text == NULL) {
		text = json_read_text(json_read_member(delta, "refusal"), &len);
		decoder->refused = decoder->refused || (text != NULL && len > 0);
	}
	if (text != NULL)
		return decoder_text(decoder, text, len, err);
	if (json_read_kind(content) != JSON_KIND_ARRAY)
		return 0;
	for (size_t i = 0; i < json_read_count(content); i++) {
		const struct json_value *part = json_read_at(content, i);
		const struct json_value *thinking = json_read_member(part, "thinking");

		text = json_read_text(json_read_member(part, "text"), &len);
		if (text != NULL && decoder_text(decoder, text, len, err) < 0)
			return (int)err->code;
		for (size_t j = 0; j < json_read_count(thinking); j++) {
			text = json_read_text(json_read_member(json_read_at(thinking, j), "text"),
					      &len);
			if (text == NULL)
				continue;
			if (decoder->turn->thought_key == NULL)
				decoder->turn->thought_key = MODEL_THOUGHT_PARTS;
			if (decoder_thought(decoder, text, len, err) < 0)
				return (int)err->code;
		}
	}
	return 0;
}

static int take_choice(struct decoder *decoder, const struct json_value *choice, struct err *err)
{
	const struct json_value *delta = json_read_member(choice, "delta");
	const struct json_value *calls;
	const char *text;

	if (delta == NULL) /* the server does not stream */
		delta = json_read_member(choice, "message");
	if (details_take(&decoder->details, json_read_member(delta, "reasoning_details"), err) <
		    0 ||
	    take_thought(decoder, delta, err) < 0 || take_content(decoder, delta, err) < 0)
		return (int)err->code;
	calls = json_read_member(delta, "tool_calls");
	for (size_t i = 0; i < json_read_count(calls); i++)
		if (take_call(decoder, json_read_at(calls, i), err) < 0)
			return (int)err->code;
	text = json_read_text(json_read_member(choice, "finish_reason"), NULL);
	if (text != NULL) {
		decoder->turn->stop = decoder->refused ? MODEL_STOP_REFUSED : stop_of(text);
		decoder->ended = true;
		return details_write(decoder->details, &decoder->turn->blob, err);
	}
	return 0;
}

static void take_usage(struct decoder *decoder, const struct json_value *usage)
{
	struct model_usage *sum = &decoder->turn->usage;

	if (json_read_kind(usage) != JSON_KIND_OBJECT)
		return;
	sum->in = json_get_count(usage, "prompt_tokens");
	sum->out = json_get_count(usage, "completion_tokens");
	sum->cached =
		json_get_count(json_read_member(usage, "prompt_tokens_details"), "cached_tokens");
	sum->reasoning = json_get_count(json_read_member(usage, "completion_tokens_details"),
					"reasoning_tokens");
}

static int take_chunk(struct decoder *decoder, const struct json_value *chunk, struct err *err)
{
	const struct json_value *error = json_read_member(chunk, "error");
	const struct json_value *choice = json_read_at(json_read_member(chunk, "choices"), 0);

	if (error != NULL && json_read_kind(error) != JSON_KIND_NULL) {
		fault_judge(0, chunk, &decoder->fault);
		return 0;
	}
	decoder->begun = true;
	take_usage(decoder, json_read_member(chunk, "usage"));
	return choice != NULL ? take_choice(decoder, choice, err) : 0;
}

static int event(struct decoder *decoder, const char *name, const char *data, size_t len,
		 struct err *err)
{
	(void)name;
	if (strcmp(data, "[DONE]") == 0)
		decoder->ended = true;
	return provider_take(decoder, data, len, take_chunk, err);
}

const struct provider provider_chat = {
	.name = "openai",
	.request = request,
	.event = event,
};
