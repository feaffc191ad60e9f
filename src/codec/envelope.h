/*
 * envelope.h - messages of Connect streams: a byte of flags, four of length, as many bytes. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define ENVELOPE_HEAD 5u
#define ENVELOPE_COMPRESSED 0x01u
#define ENVELOPE_END 0x02u /* the last one of a stream */

struct envelope {
	unsigned flags;
	const char *data; /* inside of what was read */
	size_t len;
};

/*
 * The first envelope of `len` bytes: 1 and *ret_used; 0: more has to come; ERR_LIMIT: it is longer than
 * `max`; ERR_INVALID: it has flags that nobody knows.
 */
int envelope_read(const char *bytes, size_t len, size_t max, struct envelope *ret, size_t *ret_used,
		  struct err *err);
void envelope_head(unsigned flags, uint32_t len, char ret[ENVELOPE_HEAD]);
