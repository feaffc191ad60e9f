/*
 * markdown.c - splits streamed Markdown into blocks that are complete enough to draw.
 *
 * Runs in:  reckon.
 * Reads:    text of a model, cut at any byte.
 * Never:    changes what it has drawn.
 *
 * The text is handled line by line. Lines are collected into a block. A blank line, or a line that
 * begins another block, ends the block, which is then drawn. While a paragraph grows, its lines are
 * drawn as soon as later text cannot change them; at its end the rest is drawn. Each item of a list
 * is its own block.
 */
#include "cli/markdown/markdown.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/markdown/inner.h"

#define WIDTH_LEAST 20u
#define DRAWN_MAX ((size_t)32 * 1024 * 1024)
#define GROWING_MAX ((size_t)8 * 1024) /* a longer paragraph is not drawn while it grows */

enum kind { KIND_NONE, KIND_PARAGRAPH, KIND_TABLE, KIND_LIST, KIND_QUOTE, KIND_OTHER };

struct markdown {
	struct markdown_look look;
	struct buf block; /* complete lines that are not drawn yet */
	struct buf line;  /* the incomplete line */
	enum kind kind;	  /* the block's */
	size_t drawn;	  /* lines of the paragraph that are already drawn */
	bool blank;	  /* the last line was blank */
	bool gap;	  /* a blank line precedes the block */
	bool begun;	  /* something was drawn before */
	char fence;	  /* '`' or '~' inside a code block, else 0 */
	size_t fence_len;
	bool inner_fence; /* the same inside a list */
};

struct markdown *markdown_new(markdown_image_fn *image, void *arg)
{
	struct markdown *markdown = mem_new0(1, sizeof(*markdown));

	markdown->look = (struct markdown_look){ 80, image, arg };
	markdown->block = BUF_INIT(2 * MARKDOWN_BLOCK_MAX + 2);
	markdown->line = BUF_INIT(MARKDOWN_BLOCK_MAX);
	return markdown;
}

void markdown_free(struct markdown *markdown)
{
	if (markdown == NULL)
		return;
	buf_done(&markdown->block);
	buf_done(&markdown->line);
	free(markdown);
}

void markdown_set_width(struct markdown *markdown, size_t columns)
{
	markdown->look.width = columns > WIDTH_LEAST ? columns : WIDTH_LEAST;
}

/* ---- what a line is ---- */

static size_t indent_of(const char *line, size_t len)
{
	size_t indent = 0;

	for (size_t i = 0; i < len && (line[i] == ' ' || line[i] == '\t'); i++)
		indent += line[i] == '\t' ? 4 : 1;
	return indent;
}

static const char *skip_indent(const char *line, size_t *len)
{
	while (*len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		--*len;
	}
	return line;
}

/* The length of the fence of '`' or '~'; 0: the line does not open a code block. */
static size_t opens_fence(const char *line, size_t len)
{
	size_t n;

	line = skip_indent(line, &len);
	if (len < 3 || (line[0] != '`' && line[0] != '~'))
		return 0;
	n = text_run(line, len, line[0]);
	return n >= 3 && (line[0] == '~' || memchr(line + n, '`', len - n) == NULL) ? n : 0;
}

static bool closes_fence(const struct markdown *markdown, const char *line, size_t len)
{
	size_t n;

	line = skip_indent(line, &len);
	n = text_run(line, len, markdown->fence);
	return n >= markdown->fence_len && indent_of(line + n, len - n) == len - n;
}

/*
 * Whether a bullet or a number begins an item; `any`: also one that cannot interrupt a paragraph.
 */
