/*
 * messages.c - the wire format Anthropic Messages.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    events of a stream, hostile.
 * Never:    changes a block that is sent back: thoughts are signed.
 *
 * The system text and the newest results are marked for the prompt cache, so the next request of
 * the loop pays a tenth of the price for what is before them.
 */
#include <string.h>

#include "agent/formats/provider.h"
#include "base/cleanup.h"
#include "codec/json_get.h"

#define VERSION "2023-06-01" /* the version that all servers of this protocol support */

static void write_cache_mark(struct json_writer *writer)
{
	json_write_key(writer, "cache_control");
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "ephemeral");
	json_write_object_end(writer);
}

static void write_text(struct json_writer *writer, const struct buf *text, bool is_marked)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "text");
	json_write_member_text(writer, "text", buf_text(text), text->len);
	if (is_marked)
		write_cache_mark(writer);
	json_write_object_end(writer);
}

static void write_image(struct json_writer *writer, const struct model_image *image)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "image");
	json_write_key(writer, "source");
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "base64");
	json_write_member_string(writer, "media_type", image->mime);
	json_write_member_text(writer, "data", buf_text(&image->base64), image->base64.len);
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static void write_images(struct json_writer *writer, const struct model_turn *turn)
{
	for (size_t i = 0; i < turn->image_count; i++)
		write_image(writer, &turn->images[i]);
}

static void write_result(struct json_writer *writer, const struct model_turn *turn, size_t at,
			 bool is_marked)
{
	const struct model_result *result = &turn->results[at];

	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "tool_result");
	json_write_member_string(writer, "tool_use_id", result->call_id);
	json_write_member_bool(writer, "is_error", result->failed);
	json_write_key(writer, "content");
	json_write_array_begin(writer);
	write_text(writer, &result->text, false);
	if (at + 1 == turn->result_count)
		write_images(writer, turn);
	json_write_array_end(writer);
	if (is_marked && at + 1 == turn->result_count)
		write_cache_mark(writer);
	json_write_object_end(writer);
}

static void write_user(struct json_writer *writer, const struct model_turn *turn, bool is_marked)
{
	json_write_array_begin(writer);
	if (turn->role == MODEL_ROLE_USER) {
		write_text(writer, &turn->text, is_marked);
		write_images(writer, turn);
	} else if (turn->result_count > 0 && turn->results[0].call_id[0] == '\0') {
		write_text(writer, &turn->results[0].text, is_marked);
		write_images(writer, turn);
	} else {
		for (size_t i = 0; i < turn->result_count; i++)
			write_result(writer, turn, i, is_marked);
	}
	json_write_array_end(writer);
}

static void write_call(struct json_writer *writer, const struct model_call *call)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "tool_use");
	json_write_member_string(writer, "id", call->id != NULL ? call->id : "");
	json_write_member_string(writer, "name", call->name != NULL ? call->name : "");
	json_write_key(writer, "input");
	json_write_raw(writer, buf_text(&call->args), call->args.len);
	json_write_object_end(writer);
}

static void write_answer(struct json_writer *writer, const struct model_turn *turn)
{
	json_write_array_begin(writer);
	if (provider_blob_holds(turn)) {
		json_write_raw(writer, turn->blob.data, turn->blob.len);
		json_write_array_end(writer);
		return;
	}
	if (turn->sealed.len > 0)
		json_write_raw(writer, turn->sealed.data, turn->sealed.len);
	/* A block without text is refused. */
	if (turn->text.len > 0)
		write_text(writer, &turn->text, false);
	for (size_t i = 0; i < turn->call_count; i++)
		write_call(writer, &turn->calls[i]);
	json_write_array_end(writer);
}

static void write_turn(struct json_writer *writer, const struct model_turn *turn, bool is_last)
{
	const bool is_model = turn->role == MODEL_ROLE_MODEL;

	if (is_model && turn->text.len == 0 && turn->call_count == 0 && turn->blob.len == 0)
		return; /* an empty turn cannot be sent */
	json_write_object_begin(writer);
	json_write_member_string(writer, "role", is_model ? "assistant" : "user");
	json_write_key(writer, "content");
	if (is_model)
		write_answer(writer, turn);
	else
		write_user(writer, turn, is_last);
	json_write_object_end(writer);
}

