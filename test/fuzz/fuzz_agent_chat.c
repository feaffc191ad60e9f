/*
 * fuzz_agent_chat.c - streams of a hostile model server, in the format of chat.c.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: a piece size, and a stream.
 * Never:    keeps state between inputs.
 */
#include "agent_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_stream(&provider_chat, data, size);
}
