/*
 * read.c - cells from a pipe or a dumb terminal, line by line; answers to input().
 *
 * Runs in:  reckon repl.
 * Reads:    standard input.
 * Never:    takes more of it than belongs to a cell that is run.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/repl/repl.h"
#include "languages/languages.h"

#define LINE_MAX_BYTES RUN_SOURCE_MAX

struct repl_reader {
	char bytes[16384];
	size_t at, len;
	bool eof;
};

struct repl_reader *repl_reader_new(void)
{
	return mem_new0(1, sizeof(struct repl_reader));
}

void repl_reader_free(struct repl_reader *reader)
{
	free(reader);
}

enum line { LINE_ONE, LINE_EOF, LINE_INTERRUPTED };

/* Appends a line with its newline, if it has one. */
static enum line read_line(struct repl_reader *reader, struct buf *ret)
{
	struct err ignored;

	for (;;) {
		const char *from = reader->bytes + reader->at;
		const char *end = memchr(from, '\n', reader->len - reader->at);
		const size_t len = end != NULL ? (size_t)(end - from) + 1
					       : reader->len - reader->at;
		ssize_t n;

		if (buf_add(ret, from, len, &ignored) < 0)
			return LINE_EOF;
		reader->at += len;
		if (end != NULL)
			return LINE_ONE;
		if (reader->eof)
			return ret->len > 0 ? LINE_ONE : LINE_EOF;
		n = read(STDIN_FILENO, reader->bytes, sizeof(reader->bytes));
		if (n < 0 && errno == EINTR)
			return LINE_INTERRUPTED;
		reader->at = 0;
		reader->len = n > 0 ? (size_t)n : 0;
		/* At a terminal Ctrl-D ends a line, not everything that comes later. */
		reader->eof = n <= 0 && isatty(STDIN_FILENO) == 0;
		if (n <= 0 && !reader->eof)
			return ret->len > 0 ? LINE_ONE : LINE_EOF;
	}
}

/* Whether the next line has arrived and belongs to the same block. */
static bool next_is_indented(struct repl_reader *reader)
{
	struct pollfd wait = { .fd = STDIN_FILENO, .events = POLLIN };

	if (reader->at == reader->len && !reader->eof && poll(&wait, 1, 0) > 0) {
		const ssize_t n = read(STDIN_FILENO, reader->bytes, sizeof(reader->bytes));

		reader->at = 0;
		reader->len = n > 0 ? (size_t)n : 0;
		reader->eof = n == 0;
	}
	while (reader->at < reader->len && reader->bytes[reader->at] == '\n' &&
	       reader->at + 1 < reader->len)
		reader->at++;
	return reader->at < reader->len &&
	       (reader->bytes[reader->at] == ' ' || reader->bytes[reader->at] == '\t');
}

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

/* The cell without the newline of its last line: so a newline at its end is an empty line. */
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
		return !next_is_indented(repl->reader);
	return true;
}

static enum editor_end read_lines(struct repl *repl, struct buf *ret)
{
	for (;;) {
		put_prompt(repl, ret->len > 0);
		switch (read_line(repl->reader, ret)) {
		case LINE_INTERRUPTED:
			if (repl->interactive)
				repl_print("\n");
			return EDITOR_CANCELLED;
		case LINE_EOF:
			return ret->len > 0 && !is_blank(ret) ? EDITOR_CELL : EDITOR_EOF;
		case LINE_ONE:
			break;
		}
		if (is_blank(ret)) {
			buf_clear(ret);
			if (repl->interactive)
				return EDITOR_CELL;
			continue;
		}
		if ((repl->reader->eof && repl->reader->at == repl->reader->len) ||
		    ends_here(repl, ret))
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
	/* An empty line at its end said that it ends. */
	while (ret->len > 0 && strchr(" \t\n", ret->data[ret->len - 1]) != NULL &&
	       !(ret->len > 1 && ret->data[ret->len - 1] == ' ' && ret->data[ret->len - 2] == '\\'))
		ret->data[--ret->len] = '\0';
	return end;
}

/* ---- input() ---- */

static bool set_echo(bool on)
{
	struct termios mode;

	if (tcgetattr(STDIN_FILENO, &mode) < 0)
		return false;
	if (on)
		mode.c_lflag |= ECHO;
	else
		mode.c_lflag &= ~(tcflag_t)ECHO;
	return tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode) == 0;
}

int repl_read_answer(const char *prompt, size_t prompt_len, int password, char **ret_line,
		     size_t *ret_len, void *arg)
{
	struct repl *repl = arg;
	cleanup_buf struct buf line = BUF_INIT(LINE_MAX_BYTES);
	/* Before the prompt, which tells the person to type; what cannot be hidden is not asked for. */
	const bool may_read = password == 0 || set_echo(false);
	enum line got = LINE_EOF;

	run_output_text(&repl->output, STDOUT_FILENO, prompt, prompt_len);
	repl->output.out.mid_line = false; /* Enter will have ended the line */
	if (may_read)
		got = read_line(repl->reader, &line);
	if (password != 0)
		(void)set_echo(true);
	if (password != 0 || got != LINE_ONE)
		repl_print("\n");
	if (got == LINE_INTERRUPTED)
		return RECKON_STOP;
	*ret_len = line.len;
	if (got == LINE_ONE)
		*ret_line = TAKE_PTR(line.data);
	return RECKON_CONTINUE;
}