static void write_tools(struct json_writer *writer, const struct model_conversation *conv)
{
	static const char *const choices[] = { [MODEL_CHOICE_AUTO] = "auto",
					       [MODEL_CHOICE_NONE] = "none",
					       [MODEL_CHOICE_REQUIRED] = "any",
					       [MODEL_CHOICE_TOOL] = "tool" };
	const struct model_sampling *sampling = &conv->sampling;

	json_write_key(writer, "tools");
	json_write_array_begin(writer);
	for (size_t i = 0; i < conv->tool_count; i++) {
		json_write_object_begin(writer);
		provider_write_tool(writer, &conv->tools[i], "input_schema");
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_key(writer, "tool_choice");
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", choices[sampling->choice]);
	if (sampling->choice == MODEL_CHOICE_TOOL)
		json_write_member_string(writer, "name", sampling->choice_tool);
	if (sampling->one_call && sampling->choice != MODEL_CHOICE_NONE)
		json_write_member_bool(writer, "disable_parallel_tool_use", true);
	json_write_object_end(writer);
}

static void write_sampling(struct json_writer *writer, const struct model_sampling *sampling)
{
	provider_write_number(writer, "temperature", sampling->temperature);
	provider_write_number(writer, "top_p", sampling->top_p);
	provider_write_stops(writer, "stop_sequences", sampling);
	if (sampling->effort == NULL)
		return;
	json_write_key(writer, "thinking");
	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "adaptive");
	json_write_object_end(writer);
}

static void write_output(struct json_writer *writer, const struct model_conversation *conv)
{
	const char *effort = conv->sampling.effort;

	json_write_key(writer, "output_config");
	json_write_object_begin(writer);
	if (effort != NULL)
		json_write_member_string(writer, "effort", effort);
	if (provider_schema(conv) != NULL) {
		json_write_key(writer, "format");
		json_write_object_begin(writer);
		json_write_member_string(writer, "type", "json_schema");
		provider_write_schema(writer, conv, false);
		json_write_object_end(writer);
	}
	json_write_object_end(writer);
}

static int write_place(struct provider_request *request, struct err *err)
{
	const bool has_version = provider_base_ends(request, "/v1");

	if (provider_url(request, has_version ? "/messages" : "/v1/messages", err) < 0 ||
	    provider_header(request, err, "anthropic-version: " VERSION) < 0)
		return (int)err->code;
	if (request->key[0] == '\0')
		return 0;
	return provider_header(request, err, "x-api-key: %s", request->key);
}

static int request(const struct model_conversation *conv, struct provider_request *request,
		   struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, &request->body);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "model", request->model);
	json_write_member_uint(&writer, "max_tokens", provider_answer_tokens(request, conv));
	json_write_member_bool(&writer, "stream", true);
	write_sampling(&writer, &conv->sampling);
	if (conv->system.len > 0) {
		json_write_key(&writer, "system");
		json_write_array_begin(&writer);
		write_text(&writer, &conv->system, true);
		json_write_array_end(&writer);
	}
	json_write_key(&writer, "messages");
	json_write_array_begin(&writer);
	for (size_t i = 0; i < conv->count; i++)
		write_turn(&writer, conv->turns[i], i + 1 == conv->count);
	json_write_array_end(&writer);
	if (conv->tool_count > 0)
		write_tools(&writer, conv);
	if (provider_schema(conv) != NULL || conv->sampling.effort != NULL)
		write_output(&writer, conv);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, err) < 0)
		return (int)err->code;
	return write_place(request, err);
}

/* ---- the stream ---- */

