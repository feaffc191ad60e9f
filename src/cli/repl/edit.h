/*
 * edit.h - a cell of several lines in a line editor that knows one line.
 *
 * libedit breaks its line at a newline, but it knows no second prompt. So behind each newline stand
 * as many characters as the prompt is wide: figure spaces (U+2007), a bar (U+2506) and one more
 * space. They are on the screen only: a cell that leaves the editor has none of them.
 */
#pragma once

#include <stddef.h>
#include <wchar.h>

#include "base/buf.h"
#include "base/err.h"

#define EDIT_PAD_MIN 3

/* The text as the editor holds it: `pad` characters behind each newline. NULL: no memory; free(). */
wchar_t *edit_pad(const char *text, size_t len, size_t pad);

/* And back: appends UTF-8. */
int edit_unpad(const wchar_t *line, size_t len, struct buf *ret, struct err *err);

/* A place in a padded line, as lines of the cell see it. All are indices into `line`. */
struct edit_place {
	size_t begin; /* of the line's own text, behind its pad */
	size_t end;   /* its newline, or the end of everything */
	size_t pad;   /* characters before `begin` that are pad; 0 on the first line */
};
struct edit_place edit_place_at(const wchar_t *line, size_t len, size_t cursor, size_t pad);

/* White space at the beginning of a line of text, and its end. */
size_t edit_indent(const wchar_t *line, const struct edit_place *place);
