/*
 * table.h - tables that fit the terminal.
 *
 * Columns are as wide as what is in them. When that is too much, text is cut with "…" (numbers are
 * not: half a number is a lie), and then columns in the middle are left out, with "…" in their place.
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

/* Never NULL; the numbers are the caller's own or checked against TERM_TABLE_CELLS_MAX. */
struct term_table *term_table_new(size_t columns, size_t rows);
void term_table_free(struct term_table *table); /* NULL is fine */

/* `right`: numbers, aligned to the right and never cut. */
void term_table_head(struct term_table *table, size_t column, const char *name, bool right);

/* Whatever `text` holds is escaped. What is not set is empty. */
int term_table_cell(struct term_table *table, size_t row, size_t column, const char *text,
		    size_t len, struct err *err);

/* Appends lines of at most `width` columns; `bold` marks the head with it. */
int term_table_draw(const struct term_table *table, size_t width, bool bold, struct buf *ret,
		    struct err *err);

/* ---- frame.c ---- */

/*
 * Draws application/vnd.reckon.table+json, and "N rows × M columns" below it. ERR_INVALID, with
 * nothing appended, when it is not one.
 */
int term_frame_draw(const struct json_value *frame, size_t width, bool bold, struct buf *ret,
		    struct err *err);
