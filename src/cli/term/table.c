/*
 * table.c - draws tables that fit the terminal.
 *
 * Runs in:  reckon.
 * Reads:    cells from a box.
 * Never:    writes a cell unescaped, or a line wider than the terminal.
 */
#include "cli/term/table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/term/term.h"
#include "cli/term/width.h"

#define GAP 2	       /* between columns */
#define TEXT_WIDTH_MIN 12 /* text is not cut below this */
#define CELL_BYTES_MAX 4096
#define ELLIPSIS "…"

struct cell {
	char *text; /* escaped; NULL: empty */
	size_t len, width;
};

struct column {
	bool right;
	size_t natural; /* width of the widest cell, including the header */
	size_t least;	/* width to which it can be cut */
	size_t width;	/* the final width; 0: left out */
};

struct term_table {
	size_t columns, rows;
	bool narrowed; /* columns are left out, empty ones first */
	struct column *column;
	struct cell *cell; /* row 0 is the header */
};

struct term_table *term_table_new(size_t columns, size_t rows)
{
	struct term_table *table = mem_new0(1, sizeof(*table));

	table->columns = columns;
	table->rows = rows;
	table->column = mem_new0(columns + 1, sizeof(*table->column));
	table->cell = mem_new0((rows + 1) * columns + 1, sizeof(*table->cell));
	return table;
}

void term_table_free(struct term_table *table)
{
	if (table == NULL)
		return;
	for (size_t i = 0; i < (table->rows + 1) * table->columns; i++)
		free(table->cell[i].text);
	free(table->cell);
	free(table->column);
	free(table);
}

static int set_cell(struct term_table *table, size_t row, size_t column, const char *text,
		    size_t len, struct err *err)
{
	struct cell *cell = &table->cell[row * table->columns + column];
	cleanup_buf struct buf shown = BUF_INIT((size_t)CELL_BYTES_MAX * 4 + 4);

	if (len > CELL_BYTES_MAX)
		len = CELL_BYTES_MAX;
	if (term_escape_line(text, len, &shown, err) < 0)
		return (int)err->code;
	free(cell->text);
	cell->len = shown.len;
	cell->width = term_width(buf_text(&shown), shown.len);
	cell->text = TAKE_PTR(shown.data);
	return 0;
}

void term_table_head(struct term_table *table, size_t column, const char *name, bool right)
{
	struct err ignored;

	table->column[column].right = right;
	(void)set_cell(table, 0, column, name, strlen(name), &ignored);
}

int term_table_cell(struct term_table *table, size_t row, size_t column, const char *text,
		    size_t len, struct err *err)
{
	return set_cell(table, row + 1, column, text, len, err);
}

/* ---- widths ---- */

static void measure(const struct term_table *table, struct column *column, size_t at)
{
	size_t data = 0;

	column->natural = table->cell[at].width;
	for (size_t row = 1; row <= table->rows; row++) {
		const size_t width = table->cell[row * table->columns + at].width;

		if (width > data)
			data = width;
	}
	if (data > column->natural)
		column->natural = data;
	column->least = column->right || column->natural < TEXT_WIDTH_MIN ? column->natural
									  : TEXT_WIDTH_MIN;
	/* A long header above short numbers may be cut, but never the numbers. */
	if (column->right)
		column->least = data > TEXT_WIDTH_MIN			? data
				: column->natural < TEXT_WIDTH_MIN	? column->natural
									: TEXT_WIDTH_MIN;
}

static size_t capped(const struct column *column, size_t cap)
{
	const size_t width = column->natural < cap ? column->natural : cap;

	return width < column->least ? column->least : width;
}

static size_t total(const struct term_table *table, size_t cap)
{
	size_t sum = 0;

	for (size_t i = 0; i < table->columns; i++)
		sum += capped(&table->column[i], cap) + (i > 0 ? GAP : 0);
	return sum;
}

