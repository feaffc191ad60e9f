/*
 * lines.c - reads lines of standard input, and answers to input().
 *
 * Runs in:  reckon repl.
 * Reads:    standard input.
 * Never:    returns more than the line that a cell or a prompt needs.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/repl/lines.h"
#include "cli/repl/repl.h"
#include "cli/term/look.h"

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

enum repl_line repl_lines_read(struct repl_reader *reader, struct buf *ret)
{
	struct err ignored;

	for (;;) {
		const char *from = reader->bytes + reader->at;
		const char *end = memchr(from, '\n', reader->len - reader->at);
		const size_t len = end != NULL ? (size_t)(end - from) + 1
					       : reader->len - reader->at;
		ssize_t n;

		if (buf_add(ret, from, len, &ignored) < 0)
			return REPL_LINE_EOF;
		reader->at += len;
		if (end != NULL)
			return REPL_LINE_ONE;
		if (reader->eof)
			return ret->len > 0 ? REPL_LINE_ONE : REPL_LINE_EOF;
		n = read(STDIN_FILENO, reader->bytes, sizeof(reader->bytes));
		if (n < 0 && errno == EINTR)
			return REPL_LINE_INTERRUPTED;
		reader->at = 0;
		reader->len = n > 0 ? (size_t)n : 0;
		/* On a terminal, Ctrl-D ends only this read; later reads can succeed. */
		reader->eof = n <= 0 && isatty(STDIN_FILENO) == 0;
		if (n <= 0 && !reader->eof)
			return ret->len > 0 ? REPL_LINE_ONE : REPL_LINE_EOF;
	}
}

bool repl_lines_next_is_indented(struct repl_reader *reader)
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

bool repl_lines_at_end(const struct repl_reader *reader)
{
	return reader->eof && reader->at == reader->len;
}

/* ---- input() ---- */

int repl_read_answer(const char *prompt, size_t prompt_len, int password, char **ret_line,
		     size_t *ret_len, void *arg)
{
	struct repl *repl = arg;
	cleanup_buf struct buf line = BUF_INIT(RUN_SOURCE_MAX);
	/*
	 * Turn echo off before the prompt invites the person to type. If that fails, read nothing.
	 */
	const bool may_read = password == 0 || term_set_echo(false);
	enum repl_line got = REPL_LINE_EOF;

	run_output_text(&repl->output, STDOUT_FILENO, prompt, prompt_len);
	repl->output.out.mid_line = false; /* the person's Enter ends the line */
	if (may_read)
		got = repl_lines_read(repl->reader, &line);
	if (password != 0)
		(void)term_set_echo(true);
	if (password != 0 || got != REPL_LINE_ONE)
		repl_print("\n");
	if (got == REPL_LINE_INTERRUPTED)
		return RECKON_STOP;
	*ret_len = line.len;
	if (got == REPL_LINE_ONE)
		*ret_line = TAKE_PTR(line.data);
	return RECKON_CONTINUE;
}
