/*
 * order.c - parses a request of generateContent: its conversation and options.
 *
 * Runs in:  reckon-front-gemini and tests.
 * Reads:    JSON of any client.
 * Never:    accepts an option that it cannot honour: it refuses it by name.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/gemini/gemini.h"
#include "dialects/model_api.h"

#define EFFORT_LARGE 16384

void order_done(struct order *order)
{
	model_api_order_done(&order->body, &order->conversation, &order->arena);
}

/* ---- sampling ------------------------------------------------------------------------------- */

static int write_number(const struct json_value *config, const char *from, const char *to,
			struct json_writer *writer, struct err *err)
{
	const struct json_value *value = order_member(config, from);
	cleanup_buf struct buf json = BUF_INIT(64);

	if (json_read_kind(value) == JSON_KIND_NULL)
		return 0;
	if (json_read_kind(value) != JSON_KIND_NUMBER || json_read_dump(value, &json, err) < 0)
		return err_set(err, ERR_INVALID, "generationConfig.%s: it is a number", from);
	json_write_key(writer, to);
	json_write_raw(writer, buf_text(&json), json.len);
	return 0;
}

/* The reasoning effort, in the words that other providers use; `ret` has at least 32 bytes. */
static const char *effort_of(const struct json_value *config, struct order *order, char *ret)
{
	const struct json_value *thinking = order_member(config, "thinkingConfig");
	const char *level = order_text(thinking, "thinkingLevel");
	int64_t tokens = 0;
	size_t len = 0;

	(void)json_read_bool(order_member(thinking, "includeThoughts"), &order->shows_thoughts);
	if (level != NULL && strcmp(level, "THINKING_LEVEL_UNSPECIFIED") != 0) {
		for (; len < 31 && level[len] != '\0'; len++)
			ret[len] = (char)(level[len] >= 'A' && level[len] <= 'Z'
						  ? level[len] - 'A' + 'a'
						  : level[len]);
		ret[len] = '\0';
		return ret;
	}
	if (!json_read_int(order_member(thinking, "thinkingBudget"), &tokens) || tokens <= 0)
		return NULL;
	return tokens >= EFFORT_LARGE ? "high" : "medium";
}

/* Refuses options that would require a different answer. */
static int refuse_config(const struct json_value *config, struct err *err)
{
	static const char *const keys[] = { "responseSchema", "responseJsonSchema", "speechConfig",
					    "imageConfig" };
	const struct json_value *modalities = order_member(config, "responseModalities");
	const char *mime = order_text(config, "responseMimeType");
	int64_t candidates = 1;

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (json_read_kind(order_member(config, keys[i])) != JSON_KIND_NULL)
			return err_set(err, ERR_INVALID, "generationConfig.%s: it is not supported "
				       "here", keys[i]);
	if (mime != NULL && strcmp(mime, "text/plain") != 0)
		return err_set(err, ERR_INVALID, "generationConfig.responseMimeType: only "
			       "text/plain is supported here");
	(void)json_read_int(order_member(config, "candidateCount"), &candidates);
	if (candidates != 1)
		return err_set(err, ERR_INVALID, "generationConfig.candidateCount: there is one "
			       "candidate");
	for (size_t i = 0; i < json_read_count(modalities); i++) {
		const char *kind = json_read_text(json_read_at(modalities, i), NULL);

		if (kind == NULL || (strcmp(kind, "TEXT") != 0 && strcmp(kind, "IMAGE") != 0))
			return err_set(err, ERR_INVALID, "generationConfig.responseModalities: "
				       "only TEXT is supported here");
	}
	return 0;
}

static int write_sampling(struct order *order, const struct json_value *body,
			  struct json_writer *writer, struct err *err)
{
	const struct json_value *config = order_member(body, "generationConfig");
	const struct json_value *most = order_member(config, "maxOutputTokens");
	const struct json_value *stops = order_member(config, "stopSequences");
	char level[32];
	const char *effort = effort_of(config, order, level);
	int64_t tokens = 0;

	if (json_read_kind(most) != JSON_KIND_NULL && (!json_read_int(most, &tokens) || tokens < 1))
		return err_set(err, ERR_INVALID, "generationConfig.maxOutputTokens: it is a number "
			       "from 1 on");
	if (refuse_config(config, err) < 0)
		return (int)err->code;
	json_write_key(writer, "sampling");
	json_write_object_begin(writer);
	if (write_number(config, "temperature", "temperature", writer, err) < 0 ||
	    write_number(config, "topP", "top_p", writer, err) < 0 ||
	    write_number(config, "seed", "seed", writer, err) < 0)
		return (int)err->code;
	model_api_end_sampling(writer, tokens, effort, stops);
	return 0;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int write_instructions(const struct json_value *body, struct json_writer *writer,
			      struct err *err)
{
	const struct json_value *system = order_member(body, "systemInstruction");
	cleanup_buf struct buf text = BUF_INIT(GEMINI_CONVERSATION_MAX);

	if (json_read_kind(system) == JSON_KIND_NULL)
		return 0;
	if (contents_text(system, &text, err) < 0)
		return err_wrap(err, "systemInstruction");
	json_write_member_text(writer, "instructions", buf_text(&text), text.len);
	return 0;
}

/* For countTokens the request is a member of the body. */
static const struct json_value *request_of(const struct order *order)
{
	const struct json_value *inner = order_member(order->body, "generateContentRequest");

	return json_read_kind(inner) == JSON_KIND_OBJECT ? inner : order->body;
}

int order_write(struct order *order, struct err *err)
{
	const struct json_value *body = request_of(order);
	struct json_writer writer;

	json_write_init(&writer, &order->conversation);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "schema", "reckon.conversation/1");
	if (write_instructions(body, &writer, err) < 0 ||
	    tools_write(body, order, &writer, err) < 0 ||
	    write_sampling(order, body, &writer, err) < 0 ||
	    contents_write(order_member(body, "contents"), order, &writer, err) < 0)
		return (int)err->code;
	json_write_object_end(&writer);
	return json_write_finish(&writer, err);
}

int order_read(const char *json, size_t len, struct order *ret, struct err *err)
{
	const struct json_value *contents;

	if (json_read_parse(json, len, GEMINI_BODY_MAX, &ret->body, err) < 0)
		return (int)err->code;
	if (json_read_kind(ret->body) != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID, "the body is a JSON object");
	contents = order_member(request_of(ret), "contents");
	if (json_read_count(contents) == 0)
		return err_set(err, ERR_INVALID, "contents: at least one content is required");
	if (json_read_kind(order_member(request_of(ret), "cachedContent")) != JSON_KIND_NULL)
		return err_set(err, ERR_INVALID, "cachedContent: nothing is cached here");
	ret->runs_code = tools_run_code(request_of(ret));
	return data_stored(contents, ret, err);
}
