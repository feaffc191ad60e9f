/*
 * gemini.c - the wire format Gemini generateContent.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    events of a stream, hostile.
 * Never:    changes a part that is sent back: some are signed.
 */
#include <ctype.h>
#include <string.h>

#include "agent/formats/provider.h"
#include "base/cleanup.h"
#include "codec/json_get.h"

#define SIGNATURE "thoughtSignature"

static void write_text(struct json_writer *writer, const struct buf *text)
{
	json_write_object_begin(writer);
	json_write_member_text(writer, "text", buf_text(text), text->len);
	json_write_object_end(writer);
}

static void write_images(struct json_writer *writer, const struct model_turn *turn)
{
	for (size_t i = 0; i < turn->image_count; i++) {
		const struct model_image *image = &turn->images[i];

		json_write_object_begin(writer);
		json_write_key(writer, "inlineData");
		json_write_object_begin(writer);
		json_write_member_string(writer, "mimeType", image->mime);
		json_write_member_text(writer, "data", buf_text(&image->base64), image->base64.len);
		json_write_object_end(writer);
		json_write_object_end(writer);
	}
}

static void write_result(struct json_writer *writer, const struct model_turn *turn, size_t at,
			 bool is_inside)
{
	const struct model_result *result = &turn->results[at];

	json_write_object_begin(writer);
	json_write_key(writer, "functionResponse");
	json_write_object_begin(writer);
	if (!result->own_id) /* the provider sent an id */
		json_write_member_string(writer, "id", result->call_id);
	json_write_member_string(writer, "name", result->name);
	json_write_key(writer, "response");
	json_write_object_begin(writer);
	json_write_member_text(writer, result->failed ? "error" : "output", buf_text(&result->text),
			       result->text.len);
	json_write_object_end(writer);
	if (is_inside && at + 1 == turn->result_count && turn->image_count > 0) {
		json_write_key(writer, "parts");
		json_write_array_begin(writer);
		write_images(writer, turn);
		json_write_array_end(writer);
	}
	json_write_object_end(writer);
	json_write_object_end(writer);
}

/* Models before Gemini 3 accept images after a result, but not inside it. */
static void write_results(struct json_writer *writer, const struct model_turn *turn,
			  bool is_inside)
{
	if (turn->result_count > 0 && turn->results[0].call_id[0] == '\0') {
		write_text(writer, &turn->results[0].text);
		is_inside = false;
	} else {
		for (size_t i = 0; i < turn->result_count; i++)
			write_result(writer, turn, i, is_inside);
	}
	if (!is_inside)
		write_images(writer, turn);
}

/* A first call without a signature, as in a resumed conversation, gets a placeholder. */
static void write_signature(struct json_writer *writer, const struct model_call *call,
			    bool is_first)
{
	struct json_value *extra = NULL;
	const char *signature = NULL;
	struct err ignored;

	if (call->extra.len > 0 && json_read_parse(call->extra.data, call->extra.len,
						   MODEL_BLOB_MAX, &extra, &ignored) == 0)
		signature = json_read_text(json_read_member(extra, SIGNATURE), NULL);
	if (signature == NULL && is_first)
		signature = "skip_thought_signature_validator";
	if (signature != NULL)
		json_write_member_string(writer, SIGNATURE, signature);
	json_read_free(extra);
}

static void write_answer(struct json_writer *writer, const struct model_turn *turn)
{
	if (turn->blob.len > 0) {
		json_write_raw(writer, turn->blob.data, turn->blob.len);
		return;
	}
	if (turn->text.len > 0 || turn->call_count == 0)
		write_text(writer, &turn->text);
	for (size_t i = 0; i < turn->call_count; i++) {
		const struct model_call *call = &turn->calls[i];

		json_write_object_begin(writer);
		json_write_key(writer, "functionCall");
		json_write_object_begin(writer);
		if (!call->own_id)
			json_write_member_string(writer, "id", call->id);
		json_write_member_string(writer, "name", call->name);
		json_write_key(writer, "args");
		json_write_raw(writer, buf_text(&call->args), call->args.len);
		json_write_object_end(writer);
		write_signature(writer, call, i == 0);
		json_write_object_end(writer);
	}
}

