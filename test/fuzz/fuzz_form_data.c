/*
 * fuzz_form_data.c - the parts of a form lie within its body, one after the other.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: a Content-Type, a NUL, a body.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "codec/form_data.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct form_part part;
	const char *type = (const char *)data, *nul = memchr(data, 0, size), *body, *last;
	struct form_data form;
	struct err err;

	if (nul == NULL)
		return 0;
	last = body = nul + 1;
	size -= (size_t)(body - type);
	if (form_data_begin(type, body, size, &form, &err) < 0)
		return 0;
	while (form_data_next(&form, &part, &err) > 0) {
		if (part.data < last || part.data + part.len > body + size ||
		    strlen(part.name) >= FORM_DATA_NAME_MAX ||
		    strlen(part.filename) >= FORM_DATA_NAME_MAX)
			abort();
		last = part.data + part.len;
	}
	return 0;
}
