/*
 * models.c - lists models, and estimates a request's tokens.
 *
 * Runs in:  reckon-front-gemini.
 * Reads:    bodies of any client.
 * Never:    contacts a provider.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/gemini/gemini.h"

#define LIST_MAX (1024u * 1024u)
#define BYTES_OF_TOKEN 3u

static void write_model(struct json_writer *json, const char *name)
{
	char full[GEMINI_MODEL_SIZE + 16];

	(void)snprintf(full, sizeof(full), "models/%s", name);
	json_write_object_begin(json);
	json_write_member_string(json, "name", full);
	json_write_member_string(json, "displayName", name);
	json_write_member_string(json, "version", "1");
	json_write_key(json, "supportedGenerationMethods");
	json_write_array_begin(json);
	json_write_string(json, "generateContent");
	json_write_string(json, "countTokens");
	json_write_array_end(json);
	json_write_object_end(json);
}

static int list(struct request *request, struct api_model_list_out *ret, struct call *call)
{
	return call_or_refuse(request, API_MODEL_LIST, &(struct api_model_list_in){ 0 }, ret, call);
}

void models_list(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(LIST_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_model_list_out out;
	const struct api_model *model;
	struct json_writer json;

	if (list(request, &out, &call) < 0)
		return;
	model = out.models.items;
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "models");
	json_write_array_begin(&json);
	for (size_t i = 0; i < out.models.count; i++)
		write_model(&json, model[i].name);
	json_write_array_end(&json);
	json_write_object_end(&json);
	gemini_answer(request, &json);
}

void models_show(struct request *request, const char *name)
{
	cleanup_buf struct buf body = BUF_INIT(LIST_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct api_model_list_out out;
	const struct api_model *model;
	struct json_writer json;

	if (list(request, &out, &call) < 0)
		return;
	model = out.models.items;
	for (size_t i = 0; i < out.models.count; i++)
		if (strcmp(model[i].name, name) == 0) {
			json_write_init(&json, &body);
			write_model(&json, name);
			gemini_answer(request, &json);
			return;
		}
	answer_refuse_simple(request, 404, "not_found", "there is no such model", NULL);
}

/* Only the model's server could count exactly: this is the driver's estimate. */
void models_count_tokens(struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(GEMINI_BODY_MAX), reply = BUF_INIT(256);
	cleanup_order struct order order = { .conversation = BUF_INIT(GEMINI_CONVERSATION_MAX) };
	struct err err;

	if (call_check_key(request) < 0 || request_body(request, GEMINI_BODY_MAX, &body) < 0)
		return;
	if (order_read(buf_text(&body), body.len, &order, &err) < 0) {
		answer_refuse_simple(request, 400, "invalid", err.text, NULL);
		return;
	}
	if (files_bring(request, &order) < 0)
		return;
	if (order_write(&order, &err) < 0)
		answer_refuse_simple(request, 400, "invalid", err.text, NULL);
	else if (buf_addf(&reply, &err, "{\"totalTokens\":%zu}",
			  order.conversation.len / BYTES_OF_TOKEN + 1) == 0)
		answer_text(request, 200, GEMINI_JSON, &reply, NULL);
}
