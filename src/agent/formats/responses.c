/*
 * responses.c - the wire format OpenAI Responses.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    events of a stream, hostile.
 * Never:    stores the conversation at the server: each request has all of it.
 *
 * Items of an answer are sent back unchanged, including reasoning: the server refuses a call
 * without the reasoning before it.
 */
#include <string.h>

#include "agent/formats/provider.h"
#include "base/cleanup.h"
#include "codec/json_get.h"

static void write_image(struct json_writer *writer, const struct model_image *image)
{
	struct err err;

	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "input_image");
	json_write_key(writer, "image_url");
	if (model_write_data_url(writer, image, &err) < 0)
		json_write_null(writer);
	json_write_member_string(writer, "detail", "auto");
	json_write_object_end(writer);
}

/* Writes [{"type": "input_text"}, images…]. */
static void write_content(struct json_writer *writer, const struct buf *text,
			  const struct model_turn *turn, bool has_images)
{
	json_write_array_begin(writer);
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "input_text");
	json_write_member_text(writer, "text", buf_text(text), text->len);
	json_write_object_end(writer);
	for (size_t i = 0; has_images && i < turn->image_count; i++)
		write_image(writer, &turn->images[i]);
	json_write_array_end(writer);
}

static void write_user(struct json_writer *writer, const struct buf *text,
		       const struct model_turn *turn)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "message");
	json_write_member_string(writer, "role", "user");
	json_write_key(writer, "content");
	write_content(writer, text, turn, true);
	json_write_object_end(writer);
}

static void write_answer(struct json_writer *writer, const struct model_turn *turn)
{
	if (provider_blob_holds(turn)) {
		json_write_raw(writer, turn->blob.data, turn->blob.len);
		return;
	}
	if (turn->sealed.len > 0)
		json_write_raw(writer, turn->sealed.data, turn->sealed.len);
	if (turn->text.len > 0 || turn->call_count == 0) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "message");
		json_write_member_string(writer, "role", "assistant");
		json_write_key(writer, "content");
		json_write_array_begin(writer);
		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "output_text");
		json_write_member_text(writer, "text", buf_text(&turn->text), turn->text.len);
		json_write_object_end(writer);
		json_write_array_end(writer);
		json_write_object_end(writer);
	}
	for (size_t i = 0; i < turn->call_count; i++) {
		const struct model_call *call = &turn->calls[i];

		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "function_call");
		json_write_member_string(writer, "call_id", call->id);
		json_write_member_string(writer, "name", call->name);
		json_write_member_text(writer, "arguments", buf_text(&call->args), call->args.len);
		json_write_object_end(writer);
	}
}

/* The images of all results are written with the last one. */
static void write_results(struct json_writer *writer, const struct model_turn *turn)
{
	for (size_t i = 0; i < turn->result_count; i++) {
		const struct model_result *result = &turn->results[i];
		const bool is_last = i + 1 == turn->result_count;

		if (result->call_id[0] == '\0') {
			write_user(writer, &result->text, turn);
			return;
		}
		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "function_call_output");
		json_write_member_string(writer, "call_id", result->call_id);
		json_write_key(writer, "output");
		if (is_last && turn->image_count > 0)
			write_content(writer, &result->text, turn, true);
		else
			json_write_text(writer, buf_text(&result->text), result->text.len);
		json_write_object_end(writer);
	}
}

static void write_turn(struct json_writer *writer, const struct model_turn *turn)
{
	switch (turn->role) {
	case MODEL_ROLE_USER:
		write_user(writer, &turn->text, turn);
		return;
	case MODEL_ROLE_MODEL:
		write_answer(writer, turn);
		return;
	case MODEL_ROLE_RESULTS:
		write_results(writer, turn);
		return;
	}
}

static void write_tools(struct json_writer *writer, const struct model_conversation *conv)
{
	static const char *const choices[] = { [MODEL_CHOICE_AUTO] = "auto",
					       [MODEL_CHOICE_NONE] = "none",
					       [MODEL_CHOICE_REQUIRED] = "required" };
	const struct model_sampling *sampling = &conv->sampling;

	json_write_key(writer, "tools");
	json_write_array_begin(writer);
	for (size_t i = 0; i < conv->tool_count; i++) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "function");
		provider_write_tool(writer, &conv->tools[i], "parameters");
		json_write_member_bool(writer, "strict", false);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_key(writer, "tool_choice");
	if (sampling->choice == MODEL_CHOICE_TOOL) {
		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "function");
		json_write_member_string(writer, "name", sampling->choice_tool);
		json_write_object_end(writer);
	} else {
		json_write_string(writer, choices[sampling->choice]);
	}
	if (sampling->one_call)
		json_write_member_bool(writer, "parallel_tool_calls", false);
}

