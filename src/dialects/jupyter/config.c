/*
 * config.c - settings that clients keep at a Jupyter server: one JSON object per name.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    names and objects of any client.
 * Never:    looks into them: they are documents of the tenant.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/jupyter/server.h"

#define COLLECTION "jupyter-config"

static void answer_value(struct request *request, const struct api_bytes *value)
{
	cleanup_buf struct buf body = BUF_INIT(ANSWER_MAX);
	struct err err;

	if (buf_add(&body, value->data, value->len, &err) < 0)
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	else
		answer_text(request, 200, SERVER_JSON, &body, NULL);
}

static void show(struct request *request, const char *name)
{
	static char empty[] = "{}";
	cleanup_call struct call call = CALL_INIT;
	struct api_document document;
	const enum call_status status = call_make(
		request, API_DOCUMENT_GET,
		&(struct api_document_get_in){ .collection = COLLECTION, .id = name }, &document,
		&call);

	if (status == CALL_OK)
		answer_value(request, &document.value);
	else if (status == CALL_FAILED && call.failure->error == API_ERR_NOT_FOUND)
		answer_value(request, &(struct api_bytes){ empty, 2 });
	else if (status == CALL_FAILED)
		call_refuse(request, call.failure);
}

/* 0: merged; 1: no document yet; negative: answered with an error, or the client is gone. */
static int merge(struct request *request, const char *name, const struct buf *value)
{
	cleanup_call struct call call = CALL_INIT;
	const enum call_status status =
		call_make(request, API_DOCUMENT_PATCH,
			  &(struct api_document_patch_in){ .collection = COLLECTION,
							   .id = name,
							   .value = { value->data, value->len } },
			  NULL, &call);

	if (status == CALL_FAILED && call.failure->error == API_ERR_NOT_FOUND)
		return 1;
	if (status == CALL_FAILED)
		call_refuse(request, call.failure);
	return status == CALL_OK ? 0 : -1;
}

static void change(struct request *request, const char *name, bool is_merged)
{
	cleanup_json struct json_value *given = NULL;
	cleanup_buf struct buf value = BUF_INIT(SERVER_BODY_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct err err;
	int code;

	if (server_take_object(request, SERVER_BODY_MAX, &given) < 0)
		return;
	code = given != NULL ? json_read_dump(given, &value, &err)
			     : buf_adds(&value, "{}", &err);
	if (code < 0) {
		answer_refuse_invalid(request, &err);
		return;
	}
	code = is_merged ? merge(request, name, &value) : 1;
	if (code == 1)
		code = call_or_refuse(request, API_DOCUMENT_PUT,
				      &(struct api_document_put_in){
					      .collection = COLLECTION,
					      .id = name,
					      .value = { value.data, value.len } },
				      NULL, &call);
	if (code == 0)
		show(request, name);
}

/* `rest`: the path after /api/config. */
void config_route(struct request *request, const char *rest)
{
	const enum http_verb verb = request_head(request)->verb;
	const char *name = rest[0] == '/' ? rest + 1 : "";

	if (name[0] == '\0' || strchr(name, '/') != NULL)
		answer_refuse_simple(request, 404, "not_found", "there is nothing here", NULL);
	else if (verb == HTTP_VERB_GET && server_take_nothing(request) == 0)
		show(request, name);
	else if (verb == HTTP_VERB_PUT || verb == HTTP_VERB_PATCH)
		change(request, name, verb == HTTP_VERB_PATCH);
	else if (verb != HTTP_VERB_GET)
		answer_refuse_simple(request, 405, "not_found", "this method does nothing here",
				     NULL);
}
