/*
 * fuzz_agent_conversation.c - a document of a conversation, from anybody.
 *
 * Runs in:  the fuzzer, or over its corpus.
 * Reads:    anything.
 * Never:    has an output.
 *
 * Whatever is taken can be sent to every provider and written again, and what is written is taken.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/conversation/conversation.h"
#include "agent_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct provider *const providers[] = { &provider_chat, &provider_responses,
						    &provider_messages, &provider_gemini };

static void check_results(const struct model_talk *talk)
{
	for (size_t i = 0; i < talk->count; i++) {
		const struct model_turn *turn = talk->turns[i];

		if (turn->role == MODEL_ROLE_MODEL)
			fuzz_check_turn(turn);
		if (turn->role == MODEL_ROLE_RESULTS)
			expect(i > 0 && talk->turns[i - 1]->role == MODEL_ROLE_MODEL);
	}
}

static void check_again(const struct conversation *conversation, const struct model_talk *talk)
{
	struct buf json = BUF_INIT(AGENT_TALK_MAX);
	struct conversation again;
	struct model_talk copy;
	struct err err;

	if (conversation_write(conversation, talk, &json, &err) == 0) {
		conversation_init(&again);
		model_talk_init(&copy);
		expect(conversation_read(json.data, json.len, 7, &again, &copy, &err) == 0);
		expect(copy.count == talk->count && again.calls_max == conversation->calls_max);
		conversation_done(&again);
		model_talk_done(&copy);
	}
	buf_done(&json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct conversation conversation;
	struct model_talk talk;
	struct err err;

	conversation_init(&conversation);
	model_talk_init(&talk);
	if (conversation_read((const char *)data, size, 7, &conversation, &talk, &err) == 0) {
		check_results(&talk);
		check_again(&conversation, &talk);
		expect(conversation_close_calls(&talk, &err) == 0);
		expect(conversation_waiting(&talk, 0) == NULL);
		for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++)
			fuzz_send_back(providers[i], &talk);
	}
	conversation_done(&conversation);
	model_talk_done(&talk);
	return 0;
}
