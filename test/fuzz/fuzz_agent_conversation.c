/*
 * fuzz_agent_conversation.c - documents of conversations, from any client.
 *
 * Runs in:  the fuzzer, or over its corpus.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 *
 * Every request of a provider with an accepted document is valid JSON. A document that is written
 * again is accepted again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conversation/conversation.h"
#include "agent/conversation/tool_cell.h"
#include "agent/conversation/schema.h"
#include "agent_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct provider *const providers[] = { &provider_chat, &provider_responses,
						    &provider_messages, &provider_gemini };

static void check_results(const struct model_conversation *conv)
{
	for (size_t i = 0; i < conv->count; i++) {
		const struct model_turn *turn = conv->turns[i];

		if (turn->role == MODEL_ROLE_MODEL)
			fuzz_check_turn(turn);
		if (turn->role == MODEL_ROLE_RESULTS)
			expect(i > 0 && conv->turns[i - 1]->role == MODEL_ROLE_MODEL);
	}
}

static void check_again(const struct conversation *conversation, const struct model_conversation *conv)
{
	struct buf json = BUF_INIT(AGENT_CONVERSATION_MAX);
	struct conversation again;
	struct model_conversation copy;
	struct err err;

	if (conversation_write(conversation, conv, &json, &err) == 0) {
		conversation_init(&again);
		model_conversation_init(&copy);
		expect(conversation_read(json.data, json.len, 7, &again, &copy, &err) == 0);
		expect(copy.count == conv->count && again.calls_max == conversation->calls_max);
		conversation_done(&again);
		model_conversation_done(&copy);
	}
	buf_done(&json);
}

/* The arguments of a cell tool's call stay on one line of the code. */
static void check_cells(const struct model_conversation *conv)
{
	struct buf args = BUF_INIT(64), code = BUF_INIT(AGENT_CONVERSATION_MAX);
	struct err err;

	expect(buf_adds(&args, "{\"a\": \"\\n\"}", &err) == 0);
	for (size_t i = 0; i < conv->tool_count; i++) {
		const struct model_tool *tool = &conv->tools[i];

		if (tool->kind != MODEL_TOOL_CELL)
			continue;
		buf_clear(&code);
		expect(tool_cell_code(tool, &args, &code, &err) == 0);
		expect(code.len > strlen(tool->before) + strlen(tool->after) + 8);
		expect(memchr(code.data + strlen(tool->before), '\n',
			      code.len - strlen(tool->before) - strlen(tool->after)) == NULL);
	}
	buf_done(&args);
	buf_done(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conversation conversation;
	struct model_conversation conv;
	struct err err;

	conversation_init(&conversation);
	model_conversation_init(&conv);
	if (conversation_read((const char *)data, size, 7, &conversation, &conv, &err) == 0) {
		if (conv.sampling.schema != NULL)
			(void)schema_check(conv.sampling.schema, (const char *)data, size, &err);
		check_results(&conv);
		check_cells(&conv);
		check_again(&conversation, &conv);
		expect(conversation_close_calls(&conv, &err) == 0);
		expect(conversation_waiting(&conv, 0) == NULL);
		for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
			fuzz_send_back(providers[i], &conv);
	}
	conversation_done(&conversation);
	model_conversation_done(&conv);
	return 0;
}
