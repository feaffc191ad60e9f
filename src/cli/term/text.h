/*
 * text.h - text with styles, in lines that fit a terminal.
 *
 * Whatever is added is escaped: control characters become \xNN, so that the only sequences a
 * terminal gets are those that term_text_put() writes.
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
	TERM_ADDRESS = 1u << 6, /* of a link: the text is its address, and can be clicked */
};

#define TERM_TEXT_MAX ((size_t)1024 * 1024)

struct term_text {
	struct buf text;
	struct buf styles; /* a byte for each byte of `text` */
};

void term_text_init(struct term_text *text);
void term_text_done(struct term_text *text);
void term_text_clear(struct term_text *text);

int term_text_add(struct term_text *text, unsigned styles, const char *bytes, size_t len,
		  struct err *err);
/* Ends the line; nothing else does. */
int term_text_break(struct term_text *text, struct err *err);

/*
 * The line that begins at `from`: its end in *ret_end, where the next one begins as the result.
 * Breaks at spaces and around wide characters, and within a word that is wider than `width`.
 */
size_t term_text_wrap(const struct term_text *text, size_t from, size_t width, size_t *ret_end);

/* Columns of a part, or the widest of its lines. */
size_t term_text_width(const struct term_text *text, size_t from, size_t end);

/* Appends a part with its styles, and with `styles`; the end of the line is the caller's. */
int term_text_put(const struct term_text *text, size_t from, size_t end, unsigned styles,
		  struct buf *ret, struct err *err);
