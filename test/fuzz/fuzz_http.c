/*
 * fuzz_http.c - HTTP requests of any client parse the same, however they are split.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes; the first one selects the piece size.
 * Never:    uses a socket.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/http.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MESSAGES_MAX 16

struct outcome {
	uint64_t hash;
	unsigned messages;
	unsigned status;
};

static void mix(struct outcome *outcome, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		outcome->hash = (outcome->hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

static int take_body(struct http *http, const char *bytes, size_t len, void *arg)
{
	(void)http;
	mix(arg, bytes, len);
	return 0;
}

static void take_head(struct http *http, struct outcome *outcome)
{
	char text[64], name[32];
	const char *at = http->query;
	uint64_t first = 0, length = 0;
	struct err err;

	if (http->path[0] != '/' || strpbrk(http->path, " \r\n\t") != NULL ||
	    http->header_count > HTTP_HEADERS_MAX)
		abort();
	if (http_header(http, "content-length") != NULL && http->is_chunked)
		abort();
	mix(outcome, http->path, strlen(http->path));
	for (size_t i = 0; i < http->header_count; i++) {
		const char *value = http->header[i].value;

		if (strpbrk(value, "\r\n") != NULL || http->header[i].name[0] == '\0')
			abort();
		mix(outcome, value, strlen(value));
		if (http_range(value, 1000, &first, &length, &err) == 1 &&
		    (length == 0 || first + length > 1000))
			abort();
	}
	while (http_query_next(&at, name, sizeof(name), text, sizeof(text), &err) > 0)
		mix(outcome, text, strlen(text));
	http->body_max = 4096;
	http->body_fn = take_body;
	http->body_arg = outcome;
}

static struct outcome run(const uint8_t *data, size_t size, size_t piece)
{
	struct outcome outcome = { .hash = 0xcbf29ce484222325u };
	enum http_step step = HTTP_STEP_MORE;
	struct http http;
	size_t at = 0, used;

	http_init(&http);
	while (outcome.messages < MESSAGES_MAX) {
		const size_t len = size - at < piece ? size - at : piece;

		step = http_feed(&http, (const char *)data + at, len, &used);
		if (used > len)
			abort();
		at += used;
		if (step == HTTP_STEP_BAD || (step == HTTP_STEP_MORE && len == 0))
			break;
		if (step == HTTP_STEP_HEAD)
			take_head(&http, &outcome);
		if (step == HTTP_STEP_DONE) {
			outcome.messages++;
			http_reset(&http);
		}
	}
	if (step == HTTP_STEP_BAD) {
		outcome.status = http.status;
		if (http.status < 400 || http.status > 599 || http.err.text[0] == '\0')
			abort();
	}
	http_done(&http);
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, cut;

	if (size == 0)
		return 0;
	whole = run(data + 1, size - 1, size);
	cut = run(data + 1, size - 1, data[0] % 32u + 1u);
	/* An invalid message may yield part of its body before the parser finds the error. */
	if (whole.messages != cut.messages || (whole.status != 0) != (cut.status != 0) ||
	    (whole.status == 0 && whole.hash != cut.hash))
		abort();
	return 0;
}
