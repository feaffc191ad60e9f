/*
 * draw.c - draws blocks of Markdown as lines for a terminal.
 *
 * Runs in:  reckon.
 * Reads:    Markdown of a model, parsed by md4c.
 * Never:    writes unescaped text, or indents deeper than a few levels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/markdown/drawing.h"

#define RULE_MAX 60u
#define SHOWN_MAX ((size_t)8 * 1024 * 1024)
#define CODE_INDENT "  "

/* Whether text that follows could still change how this byte is parsed. */
static bool may_change(const struct term_text *text, size_t at)
{
	const char *bytes = buf_text(&text->text);
	const unsigned char style = (unsigned char)buf_text(&text->styles)[at];
	const char before = at > 0 ? bytes[at - 1] : ' ';
	const char after = at + 1 < text->text.len ? bytes[at + 1] : 'x';

	if ((style & (TERM_CODE | TERM_ADDRESS)) != 0)
		return false;
	switch (bytes[at]) {
	case '*':
	case '~':
		return after != ' ';
	case '_':
		return before == ' ' && after != ' ';
	case '`':
	case '[':
	case '<':
		return true;
	default:
		return false;
	}
}

static size_t first_that_may_change(const struct term_text *text)
{
	for (size_t at = 0; at < text->text.len; at++)
		if (may_change(text, at))
			return at;
	return text->text.len;
}

/* The end of the word that did not fit; without its markup it might. */
static size_t end_of_word(const struct term_text *text, size_t from)
{
	const char *space = memchr(text->text.data + from, ' ', text->text.len - from);

	return space != NULL ? (size_t)(space - text->text.data) : text->text.len;
}

/* A blank line before each block, except the first one and blocks in tight lists. */
static int begin_block(struct markdown_drawing *drawing)
{
	struct markdown_level *level = markdown_top(drawing);
	const bool is_first = !level->has_content;

	level->has_content = true;
	if (is_first || (level->type == MD_BLOCK_LI && level->is_tight))
		return 0;
	return markdown_put_line(drawing, 0, 0, 0);
}

static unsigned style_of_heading(unsigned level)
{
	static const unsigned styles[] = { 0, TERM_BOLD | TERM_UNDERLINE, TERM_BOLD,
					   TERM_BOLD | TERM_ITALIC };

	return styles[level < ARRAY_LEN(styles) ? level : ARRAY_LEN(styles) - 1];
}

/* Writes the text of the block that ends, as lines. */
static int put_text(struct markdown_drawing *drawing)
{
	const size_t width = markdown_room(drawing), len = drawing->text.text.len;
	const size_t change = first_that_may_change(&drawing->text);
	size_t from = 0;

	while (from < len) {
		size_t end;
		const size_t next = term_text_wrap(&drawing->text, from, width, &end);

		if (markdown_put_line(drawing, from, end, style_of_heading(drawing->heading)) < 0)
			return (int)drawing->err.code;
		if (next < len && end_of_word(&drawing->text, next) <= change)
			drawing->lines.stable = drawing->lines.count;
		from = next;
	}
	term_text_clear(&drawing->text);
	return 0;
}

static int put_images(struct markdown_drawing *drawing)
{
	const struct markdown_look *look = drawing->look;

	for (size_t i = 0; i < drawing->image_count && look->image != NULL; i++)
		look->image(buf_text(&drawing->links) + drawing->images[i].from,
			    drawing->images[i].len, drawing->ret, look->arg);
	drawing->image_count = 0;
	if (drawing->address_count == 0)
		buf_clear(&drawing->links);
	return 0;
}

static int put_rule(struct markdown_drawing *drawing)
{
	const size_t room = markdown_room(drawing);

	for (size_t i = 0; i < room && i < RULE_MAX; i++)
		if (term_text_add(&drawing->text, TERM_DIM, "─", 3, &drawing->err) < 0)
			return (int)drawing->err.code;
	return put_text(drawing);
}

/* ---- blocks ---- */

