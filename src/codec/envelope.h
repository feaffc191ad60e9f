/*
 * envelope.h - messages of Connect streams: a byte of flags, four of length, the data. No side
 * effects.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ENVELOPE_HEAD 5u
#define ENVELOPE_COMPRESSED 0x01u
#define ENVELOPE_END 0x02u /* last envelope of a stream */

struct envelope {
	unsigned flags;
	const char *data; /* points into the input */
	size_t len;
};

/*
 * Reads the first envelope of `len` bytes: 1 and *ret_used; 0: incomplete; ERR_LIMIT: longer than
 * `max`; ERR_INVALID: unknown flags.
 */
int envelope_read(const char *bytes, size_t len, size_t max, struct envelope *ret, size_t *ret_used,
		  struct err *err);
void envelope_head(unsigned flags, uint32_t len, char ret[ENVELOPE_HEAD]);
