/*
 * edit.h - holds a cell of several lines in a line editor that supports only one.
 *
 * libedit can display a newline in its line, but has no prompt for the second line. So each newline
 * is followed by a pad as wide as the prompt: figure spaces (U+2007), a bar (U+2506) and a space.
 * The pads are removed when a cell leaves the editor.
 */
#pragma once

#include <stddef.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/err.h"

#define EDIT_PAD_MIN 3

/*
 * Converts text for the editor, with `pad` characters after each newline. NULL: out of memory;
 * free() the result.
 */
wchar_t *edit_pad(const char *text, size_t len, size_t pad);

/* Converts it back: removes the pads and appends UTF-8. */
int edit_unpad(const wchar_t *line, size_t len, struct buf *ret, struct err *err);

/* The cell's line at a cursor in a padded line. All members are indices into `line`. */
struct edit_place {
	size_t begin; /* the first character after the pad */
	size_t end;   /* the line's newline, or the end of the text */
	size_t pad;   /* length of the pad before `begin`; 0 on the first line */
};
struct edit_place edit_place_at(const wchar_t *line, size_t len, size_t cursor, size_t pad);

/* The length of the white space at the beginning of the cell's line at `place`. */
size_t edit_indent(const wchar_t *line, const struct edit_place *place);