static void write_turn(struct json_writer *writer, const struct model_turn *turn, bool is_inside)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "role",
				 turn->role == MODEL_ROLE_MODEL ? "model" : "user");
	json_write_key(writer, "parts");
	json_write_array_begin(writer);
	switch (turn->role) {
	case MODEL_ROLE_USER:
		write_text(writer, &turn->text);
		write_images(writer, turn);
		break;
	case MODEL_ROLE_MODEL:
		write_answer(writer, turn);
		break;
	case MODEL_ROLE_RESULTS:
		write_results(writer, turn, is_inside);
		break;
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static void write_choice(struct json_writer *writer, const struct model_sampling *sampling)
{
	json_write_key(writer, "toolConfig");
	json_write_object_begin(writer);
	json_write_key(writer, "functionCallingConfig");
	json_write_object_begin(writer);
	json_write_member_string(writer, "mode",
				 sampling->choice == MODEL_CHOICE_NONE ? "NONE" : "ANY");
	if (sampling->choice == MODEL_CHOICE_TOOL) {
		json_write_key(writer, "allowedFunctionNames");
		json_write_array_begin(writer);
		json_write_string(writer, sampling->choice_tool);
		json_write_array_end(writer);
	}
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static void write_tools(struct json_writer *writer, const struct model_conversation *conv)
{
	json_write_key(writer, "tools");
	json_write_array_begin(writer);
	json_write_object_begin(writer);
	json_write_key(writer, "functionDeclarations");
	json_write_array_begin(writer);
	for (size_t i = 0; i < conv->tool_count; i++) {
		json_write_object_begin(writer);
		provider_write_tool(writer, &conv->tools[i], "parametersJsonSchema");
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
	json_write_array_end(writer);
	if (conv->sampling.choice != MODEL_CHOICE_AUTO)
		write_choice(writer, &conv->sampling);
}

static void write_config(struct json_writer *writer, const struct model_conversation *conv,
			 uint64_t answer_tokens)
{
	json_write_key(writer, "generationConfig");
	json_write_object_begin(writer);
	json_write_member_uint(writer, "maxOutputTokens", answer_tokens);
	provider_write_number(writer, "temperature", conv->sampling.temperature);
	provider_write_number(writer, "topP", conv->sampling.top_p);
	provider_write_number(writer, "seed", conv->sampling.seed);
	provider_write_stops(writer, "stopSequences", &conv->sampling);
	if (conv->sampling.effort != NULL) {
		json_write_key(writer, "thinkingConfig");
		json_write_object_begin(writer);
		json_write_member_string(writer, "thinkingLevel", conv->sampling.effort);
		json_write_object_end(writer);
	}
	if (provider_schema(conv) != NULL) {
		json_write_member_string(writer, "responseMimeType", "application/json");
		json_write_key(writer, "responseJsonSchema");
		json_write_raw(writer, provider_schema(conv), strlen(provider_schema(conv)));
	}
	json_write_object_end(writer);
}

/* The model's name is part of the URL, so it must not contain special characters. */
static int write_place(struct provider_request *request, struct err *err)
{
	const char *model = request->model;
	const bool has_version = provider_base_ends(request, "/v1beta") ||
				 provider_base_ends(request, "/v1");

	for (const char *at = model; *at != '\0'; at++)
		if (!isalnum((unsigned char)*at) && strchr("-._/", *at) == NULL)
			return err_set(err, ERR_INVALID, "invalid name of a model '%.60s'", model);
	if (strstr(model, "..") != NULL)
		return err_set(err, ERR_INVALID, "invalid name of a model '%.60s'", model);
	if (provider_url(request, has_version ? "/" : "/v1beta/", err) < 0 ||
	    buf_addf(&request->url, err, "%s%s:streamGenerateContent?alt=sse",
		     strchr(model, '/') != NULL ? "" : "models/", model) < 0)
		return (int)err->code;
	if (request->key[0] == '\0')
		return 0;
	return provider_header(request, err, "x-goog-api-key: %s", request->key);
}

static void write_system(struct json_writer *writer, const struct buf *text)
{
	json_write_key(writer, "systemInstruction");
	json_write_object_begin(writer);
	json_write_key(writer, "parts");
	json_write_array_begin(writer);
	write_text(writer, text);
	json_write_array_end(writer);
	json_write_object_end(writer);
}

static int request(const struct model_conversation *conv, struct provider_request *request,
		   struct err *err)
{
	const bool is_old = strncmp(request->model, "gemini-1", 8) == 0 ||
			    strncmp(request->model, "gemini-2", 8) == 0;
	struct json_writer writer;

	json_write_init(&writer, &request->body);
	json_write_object_begin(&writer);
	if (conv->system.len > 0)
		write_system(&writer, &conv->system);
	json_write_key(&writer, "contents");
	json_write_array_begin(&writer);
	for (size_t i = 0; i < conv->count; i++)
		write_turn(&writer, conv->turns[i], !is_old);
	json_write_array_end(&writer);
	if (conv->tool_count > 0)
		write_tools(&writer, conv);
	write_config(&writer, conv, provider_answer_tokens(request, conv));
	json_write_object_end(&writer);
	if (json_write_finish(&writer, err) < 0)
		return (int)err->code;
	return write_place(request, err);
}

/* ---- the stream ---- */

static int take_call(struct decoder *decoder, const struct json_value *function, struct err *err)
{
	const struct json_value *args = json_read_member(function, "args");
	cleanup_buf struct buf whole = BUF_INIT(MODEL_EVENT_MAX);
	struct model_call *call;

	if (decoder_call(decoder, decoder->item++, &call, err) < 0)
		return (int)err->code;
	model_call_set_id(call, json_get_str(function, "id"));
	model_call_set_name(call, json_get_str(function, "name"));
	if (args != NULL && json_read_dump(args, &whole, err) < 0)
		return (int)err->code;
	model_call_add(call, buf_text(&whole), whole.len);
	return 0;
}

static void tell_signature(const struct decoder *decoder, const struct json_value *part)
{
	const char *signature = json_read_text(json_read_member(part, SIGNATURE), NULL);
	cleanup_buf struct buf extra = BUF_INIT(MODEL_EVENT_MAX);
	struct json_writer writer;
	struct err ignored;

	if (signature == NULL)
		return;
	json_write_init(&writer, &extra);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, SIGNATURE, signature);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, &ignored) == 0)
		decoder_tell_call(decoder, decoder->turn->call_count - 1, &extra);
}