static bool begins_item(const char *line, size_t len, bool any)
{
	size_t digits = 0;

	line = skip_indent(line, &len);
	if (len == 0)
		return false;
	if (strchr("-+*", line[0]) != NULL)
		return len == 1 ? any : line[1] == ' ' || line[1] == '\t';
	while (digits < len && digits < 9 && line[digits] >= '0' && line[digits] <= '9')
		digits++;
	if (digits == 0 || digits == len || (line[digits] != '.' && line[digits] != ')') ||
	    (!any && (digits != 1 || line[0] != '1')))
		return false;
	return digits + 1 == len ? any : line[digits + 1] == ' ' || line[digits + 1] == '\t';
}

static bool is_heading(const char *line, size_t len)
{
	size_t n;

	line = skip_indent(line, &len);
	n = text_run(line, len, '#');
	return n > 0 && n <= 6 && (n == len || line[n] == ' ' || line[n] == '\t');
}

/* "---", "* * *", "___" */
static bool is_rule(const char *line, size_t len)
{
	size_t marks = 0;
	char mark;

	line = skip_indent(line, &len);
	if (len < 3 || strchr("-*_", line[0]) == NULL)
		return false;
	mark = line[0];
	for (size_t i = 0; i < len; i++) {
		if (line[i] == mark)
			marks++;
		else if (line[i] != ' ' && line[i] != '\t')
			return false;
	}
	return marks >= 3;
}

/* "===" or "---" below a paragraph makes it a heading. */
static bool is_underline(const char *line, size_t len)
{
	size_t n;

	line = skip_indent(line, &len);
	n = len > 0 && (line[0] == '=' || line[0] == '-') ? text_run(line, len, line[0]) : 0;
	return n > 0 && indent_of(line + n, len - n) == len - n;
}

static bool is_quote(const char *line, size_t len)
{
	line = skip_indent(line, &len);
	return len > 0 && line[0] == '>';
}

static enum kind kind_of(const char *line, size_t len)
{
	const bool is_code = indent_of(line, len) >= 4;

	if (is_code || is_heading(line, len) || is_rule(line, len))
		return KIND_OTHER;
	if (begins_item(line, len, true))
		return KIND_LIST;
	if (is_quote(line, len))
		return KIND_QUOTE;
	return memchr(line, '|', len) != NULL ? KIND_TABLE : KIND_PARAGRAPH;
}

/* ---- drawing ---- */

static int begin_drawing(struct markdown *markdown, struct buf *ret, struct err *err)
{
	const bool gap = markdown->gap && markdown->begun;

	markdown->gap = false;
	markdown->begun = true;
	return gap ? buf_addc(ret, '\n', err) : 0;
}

/* The position after `lines` lines of `text`. */
static size_t skip_lines(const struct buf *text, size_t lines)
{
	size_t at = 0;

	for (; lines > 0 && at < text->len; lines--) {
		const char *newline = memchr(text->data + at, '\n', text->len - at);

		at = newline != NULL ? (size_t)(newline - text->data) + 1 : text->len;
	}
	return at;
}

/* Draws those lines of the growing paragraph that later text cannot change. */
static int draw_stable(struct markdown *markdown, bool with_line, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(3 * MARKDOWN_BLOCK_MAX);
	cleanup_buf struct buf drawn = BUF_INIT(DRAWN_MAX);
	const struct markdown_look look = { .width = markdown->look.width };
	struct markdown_lines lines = { 0 };
	size_t from, to;

	if (markdown->block.len + markdown->line.len > GROWING_MAX)
		return 0;
	if (buf_add(&text, buf_text(&markdown->block), markdown->block.len, err) < 0 ||
	    (with_line &&
	     buf_add(&text, buf_text(&markdown->line), markdown->line.len, err) < 0))
		return (int)err->code;
	text.len -= utf8_incomplete_tail(buf_text(&text), text.len);
	/* Nothing can be stable before the text is longer than one line. */
	if (text.len <= look.width ||
	    markdown_draw(&look, buf_text(&text), text.len, &lines, &drawn, err) < 0 ||
	    lines.stable <= markdown->drawn)
		return 0;
	if (markdown->block.len == 0) /* the block's first line is incomplete */
		markdown->gap = markdown->blank;
	if (markdown->drawn == 0 && begin_drawing(markdown, ret, err) < 0)
		return (int)err->code;
	from = skip_lines(&drawn, markdown->drawn);
	to = skip_lines(&drawn, lines.stable);
	markdown->drawn = lines.stable;
	return buf_add(ret, drawn.data + from, to - from, err);
}

