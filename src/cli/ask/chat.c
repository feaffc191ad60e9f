/*
 * chat.c - reckon chat: one question after the other, in one session.
 *
 * Runs in:  reckon.
 * Reads:    lines of a person, or of a pipe.
 * Never:    ends because a question could not be answered.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"

static void prompt(const struct ask *ask)
{
	if (ask->to_terminal && isatty(STDIN_FILENO))
		repl_print("%syou>%s ", ask->view.coloured ? "\x1b[1m" : "",
			   ask->view.coloured ? "\x1b[0m" : "");
}

/* One line that says something; false at the end. */
static bool read_question(struct ask *ask)
{
	const bool is_terminal = isatty(STDIN_FILENO) == 1;
	cleanup_free char *line = NULL;
	size_t size = 0;
	struct err err;

	for (;;) {
		ssize_t len = -1;

		ask_interrupts_clear();
		prompt(ask);
		if (!is_terminal || ask_wait_for_line(STDIN_FILENO))
			len = getline(&line, &size, stdin);
		/* Ctrl-C at the prompt; the end may have come right behind it. */
		if (len < 0 && ask_interrupts() > 0 && !feof(stdin)) {
			clearerr(stdin);
			run_output_line("Ctrl-D leaves");
			continue;
		}
		if (len < 0)
			return false;
		while (len > 0 && (line[len - 1] == '\n' || line[len - 1] == '\r'))
			line[--len] = '\0';
		if (strspn(line, " \t") == (size_t)len)
			continue;
		buf_clear(&ask->question);
		if (run_input_check_source(line, (size_t)len, &err) == 0 &&
		    buf_add(&ask->question, line, (size_t)len, &err) == 0)
			return true;
		(void)cli_complain(&err);
	}
}

/* What the last question left; steps and their records stay. */
static void forget(struct ask *ask)
{
	ask->prose_open = false;
	err_clear(&ask->why);
}

static void say_kept(const struct ask *ask)
{
	if (ask->keep.fd >= 0 && ask->to_terminal && isatty(STDIN_FILENO))
		run_output_line("kept as run %s; reckon chat --resume goes on with it",
				ask->keep.journal.id);
}

int ask_chat(struct ask *ask, struct err *err)
{
	bool begun = false;

	if (ask->to_terminal && isatty(STDIN_FILENO))
		run_output_line("%s/%s. Ctrl-C stops an answer, Ctrl-D leaves.", ask->provider,
				ask->model);
	/* What was read ahead could not be waited for. */
	if (isatty(STDIN_FILENO))
		(void)setvbuf(stdin, NULL, _IONBF, 0);
	while (ask->view.output.status == 0 && read_question(ask)) {
		begun = true;
		if (ask_converse(ask, err) < 0)
			return (int)err->code;
		(void)ask_conclude(ask);
		if (ask->stop == AGENT_STOP_LOST)
			break;
		forget(ask);
	}
	if (ask->to_terminal && isatty(STDIN_FILENO))
		repl_print("\n");
	if (begun && ask_save(ask) != EXIT_CODE_OK)
		ask->view.output.unsaved = true;
	say_kept(ask);
	return 0;
}
