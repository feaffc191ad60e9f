/*
 * approve.c - asks a person whether a cell may run.
 *
 * Runs in:  reckon ask, reckon chat.
 * Reads:    hostile code, which it prints; a line that the person types.
 * Never:    accepts an answer that was typed before the question, or any other word.
 *
 * Code and question go to the terminal itself, because stdout and stderr may be files or pipes,
 * where the person does not see them.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/reveal.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/session/interrupt.h"

#define LINE_SHOWN_MAX (RUN_SOURCE_MAX * 16) /* each byte as "ESC[7m\xNN ESC[0m" */

static bool has_writable_mount(const struct ask *ask)
{
	for (size_t i = 0; i < ask->view.run.mount_count; i++)
		if (ask->view.run.mounts[i].writable)
			return true;
	return false;
}

bool ask_needs_approval(const struct ask *ask)
{
	if (ask->approved_all)
		return false;
	return ask->approve == ASK_APPROVE_ALWAYS ||
	       (ask->approve == ASK_APPROVE_WRITES && has_writable_mount(ask));
}

/* Resets colours first: a box's output may have reached this terminal through a pipe. */
static int show_code(int tty, const char *code, size_t len, bool is_plain, struct err *err)
{
	static const char bar[] = "\xe2\x94\x82 "; /* │ */

	while (len > 0) {
		cleanup_buf struct buf shown = BUF_INIT(LINE_SHOWN_MAX);
		const char *end = memchr(code, '\n', len);
		const size_t line = end != NULL ? (size_t)(end - code) : len;

		if ((!is_plain && buf_adds(&shown, "\x1b[0m", err) < 0) ||
		    buf_adds(&shown, bar, err) < 0 ||
		    reveal_line(code, line, !is_plain, &shown, err) < 0 ||
		    buf_addc(&shown, '\n', err) < 0 ||
		    fd_write_full(tty, shown.data, shown.len, err) < 0)
			return (int)err->code;
		code += line + (end != NULL);
		len -= line + (end != NULL);
	}
	return 0;
}

/*
 * The first letter of a word that was typed as the letter or in full: "abort" is not [a]ll. 0: any
 * other text.
 */
static char read_word(const char *line, size_t len)
{
	static const char *const words[] = { "yes", "no", "all", "quit" };

	while (len > 0 && strchr(" \t\r\n", line[len - 1]) != NULL && line[len - 1] != '\0')
		len--;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if ((len == 1 && line[0] == words[i][0]) ||
		    (len == strlen(words[i]) && memcmp(line, words[i], len) == 0))
			return words[i][0];
	return '\0';
}

static char ask_person(int tty)
{
	static const char question[] = "Run it? [y]es, [n]o, [a]ll from here on, [q]uit: ";
	struct err ignored;

	/* Discard what was typed before the question: a cell may have printed a fake one. */
	(void)tcflush(tty, TCIFLUSH);
	for (;;) {
		char line[64], word;
		ssize_t n;

		if (fd_write_full(tty, question, sizeof(question) - 1, &ignored) < 0 ||
		    !interrupt_wait_for_line(tty))
			return 'q';
		n = read(tty, line, sizeof(line));
		if (n <= 0)
			return 'q';
		word = read_word(line, (size_t)n);
		if (word != '\0')
			return word;
	}
}

char ask_approval(struct ask *ask, const char *code, size_t len)
{
	cleanup_fd int tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	char word = 'q';
	struct err err;

	run_output_settle(&ask->view.output);
	if (tty < 0)
		run_output_line("reckon: there is no terminal to ask whether a cell may run");
	else if (show_code(tty, code, len, ask->view.dumb, &err) < 0)
		(void)cli_complain(&err);
	else
		word = ask_person(tty);
	/* Quit like Ctrl-C; do not count it twice. */
	if (word == 'q' && interrupt_count() == 0)
		(void)raise(SIGINT);
	ask->approved_all = ask->approved_all || word == 'a';
	return word == 'a' ? 'y' : word;
}