/*
 * md4c requires three dashes below each header of a table, but models write fewer. If the second
 * line has fewer, it is rewritten.
 */
static void mend_table(struct buf *block)
{
	struct err err; /* the table is then not changed */
	const char *second = memchr(buf_text(block), '\n', block->len);
	cleanup_buf struct buf mended = BUF_INIT(block->max);
	const char *end, *const whole_end = buf_text(block) + block->len;

	second = second != NULL ? second + 1 : NULL;
	end = second != NULL ? memchr(second, '\n', (size_t)(whole_end - second)) : NULL;
	if (end == NULL || buf_add(&mended, block->data, (size_t)(second - block->data), &err) < 0)
		return;
	for (const char *at = second; at < end; at++) {
		if (memchr("|:- \t\r", *at, 6) == NULL)
			return;
		if (buf_adds(&mended, *at == '-' && at[-1] != '-' ? "---" : "", &err) < 0 ||
		    buf_addc(&mended, *at, &err) < 0)
			return;
	}
	if (buf_add(&mended, end, (size_t)(whole_end - end), &err) < 0)
		return;
	buf_done(block);
	*block = mended;
	mended = BUF_INIT(0);
}

/* Draws the complete block. */
static int flush(struct markdown *markdown, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf drawn = BUF_INIT(DRAWN_MAX);
	struct markdown_lines lines;
	const char *text;
	size_t from, len;

	if (markdown->block.len == 0)
		return 0;
	if (markdown->kind == KIND_TABLE)
		mend_table(&markdown->block);
	text = buf_text(&markdown->block);
	len = markdown->block.len;
	if (markdown_draw(&markdown->look, text, len, &lines, &drawn, err) < 0) {
		buf_clear(&drawn);
		if (markdown_draw_plain(&markdown->look, text, len, &drawn, err) < 0)
			return (int)err->code;
	}
	from = skip_lines(&drawn, markdown->drawn);
	if (markdown->drawn == 0 && drawn.len > 0 && begin_drawing(markdown, ret, err) < 0)
		return (int)err->code;
	buf_clear(&markdown->block);
	markdown->kind = KIND_NONE;
	markdown->drawn = 0;
	markdown->inner_fence = false;
	return buf_add(ret, buf_text(&drawn) + from, drawn.len - from, err);
}

/* ---- lines ---- */

static int append(struct markdown *markdown, const char *line, size_t len, struct buf *ret,
		  struct err *err)
{
	if (markdown->block.len + len + 1 > MARKDOWN_BLOCK_MAX && flush(markdown, ret, err) < 0)
		return (int)err->code;
	if (markdown->block.len == 0) {
		markdown->kind = kind_of(line, len);
		markdown->gap = markdown->blank;
	}
	markdown->blank = false;
	if (buf_add(&markdown->block, line, len, err) < 0 ||
	    buf_addc(&markdown->block, '\n', err) < 0)
		return (int)err->code;
	if (markdown->kind == KIND_PARAGRAPH)
		return draw_stable(markdown, false, ret, err);
	/* Headings and rules are complete; indented code can continue. */
	return markdown->kind == KIND_OTHER && indent_of(line, len) < 4 ? flush(markdown, ret, err)
									: 0;
}

