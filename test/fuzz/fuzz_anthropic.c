/*
 * fuzz_anthropic.c - a request of Anthropic's Messages, from anybody.
 *
 * Runs in:  the fuzzer, or over its corpus.
 * Reads:    anything.
 * Never:    has an output.
 *
 * Whatever is taken is a conversation that is one JSON object, and an id of a session that can be one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/anthropic/anthropic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
	if (!holds)
		abort();
}

static void check_name(const char *name)
{
	char artifact[64], file[NAME_FILE_MAX + 1], again[NAME_SIZE];

	if (!name_read_artifact(ANTHROPIC_FILE, name, artifact, sizeof(artifact), file,
				sizeof(file)))
		return;
	expect(strchr(file, '/') == NULL);
	expect(name_of_artifact(ANTHROPIC_FILE, artifact, file, again, sizeof(again)));
	expect(strcmp(again, name) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order order = { .conversation = BUF_INIT(ANTHROPIC_TALK_MAX) };
	struct buf json = BUF_INIT(ANTHROPIC_TALK_MAX), name = BUF_INIT(4096);
	enum json_kind kind;
	struct err err;

	if (order_read((const char *)data, size, &order, &err) == 0 &&
	    order_write(&order, &err) == 0) {
		expect(json_read_compact(order.conversation.data, order.conversation.len,
					 ANTHROPIC_TALK_MAX, &json, &kind, &err) == 0);
		expect(kind == JSON_KIND_OBJECT && order.model[0] != '\0');
		expect(strlen(order.session) < sizeof(order.session));
	}
	if (buf_add(&name, data, size, &err) == 0 && memchr(data, 0, size) == NULL)
		check_name(buf_text(&name));
	buf_done(&json);
	buf_done(&name);
	order_done(&order);
	return 0;
}
