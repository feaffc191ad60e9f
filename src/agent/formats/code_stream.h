/*
 * code_stream.h - extracts the code from a call's arguments while they arrive. Pure.
 *
 * Arguments are JSON, {"code": "…"}, and arrive in pieces cut at any byte. The complete part of the
 * text is returned as it arrives, with escapes decoded. If the object begins with another member,
 * nothing is returned; the code is then only known when the call is complete.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct code_stream {
	size_t at; /* bytes of the arguments that are already read */
	bool in_text, is_over;
};

/* `args` has all arguments so far; appends the new part of the code. */
int code_stream_feed(struct code_stream *stream, const char *args, size_t len, struct buf *ret,
		     struct err *err);