/* Whether the line begins another block than the current one. */
static bool ends_block(const struct markdown *markdown, const char *line, size_t len)
{
	const bool is_indented = indent_of(line, len) >= 2;

	switch (markdown->kind) {
	case KIND_NONE:
		return false;
	case KIND_LIST:
		if (markdown->inner_fence || is_indented)
			return false;
		return markdown->blank || begins_item(line, len, true) || is_heading(line, len) ||
		       is_quote(line, len) || is_rule(line, len) || opens_fence(line, len) > 0;
	case KIND_QUOTE:
		return !is_quote(line, len);
	case KIND_PARAGRAPH:
	case KIND_TABLE:
		/* A partly drawn paragraph cannot become a heading any more. */
		if (is_underline(line, len))
			return markdown->drawn > 0;
		return begins_item(line, len, false) || is_heading(line, len) ||
		       is_quote(line, len) || is_rule(line, len);
	case KIND_OTHER:
		return indent_of(line, len) < 4;
	}
	return true;
}

static int take_blank(struct markdown *markdown, struct buf *ret, struct err *err)
{
	/* A blank line may be between blocks of one item; the next line decides. */
	if (markdown->kind == KIND_LIST) {
		markdown->blank = true;
		return buf_addc(&markdown->block, '\n', err);
	}
	if (flush(markdown, ret, err) < 0)
		return (int)err->code;
	markdown->blank = true;
	return 0;
}

static int open_fence(struct markdown *markdown, const char *line, size_t len, struct buf *ret,
		      struct err *err)
{
	const size_t fence = opens_fence(line, len);

	line = skip_indent(line, &len);
	markdown->fence = line[0];
	markdown->fence_len = fence;
	markdown->gap = markdown->blank;
	markdown->blank = false;
	return begin_drawing(markdown, ret, err);
}

static int take_code(struct markdown *markdown, const char *line, size_t len, struct buf *ret,
		     struct err *err)
{
	if (!closes_fence(markdown, line, len))
		return markdown_draw_code(line, len, ret, err);
	markdown->fence = '\0';
	return 0;
}

/* Handles a line without its newline. */
static int take_line(struct markdown *markdown, const char *line, size_t len, struct buf *ret,
		     struct err *err)
{
	const size_t fence = opens_fence(line, len);
	size_t rest = len;

	if (len > 0 && line[len - 1] == '\r')
		rest = --len;
	if (markdown->fence != '\0')
		return take_code(markdown, line, len, ret, err);
	(void)skip_indent(line, &rest);
	if (rest == 0 && !markdown->inner_fence)
		return take_blank(markdown, ret, err);
	if (ends_block(markdown, line, len) && flush(markdown, ret, err) < 0)
		return (int)err->code;
	if (fence > 0 && markdown->kind != KIND_LIST && indent_of(line, len) < 4) {
		if (flush(markdown, ret, err) < 0)
			return (int)err->code;
		return open_fence(markdown, line, len, ret, err);
	}
	if (fence > 0)
		markdown->inner_fence = !markdown->inner_fence;
	return append(markdown, line, len, ret, err);
}

/* Handles a part of a line that is longer than any line needs to be. */
static int cut_line(struct markdown *markdown, struct buf *ret, struct err *err)
{
	const size_t tail = utf8_incomplete_tail(markdown->line.data, markdown->line.len);
	const size_t len = markdown->line.len - tail;

	if (take_line(markdown, markdown->line.data, len, ret, err) < 0)
		return (int)err->code;
	buf_consume(&markdown->line, len);
	return 0;
}

static int add_some(struct markdown *markdown, const char *text, size_t len, struct buf *ret,
		    struct err *err)
{
	while (len > 0) {
		const size_t room = markdown->line.max - markdown->line.len;
		const size_t n = len < room ? len : room;

		if (buf_add(&markdown->line, text, n, err) < 0)
			return (int)err->code;
		text += n;
		len -= n;
		if (markdown->line.len == markdown->line.max && cut_line(markdown, ret, err) < 0)
			return (int)err->code;
	}
	return 0;
}

