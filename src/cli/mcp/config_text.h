/*
 * config_text.h - changes one entry in the text of a client's configuration; everything else stays
 * unchanged, including comments, order and numbers.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"

#define CONFIG_MAX ((size_t)64 * 1024 * 1024)

/*
 * Converts JSON with comments, trailing commas or a byte order mark to plain JSON, in which every
 * byte keeps its position.
 */
int config_plain(const struct buf *text, struct buf *ret, struct err *err);

/* Puts `entry` (JSON) as `name` into the object `key`, which is created if it is missing. */
int config_put(const struct buf *text, const char *key, const char *name, const struct buf *entry,
	       struct buf *ret, struct err *err);
/* Removes the entry; *ret is the same text if it does not exist. */
int config_take_out(const struct buf *text, const char *key, const char *name, struct buf *ret,
		    struct err *err);
