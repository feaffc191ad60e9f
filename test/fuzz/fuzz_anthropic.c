/*
 * fuzz_anthropic.c - requests of Anthropic's Messages API, from any client.
 *
 * Runs in:  the fuzzer, or over its corpus.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 *
 * An accepted request yields a conversation that is one JSON object, a model, and an id of a
 * session that fits its buffer.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/anthropic/anthropic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
	if (!condition)
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

/* The input of an editor call is one JSON object; its result is valid JSON for any record. */
static void check_editor(const char *text, size_t len)
{
	struct buf input = BUF_INIT(ANTHROPIC_CONVERSATION_MAX),
		   out = BUF_INIT(ANTHROPIC_CONVERSATION_MAX);
	struct json_value *record = NULL, *shown = NULL;
	struct json_writer json;
	struct err err;

	if (editor_input(text, len, &input)) {
		expect(json_read_parse(input.data, input.len, ANTHROPIC_CONVERSATION_MAX, &shown,
				       &err) == 0);
		expect(json_read_kind(shown) == JSON_KIND_OBJECT);
		json_read_free(shown);
	}
	if (json_read_parse(text, len, ANTHROPIC_CONVERSATION_MAX, &record, &err) == 0) {
		json_write_init(&json, &out);
		json_write_object_begin(&json);
		editor_write_result(&json, record);
		json_write_object_end(&json);
		expect(json_write_finish(&json, &err) == 0);
		json_read_free(record);
	}
	buf_done(&input);
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order order = { .conversation = BUF_INIT(ANTHROPIC_CONVERSATION_MAX) };
	struct buf json = BUF_INIT(ANTHROPIC_CONVERSATION_MAX), name = BUF_INIT(4096);
	enum json_kind kind;
	struct err err;

	if (order_read((const char *)data, size, &order, &err) == 0 &&
	    order_write(&order, &err) == 0) {
		expect(json_read_compact(order.conversation.data, order.conversation.len,
					 ANTHROPIC_CONVERSATION_MAX, &json, &kind, &err) == 0);
		expect(kind == JSON_KIND_OBJECT && order.model[0] != '\0');
		expect(strlen(order.session) < sizeof(order.session));
	}
	if (size > 0)
		check_editor((const char *)data, size);
	if (buf_add(&name, data, size, &err) == 0 && memchr(data, 0, size) == NULL)
		check_name(buf_text(&name));
	buf_done(&json);
	buf_done(&name);
	order_done(&order);
	return 0;
}
