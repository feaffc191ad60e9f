/*
 * text.h - breaks styled text into lines that fit a terminal.
 *
 * All added text is escaped: control characters become \xNN, so the terminal only gets the
 * sequences that term_text_put() writes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum term_style {
	TERM_BOLD = 1u << 0,
	TERM_ITALIC = 1u << 1,
	TERM_UNDERLINE = 1u << 2,
	TERM_STRIKE = 1u << 3,
	TERM_DIM = 1u << 4,
	TERM_CODE = 1u << 5,
	TERM_ADDRESS = 1u << 6, /* a link whose text is its address, and which can be clicked */
};

#define TERM_TEXT_MAX ((size_t)1024 * 1024)

struct term_text {
	struct buf text;
	struct buf styles; /* one byte for each byte of `text` */
};

void term_text_init(struct term_text *text);
void term_text_done(struct term_text *text);
void term_text_clear(struct term_text *text);

int term_text_add(struct term_text *text, unsigned styles, const char *bytes, size_t len,
		  struct err *err);
/* Ends the line; no other function does. */
int term_text_break(struct term_text *text, struct err *err);

/*
 * Wraps the line that begins at `from`: sets *ret_end to its end and returns where the next line
 * begins. Breaks at spaces, around wide characters, and inside words wider than `width`.
 */
size_t term_text_wrap(const struct term_text *text, size_t from, size_t width, size_t *ret_end);

/* The columns of a part; if it has several lines, of the widest. */
size_t term_text_width(const struct term_text *text, size_t from, size_t end);

/* Appends a part with its own styles and `styles`; the caller ends the line. */
int term_text_put(const struct term_text *text, size_t from, size_t end, unsigned styles,
		  struct buf *ret, struct err *err);