static void take_usage(struct decoder *decoder, const struct json_value *usage)
{
	const uint64_t read = json_get_count(usage, "cache_read_input_tokens");
	const uint64_t written = json_get_count(usage, "cache_creation_input_tokens");
	const uint64_t in = json_get_count(usage, "input_tokens") + read + written;
	const uint64_t out = json_get_count(usage, "output_tokens");
	struct model_usage *sum = &decoder->turn->usage;

	/* Counts are cumulative; the last event may omit what the first one had. */
	if (in > 0) {
		sum->in = in;
		sum->cached = read;
		sum->written = written;
	}
	if (out > 0)
		sum->out = out;
	sum->reasoning =
		json_get_count(json_read_member(usage, "output_tokens_details"), "thinking_tokens");
}

static enum model_stop stop_of(const char *reason)
{
	if (strcmp(reason, "max_tokens") == 0 ||
	    strcmp(reason, "model_context_window_exceeded") == 0)
		return MODEL_STOP_LENGTH;
	if (strcmp(reason, "refusal") == 0)
		return MODEL_STOP_REFUSED;
	if (strcmp(reason, "pause_turn") == 0)
		return MODEL_STOP_PAUSED;
	return MODEL_STOP_END;
}

static enum decoder_block kind_of(const char *type)
{
	if (strcmp(type, "text") == 0)
		return DECODER_BLOCK_TEXT;
	if (strcmp(type, "thinking") == 0)
		return DECODER_BLOCK_THOUGHT;
	if (strcmp(type, "tool_use") == 0)
		return DECODER_BLOCK_CALL;
	return DECODER_BLOCK_OTHER;
}

/* Reads the initial content of a block, which is empty on most servers. */
static int begin_block(struct decoder *decoder, const struct json_value *event, struct err *err)
{
	const struct json_value *block = json_read_member(event, "content_block");
	struct model_call *call;
	const char *text;
	size_t len;

	decoder->item = 0;
	(void)json_read_int(json_read_member(event, "index"), &decoder->item);
	decoder->block = kind_of(json_get_str(block, "type"));
	decoder->text_from = decoder->turn->text.len;
	decoder->thoughts_from = decoder->turn->thoughts.len;
	buf_clear(&decoder->scratch);
	switch (decoder->block) {
	case DECODER_BLOCK_TEXT:
		text = json_read_text(json_read_member(block, "text"), &len);
		return text != NULL ? decoder_text(decoder, text, len, err) : 0;
	case DECODER_BLOCK_THOUGHT:
		text = json_read_text(json_read_member(block, "thinking"), &len);
		return text != NULL ? decoder_thought(decoder, text, len, err) : 0;
	case DECODER_BLOCK_CALL:
		if (decoder_call(decoder, decoder->item, &call, err) < 0)
			return (int)err->code;
		model_call_set_id(call, json_get_str(block, "id"));
		model_call_set_name(call, json_get_str(block, "name"));
		/* {} means that the arguments follow in pieces. */
		if (json_read_count(json_read_member(block, "input")) > 0)
			return json_read_dump(json_read_member(block, "input"), &call->args, err);
		return 0;
	case DECODER_BLOCK_OTHER:
		return json_read_dump(block, &decoder->scratch, err);
	case DECODER_BLOCK_NONE:
		break;
	}
	return 0;
}

static int take_delta(struct decoder *decoder, const struct json_value *delta, struct err *err)
{
	const char *type = json_get_str(delta, "type");
	struct model_call *call;
	const char *text;
	size_t len;

	if (strcmp(type, "text_delta") == 0) {
		text = json_read_text(json_read_member(delta, "text"), &len);
		return text != NULL ? decoder_text(decoder, text, len, err) : 0;
	}
	if (strcmp(type, "thinking_delta") == 0) {
		text = json_read_text(json_read_member(delta, "thinking"), &len);
		return text != NULL ? decoder_thought(decoder, text, len, err) : 0;
	}
	if (strcmp(type, "signature_delta") == 0 && decoder->block == DECODER_BLOCK_THOUGHT) {
		text = json_read_text(json_read_member(delta, "signature"), &len);
		return text != NULL ? buf_add(&decoder->scratch, text, len, err) : 0;
	}
	if (strcmp(type, "input_json_delta") == 0 && decoder->block == DECODER_BLOCK_CALL) {
		text = json_read_text(json_read_member(delta, "partial_json"), &len);
		if (decoder_call(decoder, decoder->item, &call, err) < 0)
			return (int)err->code;
		if (text != NULL)
			model_call_add(call, text, len);
	}
	return 0;
}

