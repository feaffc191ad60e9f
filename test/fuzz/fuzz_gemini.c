/*
 * fuzz_gemini.c - requests of Gemini's generateContent, from any client.
 *
 * Runs in:  the fuzzer, or over its corpus.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 *
 * An accepted request yields a conversation that is one JSON object, and files within their limits.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/gemini/gemini.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
	if (!condition)
		abort();
}

static void check(const struct order *order)
{
	size_t bytes = 0;

	expect(order->file_count <= GEMINI_FILES_MAX && order->call_count <= GEMINI_CALLS_MAX);
	for (size_t i = 0; i < order->file_count; i++) {
		bytes += order->files[i].base64.len;
		expect(strncmp(order->files[i].path, "input_file_", 11) == 0);
		expect(strchr(order->files[i].path, '/') == NULL);
	}
	expect(bytes == order->file_bytes && bytes <= GEMINI_FILE_BYTES_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order order = { .conversation = BUF_INIT(GEMINI_CONVERSATION_MAX) };
	struct json_value *document;
	struct err err;

	if (order_read((const char *)data, size, &order, &err) == 0) {
		for (size_t i = 0; i < order.stored_count; i++)
			order.stored[i].base64 = "YSxiCg==";
		if (order_write(&order, &err) < 0) {
			order_done(&order);
			return 0;
		}
		expect(json_read_parse(order.conversation.data, order.conversation.len,
				       GEMINI_CONVERSATION_MAX, &document, &err) == 0);
		expect(json_read_kind(document) == JSON_KIND_OBJECT);
		json_read_free(document);
		check(&order);
	}
	order_done(&order);
	return 0;
}
