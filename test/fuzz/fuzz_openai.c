/*
 * fuzz_openai.c - requests of OpenAI's Responses or Chat Completions, from any client.
 *
 * Runs in:  the fuzzer, or over its corpus.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 *
 * An accepted request of Responses yields a conversation that is one JSON object, which the same
 * request may continue; an accepted one of Chat Completions yields valid JSON.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/openai/openai.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
	if (!condition)
		abort();
}

static void check_again(struct order *order, const struct buf *first)
{
	struct buf second = BUF_INIT(OPENAI_CONVERSATION_MAX);
	struct json_value *before = NULL;
	struct err err;

	expect(json_read_parse(buf_text(first), first->len, OPENAI_CONVERSATION_MAX, &before,
			       &err) == 0);
	expect(json_read_kind(before) == JSON_KIND_OBJECT);
	(void)order_write(order, before, &second, &err);
	json_read_free(before);
	buf_done(&second);
}

static void check_chat(const char *data, size_t size)
{
	struct order order = { 0 };
	struct buf conversation = BUF_INIT(OPENAI_CONVERSATION_MAX);
	struct json_value *document = NULL;
	struct err err;

	if (chat_order_read(data, size, &order, &conversation, &err) == 0)
		expect(json_read_parse(buf_text(&conversation), conversation.len,
				       OPENAI_CONVERSATION_MAX, &document, &err) == 0);
	json_read_free(document);
	buf_done(&conversation);
	order_done(&order);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct order order = { 0 };
	struct buf conversation = BUF_INIT(OPENAI_CONVERSATION_MAX);
	struct err err;

	if (order_read((const char *)data, size, &order, &err) == 0) {
		expect(order.model != NULL || order.previous != NULL);
		expect(strlen(order.session) < sizeof(order.session));
		if (order_write(&order, NULL, &conversation, &err) == 0)
			check_again(&order, &conversation);
	}
	buf_done(&conversation);
	order_done(&order);
	check_chat((const char *)data, size);
	return 0;
}