static int take_part(struct decoder *decoder, const struct json_value *part, struct err *err)
{
	const struct json_value *function = json_read_member(part, "functionCall");
	size_t len;
	const char *text = json_read_text(json_read_member(part, "text"), &len);
	bool is_thought = false;

	(void)json_read_bool(json_read_member(part, "thought"), &is_thought);
	if (text != NULL && (is_thought ? decoder_thought(decoder, text, len, err)
					: decoder_text(decoder, text, len, err)) < 0)
		return (int)err->code;
	if (function != NULL && take_call(decoder, function, err) < 0)
		return (int)err->code;
	if (function != NULL)
		tell_signature(decoder, part);
	return decoder_keep(decoder, part, err);
}

static enum model_stop stop_of(const char *reason)
{
	static const char *const malformed[] = { "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL",
						 "MALFORMED_RESPONSE" };

	if (strcmp(reason, "STOP") == 0)
		return MODEL_STOP_END;
	if (strcmp(reason, "MAX_TOKENS") == 0)
		return MODEL_STOP_LENGTH;
	for (size_t i = 0; i < ARRAY_LEN(malformed); i++)
		if (strcmp(reason, malformed[i]) == 0)
			return MODEL_STOP_MALFORMED;
	return MODEL_STOP_REFUSED;
}

static void take_usage(struct decoder *decoder, const struct json_value *usage)
{
	struct model_usage *sum = &decoder->turn->usage;

	if (usage == NULL)
		return;
	sum->reasoning = json_get_count(usage, "thoughtsTokenCount");
	sum->in = json_get_count(usage, "promptTokenCount") +
		  json_get_count(usage, "toolUsePromptTokenCount");
	sum->out = json_get_count(usage, "candidatesTokenCount") + sum->reasoning;
	sum->cached = json_get_count(usage, "cachedContentTokenCount");
}

static int take_chunk(struct decoder *decoder, const struct json_value *chunk, struct err *err)
{
	const struct json_value *candidate =
		json_read_at(json_read_member(chunk, "candidates"), 0);
	const struct json_value *parts =
		json_read_member(json_read_member(candidate, "content"), "parts");
	const char *reason = json_get_str(candidate, "finishReason");
	const char *blocked =
		json_get_str(json_read_member(chunk, "promptFeedback"), "blockReason");

	if (json_read_member(chunk, "error") != NULL) {
		fault_judge(0, chunk, &decoder->fault);
		return 0;
	}
	decoder->begun = true;
	take_usage(decoder, json_read_member(chunk, "usageMetadata"));
	for (size_t i = 0; i < json_read_count(parts); i++)
		if (take_part(decoder, json_read_at(parts, i), err) < 0)
			return (int)err->code;
	if (reason[0] != '\0' || blocked[0] != '\0') {
		decoder->turn->stop = reason[0] != '\0' ? stop_of(reason) : MODEL_STOP_REFUSED;
		decoder->ended = true;
	}
	return 0;
}

static int event(struct decoder *decoder, const char *name, const char *data, size_t len,
		 struct err *err)
{
	(void)name;
	return provider_take(decoder, data, len, take_chunk, err);
}

const struct provider provider_gemini = {
	.name = "gemini",
	.request = request,
	.event = event,
};
