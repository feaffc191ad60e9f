/*
 * answer.c - writes a call's result as the answer of a request.
 *
 * Runs in:  reckon-front-native.
 * Reads:    results of reckond.
 * Never:    loads a result that came as a file: it sends the file unchanged.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/check.h"
#include "api/json_out.h"
#include "base/cleanup.h"
#include "dialects/native/native.h"

#define OUT_MAX ((size_t)64 * 1024 * 1024)

bool native_wants(const struct request *request, const char *media)
{
	const char *accept = http_header(request_head(request), "accept");

	return accept != NULL && strcasecmp(accept, media) == 0;
}

/* The ETag header if the answer has an `etag`, else "". */
static const char *etag_header(const struct api_call *row, const void *out, char *text, size_t size)
{
	const struct api_type *gives = row->gives;

	text[0] = '\0';
	for (size_t i = 0; i < gives->count; i++) {
		const struct api_field *field = &gives->fields[i];

		if (field->kind == API_TEXT && strcmp(field->name, "etag") == 0 &&
		    api_is_given(field, out))
			(void)snprintf(text, size, "ETag: \"%s\"\r\n",
				       *(const char *const *)api_at(field, out));
	}
	return text;
}

void native_answer(const struct native *native, const void *out, const struct call *call)
{
	cleanup_buf struct buf text = BUF_INIT(OUT_MAX);
	struct request *request = native->request;
	const struct api_call *row = native->call;
	const unsigned status = api_status(row, out);
	const char *media = row->media != NULL ? row->media : NATIVE_JSON;
	char headers[128];
	struct err err;

	if (call->apart_len > 0) {
		if (answer_begin(request, status, media, call->apart_len, NULL) == 0 &&
		    answer_file(request, call->reply.fd, 0, call->apart_len) == 0)
			answer_end(request);
	} else if (api_write_body(row, out, &text, &err) < 0) {
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
	} else {
		answer_text(request, status, media, &text,
			    etag_header(row, out, headers, sizeof(headers)));
	}
}
