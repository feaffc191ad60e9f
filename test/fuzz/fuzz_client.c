/*
 * fuzz_client.c - addresses of servers, and any server's events and errors.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes; the first one selects the piece size of a stream.
 * Never:    uses a socket.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "client/inner.h"
#include "codec/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENT_MAX 4096u

struct outcome {
	uint64_t hash;
	unsigned events;
};

static void mix(struct outcome *outcome, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		outcome->hash = (outcome->hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
}

static int take_event(const struct sse_event *event, void *arg, struct err *err)
{
	struct outcome *outcome = arg;

	(void)err;
	/* The id goes into a request header; the name is compared. */
	if (strspn(event->id, "0123456789") != strlen(event->id) || event->name[0] == '\0' ||
	    event->len > EVENT_MAX || event->data[event->len] != '\0')
		abort();
	outcome->events++;
	mix(outcome, event->id, strlen(event->id) + 1);
	mix(outcome, event->name, strlen(event->name) + 1);
	mix(outcome, event->data, event->len);
	return 0;
}

static struct outcome feed(const char *bytes, size_t len, size_t piece)
{
	struct outcome outcome = { 0 };
	struct sse sse;
	struct err err;

	sse_init(&sse, EVENT_MAX, take_event, &outcome);
	for (size_t at = 0; at < len; at += piece)
		if (sse_feed(&sse, bytes + at, len - at < piece ? len - at : piece, &err) < 0)
			break;
	sse_done(&sse);
	return outcome;
}

static void refusal(const char *bytes, size_t len)
{
	struct client client = { .key = "rk_1", .name = "x" };
	struct transfer transfer = { .client = &client };
	struct err err;

	transfer.answer.status = 400 + (unsigned)len % 120;
	transfer.refusal = BUF_INIT(64 * 1024);
	if (buf_add(&transfer.refusal, bytes, len, &err) == 0 &&
	    (answer_refused(&transfer, &err) >= 0 || strstr(err.text, client.key) != NULL ||
	     strstr(err.remedy, client.key) != NULL))
		abort();
	buf_done(&transfer.refusal);
}

static void address(const char *bytes, size_t len)
{
	char *text = mem_new0(len + 1, 1);
	struct url url;
	struct err err;

	memcpy(text, bytes, len);
	/* An accepted address goes into a request line. */
	if (url_parse(text, &url, &err) == 0 &&
	    (strpbrk(url.base, " \r\n\t?#@\\") != NULL || strncmp(url.base, "http", 4) != 0))
		abort();
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data + 1;
	struct outcome whole, cut;

	if (size < 2)
		return 0;
	whole = feed(bytes, size - 1, size);
	cut = feed(bytes, size - 1, data[0] % 7u + 1u);
	if (whole.hash != cut.hash || whole.events != cut.events)
		abort();
	refusal(bytes, size - 1);
	address(bytes, size - 1);
	return 0;
}
