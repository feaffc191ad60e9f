/*
 * fuzz_agent_list.c - lists of models from hostile servers.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes as the body of a response.
 * Never:    keeps state between inputs.
 *
 * Besides memory safety: names are UTF-8 within their limits, and each ends with a newline.
 */
#include <stdint.h>
#include <stdlib.h>

#include "agent/formats/list.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned lines = 0;
	struct list list;
	struct err err;

	list_init(&list);
	(void)list_read((const char *)data, size, &list, &err);
	for (size_t i = 0; i < list.names.len; i++) {
		const unsigned char byte = (unsigned char)list.names.data[i];

		if ((byte < 0x20 && byte != '\n') || byte == 0x7f)
			abort();
		lines += byte == '\n';
	}
	if (lines > AGENT_NAMES_MAX || lines > list.count || list.names.len > AGENT_NAMES_BYTES ||
	    !utf8_is_valid(buf_text(&list.names), list.names.len) ||
	    (list.names.len > 0 && list.names.data[list.names.len - 1] != '\n'))
		abort();
	list_done(&list);
	return 0;
}
