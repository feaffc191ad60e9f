/*
 * config_text.h - one entry in a client's configuration, changed in its text: all else stays as it was
 * written, comments, order and numbers too.
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "codec/json_read.h"

#define CONFIG_MAX ((size_t)64 * 1024 * 1024)

/*
 * JSON that may have comments, commas behind the last member and a byte order mark, as JSON without
 * them: each byte stands where it stood.
 */
int config_plain(const struct buf *text, struct buf *ret, struct err *err);

/* Puts `entry` (JSON) as `name` into the object `key` of the text, which is made when it is missing. */
int config_put(const struct buf *text, const char *key, const char *name, const struct buf *entry,
	       struct buf *ret, struct err *err);
/* Takes it out; *ret is the same text when it is not there. */
int config_take_out(const struct buf *text, const char *key, const char *name, struct buf *ret,
		    struct err *err);
