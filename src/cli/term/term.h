/*
 * term.h - text from a box on its way to a person's terminal.
 *
 * A terminal obeys what it is shown: escape sequences can rename its window, answer in the user's
 * name, hide text. To a terminal only printable text, \r, \n, \t and colours (SGR sequences,
 * ESC [ digits m) pass; everything else is shown as \xNN. What goes to a file or a pipe is left
 * as it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

#define TERM_PENDING_MAX 64

/* One stream; zero-initialise and set `escape`. Sequences may be cut anywhere between calls. */
struct term_filter {
	bool escape;	   /* the other end is a terminal */
	bool plain;	   /* which shall have no colours */
	bool coloured;	   /* an SGR other than reset was passed last */
	bool mid_line;	   /* the last byte put out was not a newline */
	size_t pending_len; /* beginning of a sequence, waiting for its end */
	char pending[TERM_PENDING_MAX];
};

/* Appends what may be shown of `text` to `ret`. */
int term_filter_add(struct term_filter *filter, const char *text, size_t len, struct buf *ret,
		    struct err *err);

/* The stream is over: shows what was pending, and turns colours off. */
int term_filter_end(struct term_filter *filter, struct buf *ret, struct err *err);

/*
 * Whole text in one line for a message: newlines, tabs and hidden characters (reveal.h) are
 * escaped as well, so that a name cannot look like another one.
 */
int term_escape_line(const char *text, size_t len, struct buf *ret, struct err *err);

/* The same for prose of any language, which needs its joiners and marks of direction. */
int term_escape_prose(const char *text, size_t len, struct buf *ret, struct err *err);
