/*
 * table.c - draws tables: cells are wrapped, and nothing is left out.
 *
 * Runs in:  reckon.
 * Reads:    cells whose text was escaped.
 * Never:    draws wider than the limit, unless the columns cannot be narrower.
 */
#include <string.h>

#include "base/cleanup.h"
#include "cli/markdown/inner.h"

#define BAR " \x1b[2m│\x1b[0m "
#define BAR_COLUMNS 3u
#define WORD_COLUMNS 14u /* longer words may be split */

static const struct markdown_cell *cell_at(const struct markdown_table *table, size_t row,
					   size_t column)
{
	return &table->cells[row * table->columns + column];
}

static size_t cell_width(const struct markdown_table *table, size_t row, size_t column)
{
	const struct markdown_cell *cell = cell_at(table, row, column);

	return term_text_width(&table->text, cell->from, cell->end);
}

/* The width of a cell's longest word, up to the length at which words are split. */
static size_t word_width(const struct markdown_table *table, size_t row, size_t column)
{
	const struct markdown_cell *cell = cell_at(table, row, column);
	const char *text = buf_text(&table->text.text);
	size_t widest = 1;

	for (size_t at = cell->from; at < cell->end;) {
		const char *space = memchr(text + at, ' ', cell->end - at);
		const size_t end = space != NULL ? (size_t)(space - text) : cell->end;
		const size_t width = term_text_width(&table->text, at, end);

		widest = width > widest ? width : widest;
		at = end + 1;
	}
	return widest < WORD_COLUMNS ? widest : WORD_COLUMNS;
}

struct column {
	size_t natural, least, width;
};

static size_t sum_capped(struct column *columns, size_t count, size_t cap)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		struct column *column = &columns[i];

		column->width = column->natural < cap ? column->natural : cap;
		if (column->width < column->least)
			column->width = column->least;
		sum += column->width;
	}
	return sum;
}

static size_t measure(const struct markdown_table *table, struct column *ret)
{
	size_t widest = 1;

	for (size_t i = 0; i < table->columns; i++) {
		ret[i] = (struct column){ 1, 1, 1 };
		for (size_t row = 0; row < table->rows; row++) {
			const size_t width = cell_width(table, row, i);
			const size_t word = word_width(table, row, i);

			ret[i].natural = width > ret[i].natural ? width : ret[i].natural;
			ret[i].least = word > ret[i].least ? word : ret[i].least;
		}
		widest = ret[i].natural > widest ? ret[i].natural : widest;
	}
	return widest;
}

/* Limits wide columns until the table fits; false: columns would be too narrow to read. */
static bool find_widths(const struct markdown_table *table, size_t room, struct column *ret)
{
	const size_t bars = BAR_COLUMNS * (table->columns - 1);
	size_t low = 1, high = measure(table, ret);

	while (low < high) { /* binary search for the largest limit that fits */
		const size_t cap = (low + high + 1) / 2;

		if (sum_capped(ret, table->columns, cap) + bars <= room)
			low = cap;
		else
			high = cap - 1;
	}
	return sum_capped(ret, table->columns, low) + bars <= room;
}

static int put_spaces(size_t count, struct buf *ret, struct err *err)
{
	while (count-- > 0)
		if (buf_addc(ret, ' ', err) < 0)
			return (int)err->code;
	return 0;
}

/* Writes one line of a cell; sets *at to the beginning of the next one. */
static int put_cell(const struct markdown_table *table, size_t row, size_t column, size_t width,
		    size_t *at, struct buf *ret, struct err *err)
{
	const struct markdown_cell *cell = cell_at(table, row, column);
	const bool is_last = column + 1 == table->columns;
	size_t from = *at, end = from, used;

	if (from < cell->end)
		*at = term_text_wrap(&table->text, from, width, &end);
	used = term_text_width(&table->text, from, end);
	used = used < width ? used : width;
	if (table->is_right[column] && put_spaces(width - used, ret, err) < 0)
		return (int)err->code;
	if (term_text_put(&table->text, from, end, row == 0 ? TERM_BOLD : 0, ret, err) < 0)
		return (int)err->code;
	if (!table->is_right[column] && !is_last && put_spaces(width - used, ret, err) < 0)
		return (int)err->code;
	return is_last ? 0 : buf_adds(ret, BAR, err);
}

