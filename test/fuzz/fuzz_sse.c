/*
 * fuzz_sse.c - a stream of events parses the same, however it is split.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: a piece size, and a stream.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/sse.h"

#define EVENT_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int on_event(const struct sse_event *event, void *arg, struct err *err)
{
	struct buf *all = arg;

	if (event->len > EVENT_MAX || event->data[event->len] != '\0' || strlen(event->name) >= SSE_NAME_SIZE)
		abort();
	return buf_adds(all, event->name, err) < 0 || buf_addc(all, '=', err) < 0 ||
			       buf_add(all, event->data, event->len, err) < 0 || buf_addc(all, ';', err) < 0
		       ? (int)err->code
		       : 0;
}

static int read_stream(const char *text, size_t len, size_t piece, struct buf *ret)
{
	struct sse sse;
	struct err err;
	int rc = 0;

	sse_init(&sse, EVENT_MAX, on_event, ret);
	for (size_t at = 0; at < len && rc == 0; at += piece)
		rc = sse_feed(&sse, text + at, len - at < piece ? len - at : piece, &err);
	if (rc == 0)
		rc = sse_end(&sse, &err);
	sse_done(&sse);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT((size_t)1 << 28), cut = BUF_INIT((size_t)1 << 28);
	const char *text = (const char *)data + 1;
	int first, second;

	if (size < 2)
		return 0;
	first = read_stream(text, size - 1, size - 1, &whole);
	second = read_stream(text, size - 1, data[0] % 16u + 1u, &cut);
	if (first != second || (first == 0 && (whole.len != cut.len ||
	    memcmp(buf_text(&whole), buf_text(&cut), whole.len) != 0)))
		abort();
	buf_done(&whole);
	buf_done(&cut);
	return 0;
}
