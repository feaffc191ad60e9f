/*
 * fuzz_librechat.c - an id that is one leads back to itself, whichever kind of thing it is taken for.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/librechat/librechat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), ours[OURS_SIZE], again[LIBRECHAT_ID_SIZE];
	unsigned flags;

	if (text == NULL)
		return 0;
	if (size > 0)
		memcpy(text, data, size);
	text[size] = '\0';
	if (librechat_session_of(text, ours)) {
		librechat_session_id(ours, again);
		if (strcmp(text, again) != 0)
			abort();
	}
	if (librechat_artifact_of(text, ours, &flags)) {
		librechat_file_id(ours, flags, again);
		if (strcmp(text, again) != 0)
			abort();
	}
	librechat_session_id(text, again);
	librechat_file_id(text, 1, again);
	free(text);
	return 0;
}
