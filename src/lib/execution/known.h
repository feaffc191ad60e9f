/*
 * known.h - the names of a kernel's variables, so that a kernel that died can be mourned by name.
 *
 * What a kernel says of its own names may be a lie, about itself: it is bounded here, and shown as
 * text only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "codec/json_write.h"

#define KNOWN_MAX 100u
#define KNOWN_NAME_MAX 200u

/* All zero at first; oldest first. */
struct known {
	char *name[KNOWN_MAX];
	size_t count;
};

void known_add(struct known *known, const char *name, size_t len); /* the oldest makes room */
void known_drop(struct known *known, const char *name, size_t len);
void known_clear(struct known *known);
bool known_has(const struct known *known, const char *name, size_t len);
/* Writes ["a","b"]. */
void known_write_into(const struct known *known, struct json_writer *json);
/* Appends "a, b and 7 more", of at most `max` names; nothing when there is none. */
void known_list(const struct known *known, size_t max, struct buf *ret);