/* The protocol has no stop texts and no seed. */
static void write_sampling(struct json_writer *writer, const struct model_sampling *sampling)
{
	provider_write_number(writer, "temperature", sampling->temperature);
	provider_write_number(writer, "top_p", sampling->top_p);
	if (sampling->effort == NULL)
		return;
	json_write_key(writer, "reasoning");
	json_write_object_begin(writer);
	json_write_member_string(writer, "effort", sampling->effort);
	json_write_object_end(writer);
}

/* llama.cpp's server expects the schema where Chat Completions has it; OpenAI refuses that. */
static void write_schema(struct json_writer *writer, const struct model_conversation *conv,
			 bool is_openai)
{
	if (!is_openai) {
		json_write_key(writer, "response_format");
		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "json_schema");
		json_write_key(writer, "json_schema");
		json_write_object_begin(writer);
		provider_write_schema(writer, conv, true);
		json_write_object_end(writer);
		json_write_object_end(writer);
	}
	json_write_key(writer, "text");
	json_write_object_begin(writer);
	json_write_key(writer, "format");
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "json_schema");
	provider_write_schema(writer, conv, true);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static int request(const struct model_conversation *conv, struct provider_request *request,
		   struct err *err)
{
	const bool is_openai = strstr(request->base_url, "://api.openai.com/") != NULL;
	struct json_writer writer;

	json_write_init(&writer, &request->body);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "model", request->model);
	json_write_member_bool(&writer, "stream", true);
	json_write_member_bool(&writer, "store", false);
	json_write_member_uint(&writer, "max_output_tokens", provider_answer_tokens(request, conv));
	write_sampling(&writer, &conv->sampling);
	json_write_member_text(&writer, "instructions", buf_text(&conv->system), conv->system.len);
	/* else reasoning could only be sent back if the server stored it */
	if (!request->ways.no_encrypted) {
		json_write_key(&writer, "include");
		json_write_array_begin(&writer);
		json_write_string(&writer, "reasoning.encrypted_content");
		json_write_array_end(&writer);
	}
	json_write_key(&writer, "input");
	json_write_array_begin(&writer);
	for (size_t i = 0; i < conv->count; i++)
		write_turn(&writer, conv->turns[i]);
	json_write_array_end(&writer);
	if (conv->tool_count > 0)
		write_tools(&writer, conv);
	if (provider_schema(conv) != NULL)
		write_schema(&writer, conv, is_openai);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, err) < 0 || provider_url(request, "/responses", err) < 0)
		return (int)err->code;
	return provider_bearer(request, err);
}

/* ---- the stream ---- */

/* The position of an event in the answer; without output_index it is the item begun last. */
static int64_t index_of(const struct decoder *decoder, const struct json_value *event)
{
	int64_t index;

	return json_read_int(json_read_member(event, "output_index"), &index) ? index
									      : decoder->item;
}

static bool is_call(const struct json_value *item)
{
	return strcmp(json_get_str(item, "type"), "function_call") == 0;
}

/*
 * Reasoning with neither text nor ciphertext is only an id, which a server that stores nothing does
 * not know.
 */
static bool is_lost_thought(const struct json_value *item)
{
	return strcmp(json_get_str(item, "type"), "reasoning") == 0 &&
	       json_read_text(json_read_member(item, "encrypted_content"), NULL) == NULL &&
	       json_read_count(json_read_member(item, "content")) == 0;
}

static int take_item(struct decoder *decoder, const struct json_value *event, bool is_whole,
		     struct err *err)
{
	const struct json_value *item = json_read_member(event, "item");
	cleanup_buf struct buf thought = BUF_INIT(MODEL_BLOB_MAX);
	struct model_call *call;
	const char *arguments;
	size_t len;