/* Whether the incomplete line continues a paragraph, whatever follows. */
static bool grows(const struct markdown *markdown)
{
	const char *line = buf_text(&markdown->line);
	const size_t len = markdown->line.len;
	size_t first = len;

	if (markdown->fence != '\0' ||
	    (markdown->kind != KIND_NONE && markdown->kind != KIND_PARAGRAPH))
		return false;
	/* The line is too short to tell what it begins. */
	(void)skip_indent(line, &first);
	return first > 10 && kind_of(line, len) == KIND_PARAGRAPH && opens_fence(line, len) == 0 &&
	       line[0] != '[' && !is_underline(line, len);
}

int markdown_add(struct markdown *markdown, const char *text, size_t len, struct buf *ret,
		 struct err *err)
{
	while (len > 0) {
		const char *newline = memchr(text, '\n', len);
		const size_t n = newline != NULL ? (size_t)(newline - text) : len;

		if (add_some(markdown, text, n, ret, err) < 0)
			return (int)err->code;
		text += n + (newline != NULL);
		len -= n + (newline != NULL);
		if (newline == NULL)
			break;
		if (take_line(markdown, buf_text(&markdown->line), markdown->line.len, ret, err) <
		    0)
			return (int)err->code;
		buf_clear(&markdown->line);
	}
	return grows(markdown) ? draw_stable(markdown, true, ret, err) : 0;
}

/* Draws the block and the incomplete line as if the text ended here. */
static int draw_unfinished(const struct markdown *markdown, struct buf *ret, struct err *err)
{
	const struct markdown_look look = { .width = markdown->look.width };
	cleanup_buf struct buf text = BUF_INIT(3 * MARKDOWN_BLOCK_MAX);
	const char *line = buf_text(&markdown->line);
	const size_t len = markdown->line.len - utf8_incomplete_tail(line, markdown->line.len);
	struct markdown_lines lines;

	if (markdown->fence != '\0' && opens_fence(line, len) == 0 && len > 0)
		return markdown_draw_code(line, len, ret, err);
	if (markdown->fence != '\0' || markdown->block.len + len > GROWING_MAX ||
	    buf_add(&text, buf_text(&markdown->block), markdown->block.len, err) < 0 ||
	    buf_add(&text, line, len, err) < 0)
		return 0;
	if (markdown->kind == KIND_TABLE)
		mend_table(&text);
	return markdown_draw(&look, buf_text(&text), text.len, &lines, ret, err);
}

int markdown_preview(const struct markdown *markdown, size_t lines_max, struct buf *ret,
		     struct err *err)
{
	cleanup_buf struct buf drawn = BUF_INIT(DRAWN_MAX);
	const bool begins = markdown->drawn == 0 && markdown->fence == '\0';
	const bool gap = markdown->block.len > 0 ? markdown->gap : markdown->blank;
	struct err ignored; /* cannot be drawn: there is no preview */
	size_t from, count = 0;

	if (draw_unfinished(markdown, &drawn, &ignored) < 0)
		return 0;
	from = markdown->fence == '\0' ? skip_lines(&drawn, markdown->drawn) : 0;
	for (size_t i = from; i < drawn.len; i++)
		count += drawn.data[i] == '\n';
	if (count == 0 || count > lines_max)
		return 0;
	if (begins && gap && markdown->begun && buf_addc(ret, '\n', err) < 0)
		return (int)err->code;
	return buf_add(ret, drawn.data + from, drawn.len - from - 1, err);
}

int markdown_end(struct markdown *markdown, struct buf *ret, struct err *err)
{
	if ((markdown->line.len > 0 &&
	     take_line(markdown, buf_text(&markdown->line), markdown->line.len, ret, err) < 0) ||
	    flush(markdown, ret, err) < 0)
		return (int)err->code;
	buf_clear(&markdown->line);
	markdown->fence = '\0';
	markdown->blank = markdown->gap = markdown->begun = false;
	return 0;
}
