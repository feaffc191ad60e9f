/*
 * stored.c - a response's stored document, in addition to its run.
 *
 * Runs in:  reckon-front-openai.
 * Reads:    ids that any client may have invented; documents of the tenant, which its other clients
 *           may have changed.
 * Never:    fails a response because it cannot be stored.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/openai/responses/response.h"

#define COLLECTION OPENAI_RESPONSES
#define RETENTION_MS (UINT64_C(30) * 24 * 3600 * 1000)
#define VALUE_MAX (1024u * 1024u)

/* ---- writing -------------------------------------------------------------------------------- */

static void write_value(struct json_writer *json, const char *key, const struct json_value *value)
{
	cleanup_buf struct buf dumped = BUF_INIT(VALUE_MAX);
	struct err full; /* a document cannot hold it either */

	json_write_key(json, key);
	if (json_read_dump(value, &dumped, &full) == 0)
		json_write_raw(json, buf_text(&dumped), dumped.len);
	else
		json_write_null(json);
}

/* Writes the request without its input, so that it can be parsed again. */
static void write_request(struct json_writer *json, const struct json_value *body)
{
	const struct json_value *value;
	const char *key;

	json_write_key(json, "request");
	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(body, i, &key, &value); i++)
		if (strcmp(key, "input") != 0)
			write_value(json, key, value);
	json_write_member_string(json, "input", "");
	json_write_object_end(json);
}

/* Leaves out the input if everything together is too large for a document. */
static int write_document(const struct response *response, const struct buf *whole, bool has_input,
			  struct buf *ret, struct err *err)
{
	const struct json_value *body = response->order->body;
	const struct json_value *from = response->document != NULL ? response->document : body;
	struct json_writer json;

	buf_clear(ret);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_uint(&json, "created_at", response->created_s);
	write_request(&json, body);
	if (has_input)
		write_value(&json, "input", json_read_member(from, "input"));
	if (whole != NULL) {
		json_write_key(&json, "response");
		json_write_raw(&json, buf_text(whole), whole->len);
	}
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

int stored_keep(struct request *request, const struct response *response, const struct buf *whole)
{
	cleanup_buf struct buf value = BUF_INIT(VALUE_MAX);
	cleanup_call struct call call = CALL_INIT;
	struct err err;

	if (write_document(response, whole, true, &value, &err) < 0 &&
	    write_document(response, whole, false, &value, &err) < 0)
		return -1;
	return call_make(request, API_DOCUMENT_PUT,
			 &(struct api_document_put_in){ .collection = COLLECTION,
							.id = response->id,
							.value = { value.data, value.len },
							.has_expires_in_ms = true,
							.expires_in_ms = RETENTION_MS },
			 NULL, &call) == CALL_OK
		       ? 0
		       : -1;
}

int stored_mark_cancelled(struct request *request, const char *id)
{
	static char mark[] = "{\"is_cancelled\":true}";
	cleanup_call struct call call = CALL_INIT;

	return call_or_refuse(
		request, API_DOCUMENT_PATCH,
		&(struct api_document_patch_in){ .collection = COLLECTION,
						 .id = name_id(id),
						 .value = { mark, sizeof(mark) - 1 } },
		NULL, &call);
}

/* ---- reading -------------------------------------------------------------------------------- */

int stored_find(struct request *request, const char *id, struct json_value **ret)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_document document;
	struct err err;

	if (call_or_refuse(
		    request, API_DOCUMENT_GET,
		    &(struct api_document_get_in){ .collection = COLLECTION, .id = name_id(id) },
		    &document, &call) < 0)
		return -1;
	if (json_read_parse(document.value.data, document.value.len, OPENAI_OUT_MAX, ret, &err) ==
	    0)
		return 0;
	answer_refuse_simple(request, 500, "internal", err.text, NULL);
	return -1;
}