/*
 * For a table that is too wide even with all columns at their minimum: keeps the first column (the
 * index), then alternately one from the right and one from the left, as many as fit beside one "…".
 */
static void leave_out(struct term_table *table, size_t width)
{
	size_t left = 0, right = table->columns, used = 1 + GAP;
	bool from_left = true, any = false;

	table->narrowed = true;
	while (left < right) {
		struct column *column = &table->column[from_left ? left : right - 1];

		if (column->natural > 0 && used + column->least + GAP > width)
			break;
		if (column->natural > 0) {
			used += column->least + GAP;
			column->width = column->least;
			any = true;
		}
		if (from_left)
			left++;
		else
			right--;
		from_left = !from_left;
	}
	/* Not even one column fits: give it the available width. */
	if (!any && left < right && width > 1 + GAP)
		table->column[left].width = width - 1 - GAP;
}

static void fit(struct term_table *table, size_t width)
{
	size_t cap = width;

	for (size_t i = 0; i < table->columns; i++) {
		measure(table, &table->column[i], i);
		table->column[i].width = 0;
	}
	while (cap > TEXT_WIDTH_MIN && total(table, cap) > width)
		cap--;
	if (total(table, cap) > width) {
		leave_out(table, width);
		return;
	}
	for (size_t i = 0; i < table->columns; i++)
		table->column[i].width = capped(&table->column[i], cap);
}

/* ---- drawing ---- */

static int spaces(struct buf *ret, size_t count, struct err *err)
{
	while (count-- > 0)
		if (buf_addc(ret, ' ', err) < 0)
			return (int)err->code;
	return 0;
}

static int draw_cell(const struct column *column, const struct cell *cell, bool last,
		     struct buf *ret, struct err *err)
{
	size_t width = cell->width, len = cell->len;
	const bool cut = width > column->width;

	if (cut)
		len = term_width_fit(cell->text, cell->len, column->width - 1, &width);
	width += cut;
	if (column->right && spaces(ret, column->width - width, err) < 0)
		return (int)err->code;
	if (buf_add(ret, len > 0 ? cell->text : "", len, err) < 0 ||
	    (cut && buf_adds(ret, ELLIPSIS, err) < 0))
		return (int)err->code;
	if (!column->right && !last)
		return spaces(ret, column->width - width, err);
	return 0;
}

static int draw_row(const struct term_table *table, size_t row, bool bold, struct buf *ret,
		    struct err *err)
{
	bool first = true, gap_shown = false;

	if (bold && buf_adds(ret, "\x1b[1m", err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < table->columns; i++) {
		const struct column *column = &table->column[i];

		if (column->width == 0 && (column->natural > 0 ? gap_shown : table->narrowed))
			continue;
		if (!first && spaces(ret, GAP, err) < 0)
			return (int)err->code;
		first = false;
		if (column->width == 0 && column->natural > 0) {
			gap_shown = true;
			if (buf_adds(ret, ELLIPSIS, err) < 0)
				return (int)err->code;
		} else if (draw_cell(column, &table->cell[row * table->columns + i],
				     i + 1 == table->columns, ret, err) < 0) {
			return (int)err->code;
		}
	}
	if (bold && buf_adds(ret, "\x1b[0m", err) < 0)
		return (int)err->code;
	while (ret->len > 0 && ret->data[ret->len - 1] == ' ')
		ret->data[--ret->len] = '\0';
	return buf_addc(ret, '\n', err);
}

int term_table_draw(const struct term_table *table, size_t width, bool bold, struct buf *ret,
		    struct err *err)
{
	struct term_table fitted = *table;
	cleanup_free struct column *columns = mem_new0(table->columns + 1, sizeof(*columns));

	memcpy(columns, table->column, table->columns * sizeof(*columns));
	fitted.column = columns;
	fit(&fitted, width > 0 ? width : 1);
	for (size_t row = 0; row <= table->rows; row++)
		if (draw_row(&fitted, row, bold && row == 0, ret, err) < 0)
			return (int)err->code;
	return 0;
}
