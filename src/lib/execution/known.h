/*
 * known.h - the names of a kernel's variables, so that they can be listed when the kernel is lost.
 *
 * A kernel may lie about its names. So their number and size are bounded, and they are only shown
 * as text.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "codec/json_write.h"

#define KNOWN_MAX 100u
#define KNOWN_NAME_MAX 200u

/* Zero it at first; oldest first. */
struct known {
	char *name[KNOWN_MAX];
	size_t count;
};

void known_add(struct known *known, const char *name, size_t len); /* drops the oldest if full */
void known_drop(struct known *known, const char *name, size_t len);
void known_clear(struct known *known);
bool known_has(const struct known *known, const char *name, size_t len);
/* Writes ["a","b"]. */
void known_write_into(const struct known *known, struct json_writer *json);
/* Appends "a, b and 7 more", with at most `max` names; nothing if there are none. */
void known_list(const struct known *known, size_t max, struct buf *ret);