static int enter_level(struct markdown_drawing *drawing, MD_BLOCKTYPE type)
{
	drawing->depth++;
	if (drawing->depth <= MARKDOWN_DEPTH_MAX)
		*markdown_top(drawing) = (struct markdown_level){ .type = type,
						.columns = type == MD_BLOCK_QUOTE ? 2 : 0 };
	return 0;
}

static int enter_list(struct markdown_drawing *drawing, MD_BLOCKTYPE type, void *detail)
{
	const MD_BLOCK_UL_DETAIL *bullets = detail;
	const MD_BLOCK_OL_DETAIL *numbers = detail;
	const bool is_ordered = type == MD_BLOCK_OL;

	if (begin_block(drawing) < 0)
		return (int)drawing->err.code;
	(void)enter_level(drawing, type);
	if (drawing->depth > MARKDOWN_DEPTH_MAX)
		return 0;
	markdown_top(drawing)->is_tight = is_ordered ? numbers->is_tight : bullets->is_tight;
	markdown_top(drawing)->number = is_ordered ? numbers->start : 0;
	markdown_top(drawing)->is_marked = is_ordered; /* "0." is a number, too */
	return 0;
}

/* The bullet of an item: one for each depth, "3. ", or a task's checkbox. */
static int enter_item(struct markdown_drawing *drawing, const MD_BLOCK_LI_DETAIL *detail)
{
	static const char *const bullets[] = { "• ", "◦ ", "▪ " };
	struct markdown_level *list = markdown_top(drawing), *item;
	const bool is_tight = list->is_tight, is_ordered = list->is_marked;
	const unsigned number = list->number;
	size_t lists = 0;

	if (drawing->depth >= MARKDOWN_DEPTH_MAX)
		return enter_level(drawing, MD_BLOCK_LI);
	if (list->has_content && !is_tight && markdown_put_line(drawing, 0, 0, 0) < 0)
		return (int)drawing->err.code;
	list->has_content = true;
	list->number++;
	for (size_t i = 1; i < drawing->depth; i++)
		lists += drawing->levels[i].type == MD_BLOCK_UL;
	(void)enter_level(drawing, MD_BLOCK_LI);
	item = markdown_top(drawing);
	item->is_tight = is_tight;
	if (detail->is_task)
		(void)snprintf(item->bullet, sizeof(item->bullet), "%s ",
			       detail->task_mark == ' ' ? "☐" : "☑");
	else if (is_ordered)
		(void)snprintf(item->bullet, sizeof(item->bullet), "%u. ", number);
	else
		(void)snprintf(item->bullet, sizeof(item->bullet), "%s",
			       bullets[lists % ARRAY_LEN(bullets)]);
	item->columns = is_ordered && !detail->is_task ? (unsigned)strlen(item->bullet) : 2;
	return 0;
}

static int enter_table(struct markdown_drawing *drawing, const MD_BLOCK_TABLE_DETAIL *detail)
{
	const size_t columns = detail->col_count;
	const size_t rows = (size_t)detail->head_row_count + detail->body_row_count;
	struct markdown_table *table;

	if (columns == 0 || columns > MARKDOWN_COLUMNS_MAX || rows > MARKDOWN_CELLS_MAX / columns)
		return err_set(&drawing->err, ERR_LIMIT, "the table is too large");
	table = mem_new0(1, sizeof(*table));
	term_text_init(&table->text);
	table->cells = mem_new0(columns * rows, sizeof(*table->cells));
	table->columns = columns;
	table->rows = rows;
	drawing->table = table;
	return 0;
}

static void table_free(struct markdown_table *table)
{
	if (table == NULL)
		return;
	term_text_done(&table->text);
	free(table->cells);
	free(table);
}

