/*
 * provider.c - functions shared by the wire formats.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    parsed JSON of a model's server.
 * Never:    writes an API key anywhere but into a header.
 */
#include "agent/formats/provider.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/formats/chat_details.h"
#include "base/cleanup.h"

#define URL_MAX 4096u
#define HEADER_MAX 8192u

int decoder_text(struct decoder *decoder, const char *text, size_t len, struct err *err)
{
	if (buf_add(&decoder->turn->text, text, len, err) < 0)
		return err_set(err, ERR_LIMIT, "an answer of more than %zu bytes", MODEL_TEXT_MAX);
	if (decoder->piece != NULL && len > 0)
		decoder->piece(text, len, false, decoder->arg);
	return 0;
}

int decoder_thought(struct decoder *decoder, const char *text, size_t len, struct err *err)
{
	if (buf_add(&decoder->turn->thoughts, text, len, err) < 0)
		return err_set(err, ERR_LIMIT, "thoughts of more than %zu bytes", MODEL_TEXT_MAX);
	if (decoder->piece != NULL && len > 0)
		decoder->piece(text, len, true, decoder->arg);
	return 0;
}

int decoder_call(struct decoder *decoder, int64_t index, struct model_call **ret, struct err *err)
{
	*ret = model_turn_call(decoder->turn, index);
	if (*ret == NULL)
		return err_set(err, ERR_LIMIT, "more than %u calls in one answer", MODEL_CALLS_MAX);
	return 0;
}

void decoder_init(struct decoder *decoder, struct model_turn *turn)
{
	*decoder = (struct decoder){ .turn = turn, .scratch = BUF_INIT(MODEL_BLOB_MAX) };
}

void decoder_done(struct decoder *decoder)
{
	buf_done(&decoder->scratch);
	details_free(decoder->details);
	decoder->details = NULL;
}

int decoder_keep_text(struct decoder *decoder, const char *json, size_t len, struct err *err)
{
	struct buf *blob = &decoder->turn->blob;

	if (blob->len > 0 && buf_addc(blob, ',', err) < 0)
		return (int)err->code;
	return buf_add(blob, json, len, err);
}

int decoder_keep(struct decoder *decoder, const struct json_value *item, struct err *err)
{
	cleanup_buf struct buf json = BUF_INIT(MODEL_BLOB_MAX);

	if (json_read_kind(item) != JSON_KIND_OBJECT)
		return 0;
	if (json_read_dump(item, &json, err) < 0)
		return (int)err->code;
	return decoder_keep_text(decoder, json.data, json.len, err);
}

static void tell(const struct decoder *decoder, const struct buf *members)
{
	if (decoder->sealed != NULL)
		decoder->sealed(members->data, members->len, decoder->arg);
}

void decoder_tell_thought(const struct decoder *decoder, const char *json, size_t len)
{
	cleanup_buf struct buf members = BUF_INIT(MODEL_BLOB_MAX);
	struct err full; /* on failure it is not sent back */

	if (buf_adds(&members, "\"items\":[", &full) == 0 &&
	    buf_add(&members, json, len, &full) == 0 && buf_addc(&members, ']', &full) == 0)
		tell(decoder, &members);
}

void decoder_tell_call(const struct decoder *decoder, size_t call, const struct buf *extra)
{
	cleanup_buf struct buf members = BUF_INIT(MODEL_BLOB_MAX);
	struct err full;

	if (buf_addf(&members, &full, "\"call\":%zu,\"extra\":", call) == 0 &&
	    buf_add(&members, buf_text(extra), extra->len, &full) == 0)
		tell(decoder, &members);
}

bool provider_blob_holds(const struct model_turn *turn)
{
	for (size_t i = 0; i < turn->call_count; i++)
		if (turn->calls[i].own_id)
			return false;
	return turn->blob.len > 0;
}

/* The length of the base URL without slashes at its end. */
static size_t base_len(const struct provider_request *request)
{
	size_t len = strlen(request->base_url);

	while (len > 0 && request->base_url[len - 1] == '/')
		len--;
	return len;
}

bool provider_base_ends(const struct provider_request *request, const char *end)
{
	const size_t len = base_len(request), end_len = strlen(end);

	return len >= end_len && memcmp(request->base_url + len - end_len, end, end_len) == 0;
}

int provider_url(struct provider_request *request, const char *path, struct err *err)
{
	const size_t len = base_len(request);

	buf_clear(&request->url);
	if (buf_add(&request->url, request->base_url, len, err) < 0)
		return (int)err->code;
	return buf_adds(&request->url, path, err);
}

