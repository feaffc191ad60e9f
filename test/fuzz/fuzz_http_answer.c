/*
 * fuzz_http_answer.c - HTTP responses of hostile servers parse the same, however split.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes; the first one selects the piece size and whether it was a HEAD.
 * Never:    uses a socket.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/http_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
	uint64_t hash, body;
	enum http_step end;
};

static int take_body(const char *bytes, size_t len, void *arg)
{
	struct outcome *outcome = arg;

	outcome->body += len;
	for (size_t i = 0; i < len; i++)
		outcome->hash = (outcome->hash ^ (uint8_t)bytes[i]) * 0x100000001b3u;
	return 0;
}

static void check_head(const struct http_answer *answer)
{
	if (answer->header_count > HTTP_ANSWER_HEADERS_MAX ||
	    (answer->status < 200 && answer->status != 101))
		abort();
	for (size_t i = 0; i < answer->header_count; i++)
		if (strpbrk(answer->header[i].value, "\r\n") != NULL ||
		    strlen(answer->header[i].value) != answer->header[i].value_len ||
		    answer->header[i].name[0] == '\0')
			abort();
}

static struct outcome run(const uint8_t *data, size_t size, size_t piece, bool is_head)
{
	struct outcome outcome = { .hash = 0xcbf29ce484222325u };
	struct http_answer answer;
	size_t at = 0, used;

	http_answer_init(&answer, is_head);
	for (;;) {
		const size_t len = size - at < piece ? size - at : piece;
		const enum http_step step =
			http_answer_feed(&answer, (const char *)data + at, len, &used);

		if (used > len)
			abort();
		at += used;
		if (step == HTTP_STEP_HEAD) {
			check_head(&answer);
			answer.body_fn = take_body;
			answer.body_arg = &outcome;
		} else if (step != HTTP_STEP_MORE || len == 0) {
			outcome.end = step == HTTP_STEP_MORE ? http_answer_end(&answer) : step;
			break;
		}
	}
	if (outcome.end == HTTP_STEP_BAD && answer.err.text[0] == '\0')
		abort();
	if (outcome.end == HTTP_STEP_DONE && answer.length != HTTP_ANSWER_LENGTH_UNKNOWN && !is_head &&
	    answer.status != 204 && answer.status != 304 && answer.status != 101 &&
	    outcome.body != answer.length)
		abort();
	http_answer_done(&answer);
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, cut;
	bool is_head;

	if (size == 0)
		return 0;
	is_head = data[0] >= 128;
	whole = run(data + 1, size - 1, size, is_head);
	cut = run(data + 1, size - 1, data[0] % 32u + 1u, is_head);
	/* An invalid one may yield part of its body before the parser finds the error. */
	if (whole.end != cut.end || (whole.end == HTTP_STEP_DONE && whole.hash != cut.hash))
		abort();
	return 0;
}