static int leave_table(struct markdown_drawing *drawing)
{
	cleanup_buf struct buf shown = BUF_INIT(SHOWN_MAX);
	char prefix[MARKDOWN_PREFIX_MAX], rest[MARKDOWN_PREFIX_MAX];
	struct markdown_table *table = TAKE_PTR(drawing->table);
	int rc;

	(void)markdown_write_prefix(drawing, prefix);
	(void)markdown_write_prefix(drawing, rest);
	/* If an item begins with a table, its first line has the bullet. */
	rc = markdown_table_draw(table, rest, markdown_room(drawing), &shown, &drawing->err);
	table_free(table);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < shown.len; i++)
		drawing->lines.count += shown.data[i] == '\n';
	if (shown.len < strlen(rest))
		return 0;
	if (buf_adds(drawing->ret, prefix, &drawing->err) < 0)
		return (int)drawing->err.code;
	return buf_add(drawing->ret, shown.data + strlen(rest), shown.len - strlen(rest),
		       &drawing->err);
}

static int enter_cell(struct markdown_drawing *drawing, const MD_BLOCK_TD_DETAIL *detail)
{
	struct markdown_table *table = drawing->table;

	if (table == NULL || table->count == table->columns * table->rows)
		return err_set(&drawing->err, ERR_LIMIT, "the table is too large");
	if (detail->align == MD_ALIGN_RIGHT)
		table->is_right[table->count % table->columns] = true;
	table->cells[table->count].from = table->text.text.len;
	return 0;
}

static int leave_cell(struct markdown_drawing *drawing)
{
	struct markdown_table *table = drawing->table;

	table->cells[table->count++].end = table->text.text.len;
	return term_text_break(&table->text, &drawing->err);
}

static int enter_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct markdown_drawing *drawing = arg;

	/*
	 * The text of a tight item has no paragraph of its own, and precedes blocks inside the
	 * item.
	 */
	if (drawing->text.text.len > 0 && put_text(drawing) < 0)
		return (int)drawing->err.code;
	switch (type) {
	case MD_BLOCK_QUOTE:
		if (begin_block(drawing) < 0)
			return (int)drawing->err.code;
		return enter_level(drawing, type);
	case MD_BLOCK_UL:
	case MD_BLOCK_OL:
		return enter_list(drawing, type, detail);
	case MD_BLOCK_LI:
		return enter_item(drawing, detail);
	case MD_BLOCK_HR:
		return begin_block(drawing) < 0 || put_rule(drawing) < 0 ? (int)drawing->err.code
									 : 0;
	case MD_BLOCK_H:
		drawing->heading = ((const MD_BLOCK_H_DETAIL *)detail)->level;
		return begin_block(drawing);
	case MD_BLOCK_CODE:
		drawing->in_code = true;
		return begin_block(drawing);
	case MD_BLOCK_P:
		return begin_block(drawing);
	case MD_BLOCK_TABLE:
		return begin_block(drawing) < 0 ? (int)drawing->err.code
						: enter_table(drawing, detail);
	case MD_BLOCK_TH:
	case MD_BLOCK_TD:
		return enter_cell(drawing, detail);
	case MD_BLOCK_DOC:
	case MD_BLOCK_HTML:
	case MD_BLOCK_THEAD:
	case MD_BLOCK_TBODY:
	case MD_BLOCK_TR:
		break;
	}
	return 0;
}

static int leave_item(struct markdown_drawing *drawing)
{
	/* An empty item has a bullet, too. */
	if (put_text(drawing) < 0 ||
	    (drawing->depth <= MARKDOWN_DEPTH_MAX && !markdown_top(drawing)->is_marked &&
	     markdown_put_line(drawing, 0, 0, 0) < 0))
		return (int)drawing->err.code;
	drawing->depth--;
	return 0;
}

