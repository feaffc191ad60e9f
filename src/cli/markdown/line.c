/*
 * line.c - writes a line of a block of Markdown with its indentation.
 *
 * Runs in:  reckon.
 * Reads:    text that term/text.c has escaped.
 * Never:    indents deeper than a few levels.
 */
#include <stdio.h>
#include <string.h>

#include "cli/markdown/drawing.h"

#define WIDTH_LEAST 10u
#define DIM_ON "\x1b[2m"
#define STYLE_OFF "\x1b[0m"

struct markdown_level *markdown_top(struct markdown_drawing *drawing)
{
	return &drawing->levels[drawing->depth < MARKDOWN_DEPTH_MAX ? drawing->depth
								    : MARKDOWN_DEPTH_MAX];
}

unsigned markdown_write_prefix(struct markdown_drawing *drawing,
			       char prefix[MARKDOWN_PREFIX_MAX])
{
	const size_t depth = drawing->depth < MARKDOWN_DEPTH_MAX ? drawing->depth
								 : MARKDOWN_DEPTH_MAX;
	unsigned columns = 0;
	size_t len = 0;

	prefix[0] = '\0';
	for (size_t i = 1; i <= depth; i++) {
		struct markdown_level *level = &drawing->levels[i];

		if (level->type == MD_BLOCK_QUOTE) {
			len += (size_t)snprintf(prefix + len, MARKDOWN_PREFIX_MAX - len, DIM_ON "│" STYLE_OFF
						" ");
		} else if (level->type == MD_BLOCK_LI) {
			len += (size_t)snprintf(prefix + len, MARKDOWN_PREFIX_MAX - len, "%*s%s",
						level->is_marked ? (int)level->columns : 0, "",
						level->is_marked ? "" : level->bullet);
			level->is_marked = true;
		}
		columns += level->columns;
	}
	return columns;
}

static unsigned indent_of(const struct markdown_drawing *drawing)
{
	const size_t depth = drawing->depth < MARKDOWN_DEPTH_MAX ? drawing->depth
								 : MARKDOWN_DEPTH_MAX;
	unsigned columns = 0;

	for (size_t i = 1; i <= depth; i++)
		columns += drawing->levels[i].columns;
	return columns;
}

size_t markdown_room(const struct markdown_drawing *drawing)
{
	const size_t columns = indent_of(drawing);

	return drawing->look->width > columns + WIDTH_LEAST ? drawing->look->width - columns
							    : WIDTH_LEAST;
}

int markdown_put_line(struct markdown_drawing *drawing, size_t from, size_t end, unsigned styles)
{
	char prefix[MARKDOWN_PREFIX_MAX];

	(void)markdown_write_prefix(drawing, prefix);
	/* Do not write trailing spaces on an empty line. */
	for (size_t len = strlen(prefix); from == end && len > 0 && prefix[len - 1] == ' ';)
		prefix[--len] = '\0';
	if (buf_adds(drawing->ret, prefix, &drawing->err) < 0 ||
	    term_text_put(&drawing->text, from, end, styles, drawing->ret, &drawing->err) < 0)
		return (int)drawing->err.code;
	drawing->lines.count++;
	return buf_addc(drawing->ret, '\n', &drawing->err);
}