int provider_header(struct provider_request *request, struct err *err, const char *fmt, ...)
{
	struct buf *header = &request->headers[request->header_count];
	char line[HEADER_MAX];
	va_list ap;
	int len;

	if (request->header_count == PROVIDER_HEADERS_MAX)
		return err_set(err, ERR_LIMIT, "too many headers");
	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (len < 0 || (size_t)len >= sizeof(line))
		return err_set(err, ERR_INVALID, "the key is too long");
	for (int i = 0; i < len; i++)
		if ((unsigned char)line[i] < 0x20 || line[i] == 0x7f)
			return err_set(err, ERR_INVALID, "the key holds a control character");
	request->header_count++;
	return buf_adds(header, line, err);
}

int provider_more_headers(struct provider_request *request, const char *headers, struct err *err)
{
	const char *end;

	for (const char *at = headers; at[0] != '\0'; at = end) {
		const char *mark = strstr(at, AGENT_HEADERS_MARK);
		const size_t len = mark != NULL ? (size_t)(mark - at) : strlen(at);

		if (provider_header(request, err, "%.*s", (int)len, at) < 0)
			return (int)err->code;
		end = at + len + (mark != NULL ? sizeof(AGENT_HEADERS_MARK) - 1 : 0);
	}
	return 0;
}

int provider_bearer(struct provider_request *request, struct err *err)
{
	if (request->key[0] == '\0')
		return 0;
	return provider_header(request, err, "Authorization: Bearer %s", request->key);
}

void provider_request_init(struct provider_request *request)
{
	*request = (struct provider_request){
		.url = BUF_INIT(URL_MAX),
		.body = BUF_INIT(MODEL_BODY_MAX),
	};
	for (size_t i = 0; i < PROVIDER_HEADERS_MAX; i++)
		request->headers[i] = BUF_INIT(HEADER_MAX);
}

void provider_request_done(struct provider_request *request)
{
	buf_done(&request->url);
	buf_done(&request->body);
	for (size_t i = 0; i < PROVIDER_HEADERS_MAX; i++) {
		/* Erase the key from memory. */
		if (request->headers[i].data != NULL)
			explicit_bzero(request->headers[i].data, request->headers[i].cap);
		buf_done(&request->headers[i]);
	}
}

int provider_take(struct decoder *decoder, const char *data, size_t len, provider_take_fn *take,
		  struct err *err)
{
	struct json_value *document = NULL;
	int rc;

	if (strcmp(data, "[DONE]") == 0)
		return 0;
	if (json_read_parse(data, len, MODEL_EVENT_MAX, &document, err) < 0)
		return (int)err->code;
	rc = take(decoder, document, err);
	json_read_free(document);
	return rc;
}

void provider_write_tool(struct json_writer *writer, const struct model_tool *tool,
			 const char *parameters)
{
	json_write_member_string(writer, "name", tool->name);
	if (tool->description != NULL)
		json_write_member_string(writer, "description", tool->description);
	json_write_key(writer, parameters);
	json_write_raw(writer, tool->parameters, strlen(tool->parameters));
}

void provider_write_number(struct json_writer *writer, const char *key, const char *number)
{
	if (number == NULL)
		return;
	json_write_key(writer, key);
	json_write_raw(writer, number, strlen(number));
}

void provider_write_stops(struct json_writer *writer, const char *key,
			  const struct model_sampling *sampling)
{
	if (sampling->stop_count == 0)
		return;
	json_write_key(writer, key);
	json_write_array_begin(writer);
	for (size_t i = 0; i < sampling->stop_count; i++)
		json_write_string(writer, sampling->stops[i]);
	json_write_array_end(writer);
}

uint64_t provider_answer_tokens(const struct provider_request *request,
				const struct model_conversation *conv)
{
	const uint64_t wanted = conv->sampling.answer_tokens;

	return wanted > 0 && wanted < request->answer_tokens ? wanted : request->answer_tokens;
}

const char *provider_schema(const struct model_conversation *conv)
{
	return conv->schema != NULL ? conv->schema : conv->sampling.schema;
}

void provider_write_schema(struct json_writer *writer, const struct model_conversation *conv,
			   bool has_name)
{
	const char *schema = provider_schema(conv);
	const bool is_ours = conv->schema != NULL;

	if (has_name)
		json_write_member_string(writer, "name",
					 is_ours ? "step" : conv->sampling.schema_name);
	if (has_name && !is_ours && conv->sampling.is_strict)
		json_write_member_bool(writer, "strict", true);
	json_write_key(writer, "schema");
	json_write_raw(writer, schema, strlen(schema));
}
