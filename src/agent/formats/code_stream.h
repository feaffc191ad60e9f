/*
 * code_stream.h - the code in a call's arguments, while they are still being written. Pure.
 *
 * Arguments are JSON, {"code": "…"}, and come in pieces cut anywhere. What of the text is complete is
 * handed on as it comes, without its escapes. Where the object begins with another member nothing is:
 * the code is then known when the call is complete.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

struct code_stream {
	size_t at; /* bytes of the arguments that were read */
	bool in_text, is_over;
};

/* `args` is all of the arguments so far; appends what is new of the code. */
int code_stream_feed(struct code_stream *stream, const char *args, size_t len, struct buf *ret,
		     struct err *err);