static int put_row(const struct markdown_table *table, const char *prefix, size_t row,
		   const struct column *columns, struct buf *ret, struct err *err)
{
	size_t at[MARKDOWN_COLUMNS_MAX];
	bool more = true;

	for (size_t column = 0; column < table->columns; column++)
		at[column] = cell_at(table, row, column)->from;
	while (more) {
		more = false;
		if (buf_adds(ret, prefix, err) < 0)
			return (int)err->code;
		for (size_t column = 0; column < table->columns; column++) {
			if (put_cell(table, row, column, columns[column].width, &at[column], ret,
				     err) < 0)
				return (int)err->code;
			more |= at[column] < cell_at(table, row, column)->end;
		}
		if (buf_addc(ret, '\n', err) < 0)
			return (int)err->code;
	}
	return 0;
}

static int put_line(const struct markdown_table *table, const char *prefix,
		    const struct column *columns, struct buf *ret, struct err *err)
{
	if (buf_adds(ret, prefix, err) < 0 || buf_adds(ret, "\x1b[2m", err) < 0)
		return (int)err->code;
	for (size_t column = 0; column < table->columns; column++) {
		if (column > 0 && buf_adds(ret, "─┼─", err) < 0)
			return (int)err->code;
		for (size_t i = 0; i < columns[column].width; i++)
			if (buf_adds(ret, "─", err) < 0)
				return (int)err->code;
	}
	return buf_adds(ret, "\x1b[0m\n", err);
}

/* Writes a row as "header: value" lines, in a paragraph. */
static int put_record(const struct markdown_table *table, const char *prefix, size_t row,
		      size_t width, struct buf *ret, struct err *err)
{
	for (size_t column = 0; column < table->columns; column++) {
		const struct markdown_cell *head = cell_at(table, 0, column);
		const struct markdown_cell *cell = cell_at(table, row, column);
		size_t at = cell->from, end;

		if (buf_adds(ret, prefix, err) < 0 ||
		    term_text_put(&table->text, head->from, head->end, TERM_BOLD, ret, err) < 0 ||
		    buf_adds(ret, ":", err) < 0)
			return (int)err->code;
		if (term_text_width(&table->text, head->from, head->end) + 2 +
			    term_text_width(&table->text, at, cell->end) <= width) {
			if (buf_addc(ret, ' ', err) < 0 ||
			    term_text_put(&table->text, at, cell->end, 0, ret, err) < 0)
				return (int)err->code;
			at = cell->end;
		}
		if (buf_addc(ret, '\n', err) < 0)
			return (int)err->code;
		while (at < cell->end) {
			const size_t from = at;

			at = term_text_wrap(&table->text, from, width - 2, &end);
			if (buf_adds(ret, prefix, err) < 0 || buf_adds(ret, "  ", err) < 0 ||
			    term_text_put(&table->text, from, end, 0, ret, err) < 0 ||
			    buf_addc(ret, '\n', err) < 0)
				return (int)err->code;
		}
	}
	return 0;
}

static int draw_records(const struct markdown_table *table, const char *prefix, size_t width,
			struct buf *ret, struct err *err)
{
	for (size_t row = 1; row < table->rows; row++)
		if ((row > 1 &&
		     (buf_adds(ret, prefix, err) < 0 || buf_addc(ret, '\n', err) < 0)) ||
		    put_record(table, prefix, row, width, ret, err) < 0)
			return (int)err->code;
	return 0;
}

int markdown_table_draw(const struct markdown_table *table, const char *prefix, size_t width,
			struct buf *ret, struct err *err)
{
	struct column columns[MARKDOWN_COLUMNS_MAX];

	if (!find_widths(table, width, columns) && table->rows > 1)
		return draw_records(table, prefix, width, ret, err);
	for (size_t row = 0; row < table->rows; row++)
		if (put_row(table, prefix, row, columns, ret, err) < 0 ||
		    (row == 0 && put_line(table, prefix, columns, ret, err) < 0))
			return (int)err->code;
	return 0;
}