static int leave_block(MD_BLOCKTYPE type, void *detail, void *arg)
{
	struct markdown_drawing *drawing = arg;

	(void)detail;
	switch (type) {
	case MD_BLOCK_LI:
		if (leave_item(drawing) < 0)
			return (int)drawing->err.code;
		break;
	case MD_BLOCK_QUOTE:
	case MD_BLOCK_UL:
	case MD_BLOCK_OL:
		if (put_text(drawing) < 0)
			return (int)drawing->err.code;
		drawing->depth--;
		break;
	case MD_BLOCK_TABLE:
		if (leave_table(drawing) < 0)
			return (int)drawing->err.code;
		break;
	case MD_BLOCK_TH:
	case MD_BLOCK_TD:
		return leave_cell(drawing);
	case MD_BLOCK_DOC:
	case MD_BLOCK_HR:
	case MD_BLOCK_H:
	case MD_BLOCK_CODE:
	case MD_BLOCK_HTML:
	case MD_BLOCK_P:
		if (put_text(drawing) < 0)
			return (int)drawing->err.code;
		drawing->heading = 0;
		drawing->in_code = false;
		break;
	case MD_BLOCK_THEAD:
	case MD_BLOCK_TBODY:
	case MD_BLOCK_TR:
		return 0;
	}
	return put_images(drawing);
}

/* ---- the interface ---- */

int markdown_draw(const struct markdown_look *look, const char *text, size_t len,
		  struct markdown_lines *ret_lines, struct buf *ret, struct err *err)
{
	static const MD_PARSER parser = {
		.flags = MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_TASKLISTS |
			 MD_FLAG_NOHTML | MD_FLAG_PERMISSIVEURLAUTOLINKS,
		.enter_block = enter_block,
		.leave_block = leave_block,
		.enter_span = markdown_enter_span,
		.leave_span = markdown_leave_span,
		.text = markdown_take_text,
	};
	const size_t before = ret->len;
	struct markdown_drawing *drawing = mem_new0(1, sizeof(*drawing));
	int rc;

	drawing->look = look;
	drawing->ret = ret;
	drawing->links = BUF_INIT(4 * MARKDOWN_BLOCK_MAX);
	term_text_init(&drawing->text);
	rc = md_parse(text, (MD_SIZE)len, &parser, drawing);
	if (rc != 0) {
		rc = drawing->err.code != ERR_OK
			     ? (int)drawing->err.code
			     : err_set(&drawing->err, ERR_LIMIT, "the Markdown text is too long");
		*err = drawing->err;
		ret->len = before;
		if (ret->data != NULL)
			ret->data[before] = '\0';
	} else {
		*ret_lines = drawing->lines;
	}
	table_free(drawing->table);
	term_text_done(&drawing->text);
	buf_done(&drawing->links);
	free(drawing);
	return rc;
}

int markdown_draw_plain(const struct markdown_look *look, const char *text, size_t len,
			struct buf *ret, struct err *err)
{
	struct term_text plain;
	int rc = 0;

	term_text_init(&plain);
	while (len > 0 && rc == 0) {
		const char *newline = memchr(text, '\n', len);
		const size_t line = newline != NULL ? (size_t)(newline - text) : len;

		term_text_clear(&plain);
		rc = term_text_add(&plain, 0, text, line, err);
		for (size_t from = 0, end; rc == 0; ) {
			const size_t next = term_text_wrap(&plain, from, look->width, &end);

			rc = term_text_put(&plain, from, end, 0, ret, err);
			if (rc == 0)
				rc = buf_addc(ret, '\n', err);
			from = next;
			if (from >= plain.text.len)
				break;
		}
		text += line + (newline != NULL);
		len -= line + (newline != NULL);
	}
	term_text_done(&plain);
	return rc;
}

int markdown_draw_code(const char *text, size_t len, struct buf *ret, struct err *err)
{
	struct term_text code;
	int rc;

	term_text_init(&code);
	rc = term_text_add(&code, TERM_CODE, text, len, err);
	if (rc == 0 && code.text.len > 0)
		rc = buf_adds(ret, CODE_INDENT, err);
	if (rc == 0)
		rc = term_text_put(&code, 0, code.text.len, 0, ret, err);
	if (rc == 0)
		rc = buf_addc(ret, '\n', err);
	term_text_done(&code);
	return rc;
}
