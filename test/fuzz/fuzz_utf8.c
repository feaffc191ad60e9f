/*
 * fuzz_utf8.c - the UTF-8 functions agree with each other on any bytes.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t at = 0, n, tail = utf8_incomplete_tail(text, size);

	while (at < size && (n = utf8_sequence(text + at, size - at)) > 0)
		at += n;
	if (at > size || utf8_is_valid(text, size) != (at == size))
		abort();
	if (tail > 3 || tail > size)
		abort();
	/* A valid text has no incomplete tail; an incomplete tail is not a sequence. */
	if (tail > 0 && (at == size || utf8_sequence(text + size - tail, tail) != 0))
		abort();
	return 0;
}
