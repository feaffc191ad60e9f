/*
 * term.h - filters text from a box for a terminal.
 *
 * Escape sequences can rename a terminal's window, type input as the user, or hide text. So only
 * printable text, \r,
 * , \t and colours (SGR sequences, ESC [ digits m) are passed to a terminal; everything else is
 * printed as \xNN. Output to a file or a pipe is not changed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define TERM_PENDING_MAX 64

/* The state of one stream; zero-initialise and set `escape`. Calls may cut sequences anywhere. */
struct term_filter {
	bool escape;	   /* the output is a terminal */
	bool plain;	   /* the output gets no colours */
	bool coloured;	   /* the last SGR sequence was not a reset */
	bool mid_line;	   /* the last byte written was not a newline */
	size_t pending_len; /* length of an incomplete sequence in `pending` */
	char pending[TERM_PENDING_MAX];
};

/* Appends the filtered `text` to `ret`. */
int term_filter_add(struct term_filter *filter, const char *text, size_t len, struct buf *ret,
		    struct err *err);

/* Ends the stream: writes the pending bytes and resets colours. */
int term_filter_end(struct term_filter *filter, struct buf *ret, struct err *err);

/*
 * Appends text as one line for a message: newlines, tabs and hidden characters (reveal.h) are
 * escaped, too, so that a name cannot look like another one.
 */
int term_escape_line(const char *text, size_t len, struct buf *ret, struct err *err);

/* The same for prose in any language, which needs joiners and direction marks. */
int term_escape_prose(const char *text, size_t len, struct buf *ret, struct err *err);
