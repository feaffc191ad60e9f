/*
 * fuzz_sandboxfusion.c - a model's answer; an output and the expected one, split at a NUL.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/sandboxfusion/sandboxfusion.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const aliases[] = { "cpp", NULL };
	static const struct fusion_language language = { .name = "cpp" };
	static const struct program_language row = { .name = "c++", .aliases = aliases };
	const char *text = (const char *)data, *code;
	const char *split = size > 0 ? memchr(text, '\0', size) : NULL;
	const size_t first = split != NULL ? (size_t)(split - text) : size;
	const char *second = split != NULL ? split + 1 : text + size;
	const size_t second_len = size - (size_t)(second - text);
	size_t len;

	if (fusion_find_code(text, size, &language, &row, &code, &len) &&
	    (code < text || code + len > text + size))
		abort();
	if (!fusion_is_expected(text, size, text, size))
		abort(); /* an output is equal to itself */
	(void)fusion_is_expected(text, first, second, second_len);
	return 0;
}
