/*
 * chat.c - reckon chat: answers one question after the other, in one session.
 *
 * Runs in:  reckon.
 * Reads:    lines that a person types, or of a pipe.
 * Never:    ends because a question could not be answered.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/repl/editor.h"
#include "cli/repl/history.h"
#include "cli/session/interrupt.h"

static void prompt(const struct ask *ask)
{
	if (ask->to_terminal && isatty(STDIN_FILENO))
		repl_print("%syou>%s ", ask->view.coloured ? "\x1b[1m" : "",
			   ask->view.coloured ? "\x1b[0m" : "");
}

static bool every_line_is_whole(void *arg, const char *text, size_t len, struct buf *ret_indent)
{
	(void)arg;
	(void)text;
	(void)len;
	(void)ret_indent;
	return true;
}

static void complete_nothing(void *arg, const char *text, size_t len, size_t cursor,
			     struct editor_matches *ret)
{
	(void)arg;
	(void)text;
	(void)len;
	(void)cursor;
	ret->count = 0;
}

/* Uses the console's editor: history, arrow keys, pasting several lines. */
static void open_editor(struct ask *ask)
{
	const struct editor_hooks hooks = { .is_whole = every_line_is_whole,
					    .complete = complete_nothing };
	struct repl *view = &ask->view;
	char path[PATH_MAX];
	struct err err;
	bool has_path;

	if (!ask->to_terminal || isatty(STDIN_FILENO) != 1 || view->dumb)
		return;
	has_path = !ask->keep.off && history_path(path, &err) == 0 &&
		   strlen(path) + sizeof("-chat") <= sizeof(path);
	if (has_path)
		memcpy(path + strlen(path), "-chat", sizeof("-chat"));
	if (history_open(has_path ? path : NULL, &view->history, &err) < 0)
		run_output_line("reckon: no history: %s", err.text);
	if (editor_open(&hooks, view->history, &view->editor, &err) < 0)
		view->editor = NULL;
}

static void close_editor(struct ask *ask)
{
	editor_close(TAKE_PTR(ask->view.editor));
	history_free(TAKE_PTR(ask->view.history));
}

static bool take_question(struct ask *ask, const char *text, size_t len)
{
	struct err err;

	buf_clear(&ask->question);
	if (run_input_check_source(text, len, &err) == 0 &&
	    buf_add(&ask->question, text, len, &err) == 0)
		return true;
	(void)cli_complain(&err);
	return false;
}

/* Like read_question(), with the editor. */
static bool edit_question(struct ask *ask)
{
	for (;;) {
		cleanup_buf struct buf line = BUF_INIT(RUN_SOURCE_MAX);
		enum editor_end end;

		interrupt_clear();
		end = editor_read(ask->view.editor, "you> ", ask->view.coloured, NULL, &line);
		if (end == EDITOR_EOF)
			return false;
		if (end == EDITOR_CANCELLED) {
			run_output_line("Ctrl-D leaves");
			continue;
		}
		if (strspn(buf_text(&line), " \t\n") == line.len)
			continue;
		history_add(ask->view.history, line.data, line.len);
		if (!ask_chat_command(ask, buf_text(&line)) &&
		    take_question(ask, line.data, line.len))
			return true;
		if (ask->view.output.status != 0)
			return false;
	}
}

/* Reads a line that is not blank; false: end of input. */
static bool read_question(struct ask *ask)
{
	const bool is_terminal = isatty(STDIN_FILENO) == 1;
	cleanup_free char *line = NULL;
	size_t size = 0;

	if (ask->view.editor != NULL)
		return edit_question(ask);
	for (;;) {
		ssize_t len = -1;

		interrupt_clear();
		prompt(ask);
		if (!is_terminal || interrupt_wait_for_line(STDIN_FILENO))
			len = getline(&line, &size, stdin);
		/* Ctrl-C at the prompt; end of input may have followed it. */
		if (len < 0 && interrupt_count() > 0 && !feof(stdin)) {
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
		if (!ask_chat_command(ask, line) && take_question(ask, line, (size_t)len))
			return true;
		if (ask->view.output.status != 0)
			return false;
	}
}

/* Forgets the state of the last question; its steps and their records stay. */
static void forget(struct ask *ask)
{
	ask->prose_open = false;
	err_clear(&ask->why);
}

static void add_usage(struct ask *ask)
{
	const struct agent_usage *one = &ask->driver.usage;
	struct agent_usage *sum = &ask->chat_usage;

	sum->requests += one->requests;
	sum->steps += one->steps;
	sum->in += one->in;
	sum->cached += one->cached;
	sum->out += one->out;
	sum->reasoning += one->reasoning;
	sum->cost_micro += one->cost_micro;
}

static void tell_stored(const struct ask *ask)
{
	if (ask->keep.fd >= 0 && ask->to_terminal && isatty(STDIN_FILENO))
		run_output_line("kept as run %s; reckon chat --resume goes on with it",
				ask->keep.journal.id);
}

int ask_chat(struct ask *ask, struct err *err)
{
	bool begun = false;

	if (ask->to_terminal && isatty(STDIN_FILENO))
		run_output_line(
			"%s/%s. /help lists commands, Ctrl-C stops an answer, Ctrl-D leaves.",
			ask->provider, ask->model);
	open_editor(ask);
	/* poll() cannot see what stdio has buffered. */
	if (isatty(STDIN_FILENO))
		(void)setvbuf(stdin, NULL, _IONBF, 0);
	while (ask->view.output.status == 0 && read_question(ask)) {
		begun = true;
		if (ask_once(ask, err) < 0) {
			close_editor(ask);
			return (int)err->code;
		}
		(void)ask_conclude(ask);
		add_usage(ask);
		if (ask->stop == AGENT_STOP_LOST)
			break;
		forget(ask);
	}
	if (ask->to_terminal && isatty(STDIN_FILENO) && ask->view.editor == NULL)
		repl_print("\n");
	close_editor(ask);
	if (begun && ask_save(ask) != EXIT_CODE_OK)
		ask->view.output.unsaved = true;
	tell_stored(ask);
	return 0;
}
