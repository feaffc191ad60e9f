/*
 * read.c - reads cells line by line from a pipe or a dumb terminal.
 *
 * Runs in:  reckon repl.
 * Reads:    standard input.
 * Never:    returns more than one cell, so a cell that reads stdin gets the rest.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/repl/lines.h"
#include "cli/repl/repl.h"
#include "languages/languages.h"

static void put_prompt(const struct repl *repl, bool more)
{
	char prompt[48];
	int len;

	if (!repl->interactive)
		return;
	len = snprintf(prompt, sizeof(prompt), "In [%zu]: ", repl->number);
	if (more)
		repl_print("%*s: ", len - 2, "...");
	else
		repl_print("%s", prompt);
}

static bool is_blank(const struct buf *text)
{
	return strspn(buf_text(text), " \t\n") == text->len;
}

/* Checks the text without its last newline, so that a newline at the end means an empty line. */
static bool ends_here(struct repl *repl, const struct buf *text)
{
	cleanup_buf struct buf indent = BUF_INIT(4096);
	size_t len = text->len;

	if (len > 0 && text->data[len - 1] == '\n')
		len--;
	if (repl_command_is(text->data, len))
		return true;
	if (repl_look_whole(repl, text->data, len, &indent) == REPL_PART)
		return false;
	if (!repl->interactive && memchr(text->data, '\n', len) != NULL)
		return !repl_lines_next_is_indented(repl->reader);
	return true;
}

static enum editor_end read_lines(struct repl *repl, struct buf *ret)
{
	for (;;) {
		put_prompt(repl, ret->len > 0);
		switch (repl_lines_read(repl->reader, ret)) {
		case REPL_LINE_INTERRUPTED:
			if (repl->interactive)
				repl_print("\n");
			return EDITOR_CANCELLED;
		case REPL_LINE_EOF:
			return ret->len > 0 && !is_blank(ret) ? EDITOR_CELL : EDITOR_EOF;
		case REPL_LINE_ONE:
			break;
		}
		if (is_blank(ret)) {
			buf_clear(ret);
			if (repl->interactive)
				return EDITOR_CELL;
			continue;
		}
		if (repl_lines_at_end(repl->reader) || ends_here(repl, ret))
			return EDITOR_CELL;
	}
}

enum editor_end repl_read(struct repl *repl, struct buf *ret)
{
	char prompt[48];
	enum editor_end end;

	if (repl->editor == NULL) {
		end = read_lines(repl, ret);
	} else {
		(void)snprintf(prompt, sizeof(prompt), "%s [%zu]: ",
			       run_language(&repl->run)->prompt_label, repl->number);
		end = editor_read(repl->editor, prompt, repl->coloured,
				  repl->preload.len > 0 ? repl->preload.data : NULL, ret);
		buf_clear(&repl->preload);
	}
	/* Remove the empty line that ended the cell. */
	while (ret->len > 0 && strchr(" \t\n", ret->data[ret->len - 1]) != NULL &&
	       !(ret->len > 1 && ret->data[ret->len - 1] == ' ' && ret->data[ret->len - 2] == '\\'))
		ret->data[--ret->len] = '\0';
	return end;
}
