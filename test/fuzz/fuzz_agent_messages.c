/*
 * fuzz_agent_messages.c - streams of a model's server that mean no good, in the shape of messages.c.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: a size of pieces, and a stream.
 * Never:    keeps state between inputs.
 */
#include "agent_stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_stream(&provider_messages, data, size);
}
