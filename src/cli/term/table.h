/*
 * table.h - draws tables that fit the terminal.
 *
 * Columns are as wide as their content. If the table is too wide, text is cut with "…" (numbers are
 * never cut, because the rest would be a wrong number); then columns in the middle are replaced by
 * "…".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct json_value;
struct term_table;

#define TERM_TABLE_CELLS_MAX 200000u
#define TERM_TABLE_TEXT_MAX ((size_t)64 * 1024 * 1024)

/* Never returns NULL. The caller checks untrusted counts against TERM_TABLE_CELLS_MAX. */
struct term_table *term_table_new(size_t columns, size_t rows);
void term_table_free(struct term_table *table); /* NULL is fine */

/* `right`: numbers, aligned to the right and never cut. */
void term_table_head(struct term_table *table, size_t column, const char *name, bool right);

/* Sets a cell; escapes `text`. Other cells are empty. */
int term_table_cell(struct term_table *table, size_t row, size_t column, const char *text,
		    size_t len, struct err *err);

/* Appends lines of at most `width` columns; `bold` makes the header bold. */
int term_table_draw(const struct term_table *table, size_t width, bool bold, struct buf *ret,
		    struct err *err);

/* ---- frame.c ---- */

/*
 * Draws application/vnd.reckon.table+json with "N rows × M columns" below. ERR_INVALID, with
 * nothing appended: it is not such a document.
 */
int term_frame_draw(const struct json_value *frame, size_t width, bool bold, struct buf *ret,
		    struct err *err);