static void write_thought(struct json_writer *writer, const struct decoder *decoder)
{
	const struct buf *all = &decoder->turn->thoughts;

	json_write_object_begin(writer);
	json_write_member_string(writer, "type", "thinking");
	json_write_member_text(writer, "thinking", buf_text(all) + decoder->thoughts_from,
			       all->len - decoder->thoughts_from);
	json_write_member_text(writer, "signature", buf_text(&decoder->scratch),
			       decoder->scratch.len);
	json_write_object_end(writer);
}

/* Keeps the block in the form in which it is sent back. */
static int end_block(struct decoder *decoder, struct err *err)
{
	cleanup_buf struct buf block = BUF_INIT(MODEL_BLOB_MAX);
	const struct buf *text = &decoder->turn->text;
	struct json_writer writer;
	struct model_call *call;
	bool is_thought = false;

	json_write_init(&writer, &block);
	switch (decoder->block) {
	case DECODER_BLOCK_NONE:
		return 0;
	case DECODER_BLOCK_TEXT:
		if (text->len == decoder->text_from)
			return 0; /* an empty block is refused */
		json_write_object_begin(&writer);
		json_write_member_string(&writer, "type", "text");
		json_write_member_text(&writer, "text", buf_text(text) + decoder->text_from,
				       text->len - decoder->text_from);
		json_write_object_end(&writer);
		break;
	case DECODER_BLOCK_THOUGHT:
		write_thought(&writer, decoder);
		/* a thought without a signature is refused */
		is_thought = decoder->scratch.len > 0;
		break;
	case DECODER_BLOCK_CALL:
		if (decoder_call(decoder, decoder->item, &call, err) < 0 ||
		    model_call_settle(call, "code", err) < 0)
			return (int)err->code;
		write_call(&writer, call);
		break;
	case DECODER_BLOCK_OTHER:
		json_write_raw(&writer, buf_text(&decoder->scratch), decoder->scratch.len);
		is_thought = memmem(buf_text(&decoder->scratch), decoder->scratch.len,
				    "\"redacted_thinking\"", 19) != NULL;
		break;
	}
	decoder->block = DECODER_BLOCK_NONE;
	if (json_write_finish(&writer, err) < 0)
		return (int)err->code;
	if (is_thought)
		decoder_tell_thought(decoder, block.data, block.len);
	return decoder_keep_text(decoder, block.data, block.len, err);
}

static int take_event(struct decoder *decoder, const struct json_value *event, struct err *err)
{
	const char *type = json_get_str(event, "type");
	const struct json_value *delta = json_read_member(event, "delta");
	const char *reason;

	if (strcmp(type, "error") == 0) {
		fault_judge(0, event, &decoder->fault);
		return 0;
	}
	if (strcmp(type, "ping") == 0)
		return 0;
	decoder->begun = true;
	if (strcmp(type, "message_start") == 0)
		take_usage(decoder, json_read_member(json_read_member(event, "message"), "usage"));
	else if (strcmp(type, "content_block_start") == 0)
		return begin_block(decoder, event, err);
	else if (strcmp(type, "content_block_delta") == 0)
		return take_delta(decoder, delta, err);
	else if (strcmp(type, "content_block_stop") == 0)
		return end_block(decoder, err);
	else if (strcmp(type, "message_stop") == 0)
		decoder->ended = true;
	if (strcmp(type, "message_delta") == 0) {
		take_usage(decoder, json_read_member(event, "usage"));
		reason = json_get_str(delta, "stop_reason");
		if (reason[0] != '\0')
			decoder->turn->stop = stop_of(reason);
	}
	return 0;
}

static int event(struct decoder *decoder, const char *name, const char *data, size_t len,
		 struct err *err)
{
	(void)name; /* `type` has the same name */
	return provider_take(decoder, data, len, take_event, err);
}

const struct provider provider_messages = {
	.name = "anthropic",
	.request = request,
	.event = event,
};
