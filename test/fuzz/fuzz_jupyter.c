/*
 * fuzz_jupyter.c - parts of a message (split at newlines), signed and not; a connection file.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    keeps state between inputs.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "jupyter/jupyter.h"
#include "jupyter/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t split(const char *text, size_t size, struct wire_part parts[WIRE_PARTS_MAX])
{
	size_t count = 0, at = 0;

	while (count < WIRE_PARTS_MAX && at <= size) {
		const char *end = at < size ? memchr(text + at, '\n', size - at) : NULL;
		const size_t len = end != NULL ? (size_t)(end - (text + at)) : size - at;

		parts[count++] = (struct wire_part){ text + at, len };
		at += len + 1;
	}
	return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_part parts[WIRE_PARTS_MAX], four[4];
	struct jupyter_connection connection;
	char signature[WIRE_SIGNATURE_LEN + 1];
	const char *text = (const char *)data;
	const size_t count = split(text, size, parts);
	struct wire_message message;
	struct err err;

	(void)jupyter_connection_parse(text, size, &connection, &err);
	if (wire_read(parts, count, "", &message, &err) < 0)
		return 0;
	if (message.identities + 6 > count)
		abort();
	/* With a key only a message that is signed with it is accepted. */
	four[0] = message.header;
	four[1] = message.parent;
	four[2] = message.metadata;
	four[3] = message.content;
	wire_sign("key", four, signature);
	parts[message.identities + 1] = (struct wire_part){ signature, WIRE_SIGNATURE_LEN };
	if (wire_read(parts, count, "key", &message, &err) < 0)
		abort();
	signature[0] ^= 1;
	if (wire_read(parts, count, "key", &message, &err) == 0)
		abort();
	return 0;
}