	if (!is_whole && !json_read_int(json_read_member(event, "output_index"), &decoder->item))
		decoder->item++;
	if (is_call(item)) {
		if (decoder_call(decoder, index_of(decoder, event), &call, err) < 0)
			return (int)err->code;
		model_call_set_id(call, json_get_str(item, "call_id"));
		model_call_set_name(call, json_get_str(item, "name"));
		arguments = json_read_text(json_read_member(item, "arguments"), &len);
		if (arguments != NULL && call->args.len == 0 && !call->too_long)
			model_call_add(call, arguments, len);
	}
	if (!is_whole || is_lost_thought(item))
		return 0;
	if (strcmp(json_get_str(item, "type"), "reasoning") == 0 &&
	    json_read_dump(item, &thought, err) == 0)
		decoder_tell_thought(decoder, thought.data, thought.len);
	return decoder_keep(decoder, item, err);
}

static int take_arguments(struct decoder *decoder, const struct json_value *event, const char *key,
			  struct err *err)
{
	struct model_call *call;
	size_t len;
	const char *text = json_read_text(json_read_member(event, key), &len);

	if (text == NULL)
		return 0;
	if (decoder_call(decoder, index_of(decoder, event), &call, err) < 0)
		return (int)err->code;
	/* "done" repeats what the deltas had. */
	if (strcmp(key, "delta") == 0 || (call->args.len == 0 && !call->too_long))
		model_call_add(call, text, len);
	return 0;
}

static void take_end(struct decoder *decoder, const struct json_value *response)
{
	const struct json_value *usage = json_read_member(response, "usage");
	const char *reason =
		json_get_str(json_read_member(response, "incomplete_details"), "reason");
	struct model_usage *sum = &decoder->turn->usage;

	sum->in = json_get_count(usage, "input_tokens");
	sum->out = json_get_count(usage, "output_tokens");
	sum->cached =
		json_get_count(json_read_member(usage, "input_tokens_details"), "cached_tokens");
	sum->reasoning = json_get_count(json_read_member(usage, "output_tokens_details"),
					"reasoning_tokens");
	if (decoder->refused || strcmp(reason, "content_filter") == 0)
		decoder->turn->stop = MODEL_STOP_REFUSED;
	else if (reason[0] != '\0')
		decoder->turn->stop = MODEL_STOP_LENGTH;
	else
		decoder->turn->stop = MODEL_STOP_END;
	decoder->ended = true;
}

static int take_text(struct decoder *decoder, const struct json_value *event, bool is_thought,
		     struct err *err)
{
	size_t len;
	const char *text = json_read_text(json_read_member(event, "delta"), &len);

	if (text == NULL)
		return 0;
	return is_thought ? decoder_thought(decoder, text, len, err)
			  : decoder_text(decoder, text, len, err);
}

static int take_event(struct decoder *decoder, const struct json_value *event, struct err *err)
{
	const char *type = json_get_str(event, "type");

	if (strcmp(type, "error") == 0) {
		fault_judge(0, event, &decoder->fault);
		return 0;
	}
	decoder->begun = true;
	if (strcmp(type, "response.refusal.delta") == 0)
		decoder->refused = true;
	if (strcmp(type, "response.output_text.delta") == 0 ||
	    strcmp(type, "response.refusal.delta") == 0)
		return take_text(decoder, event, false, err);
	if (strcmp(type, "response.reasoning_summary_text.delta") == 0 ||
	    strcmp(type, "response.reasoning_text.delta") == 0)
		return take_text(decoder, event, true, err);
	if (strcmp(type, "response.output_item.added") == 0)
		return take_item(decoder, event, false, err);
	if (strcmp(type, "response.output_item.done") == 0)
		return take_item(decoder, event, true, err);
	if (strcmp(type, "response.function_call_arguments.delta") == 0)
		return take_arguments(decoder, event, "delta", err);
	if (strcmp(type, "response.function_call_arguments.done") == 0)
		return take_arguments(decoder, event, "arguments", err);
	if (strcmp(type, "response.failed") == 0)
		fault_judge(0, json_read_member(event, "response"), &decoder->fault);
	else if (strcmp(type, "response.completed") == 0 ||
		 strcmp(type, "response.incomplete") == 0)
		take_end(decoder, json_read_member(event, "response"));
	return 0;
}

static int event(struct decoder *decoder, const char *name, const char *data, size_t len,
		 struct err *err)
{
	(void)name; /* `type` has the same name */
	return provider_take(decoder, data, len, take_event, err);
}

const struct provider provider_responses = {
	.name = "openai-responses",
	.request = request,
	.event = event,
};
