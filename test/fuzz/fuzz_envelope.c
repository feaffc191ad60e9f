/*
 * fuzz_envelope.c - an envelope lies within the input, and its head matches its contents.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/envelope.h"

#define MESSAGE_MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *at = (const char *)data;
	struct envelope envelope;
	char head[ENVELOPE_HEAD];
	struct err err;
	size_t used;

	while (envelope_read(at, size, MESSAGE_MAX, &envelope, &used, &err) > 0) {
		if (used > size || envelope.len > MESSAGE_MAX || used != envelope.len + ENVELOPE_HEAD ||
		    envelope.data != at + ENVELOPE_HEAD)
			abort();
		envelope_head(envelope.flags, (uint32_t)envelope.len, head);
		if (memcmp(head, at, sizeof(head)) != 0)
			abort();
		at += used;
		size -= used;
	}
	return 0;
}
