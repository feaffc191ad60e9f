/*
 * main.c - reckon repl: an interactive session at the terminal.
 *
 * Runs in:  reckon.
 * Reads:    nothing itself: read.c cells, options.c the command line.
 * Never:    ends a session that holds something without being asked twice.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/repl/repl.h"
#include "cli/term/look.h"
#include "cli/term/width.h"

/* ---- signals ---- */

static _Atomic(reckon_session *) running; /* lent to the handler while a cell runs */
static atomic_int interrupts;

void repl_lend(reckon_session *session)
{
	atomic_store(&running, session);
}

static void on_signal(int signo)
{
	const int saved = errno;
	reckon_session *session = atomic_load(&running);

	if (signo == SIGINT)
		(void)atomic_fetch_add(&interrupts, 1);
	if (signo == SIGINT && session != NULL)
		reckon_interrupt(session);
	else
		editor_signal(signo);
	errno = saved;
}

static void on_ignored(int signo)
{
	(void)signo;
}

/* Without SA_RESTART: a read at the terminal has to end. Handlers rather than SIG_IGN, because
 * what we start must find the defaults again. */
static void set_signals(bool has_editor)
{
	struct sigaction noticed = { .sa_handler = on_signal };
	struct sigaction ignored = { .sa_handler = on_ignored, .sa_flags = SA_RESTART };

	(void)sigaction(SIGINT, &noticed, NULL);
	(void)sigaction(SIGPIPE, &ignored, NULL);
	if (!has_editor)
		return;
	(void)sigaction(SIGWINCH, &noticed, NULL);
	(void)sigaction(SIGQUIT, &ignored, NULL);
}

/* ---- the loop ---- */

static void greet(const struct repl *repl)
{
	if (repl->interactive)
		run_output_line("Reckon " RECKON_VERSION
				", %s. %%help lists commands, Ctrl-D leaves.",
				run_language(&repl->run)->name);
}

/* What would go with the session is not given up by one slip of the fingers. */
static bool may_leave(struct repl *repl, bool asked_before)
{
	if (!repl->interactive || repl->lost || repl->cell_count == 0 || asked_before)
		return true;
	run_output_line("Ctrl-D again leaves: variables and files go with the session (%%save, "
			"%%get)");
	return false;
}

static void one_cell(struct repl *repl, const struct buf *cell)
{
	struct err err;

	if (cell->len == 0)
		return;
	if (run_input_check_source(cell->data, cell->len, &err) < 0) {
		(void)cli_complain(&err);
		return;
	}
	if (repl->interactive)
		history_add(repl->history, cell->data, cell->len);
	if (!repl_command(repl, cell->data, cell->len))
		repl_run(repl, cell->data, cell->len);
}

static void loop(struct repl *repl)
{
	bool asked = false;

	while (!repl->leaving && repl->output.status == 0) {
		cleanup_buf struct buf cell = BUF_INIT(RUN_SOURCE_MAX);

		switch (repl_read(repl, &cell)) {
		case EDITOR_EOF:
			if (repl->interactive && repl->editor == NULL)
				repl_print("\n");
			if (may_leave(repl, asked))
				return;
			asked = true;
			break;
		case EDITOR_CANCELLED:
			asked = false;
			if (!repl->interactive)
				repl->leaving = true;
			break;
		case EDITOR_CELL:
			asked = false;
			one_cell(repl, &cell);
			break;
		}
	}
}

static int open_terminal(struct repl *repl, struct err *err)
{
	struct editor_hooks hooks = repl_look_hooks;
	char path[PATH_MAX];
	struct err why;

	hooks.arg = repl;
	repl->reader = repl_reader_new();
	if (!repl->interactive)
		return history_open(NULL, &repl->history, err);
	if (history_open(!repl->no_history && history_path(path, &why) == 0 ? path : NULL,
			 &repl->history, &why) < 0)
		run_output_line("reckon: no history: %s", why.text);
	if (repl->dumb)
		return 0;
	return editor_open(&hooks, repl->history, &repl->editor, err);
}

static int run_session(struct repl *repl)
{
	cleanup_fd int out_dir = -1;
	struct err err;
	int status;

	if (open_terminal(repl, &err) < 0)
		return cli_complain(&err);
	if (repl->run.out_path != NULL &&
	    run_files_open_dir(repl->run.out_path, &out_dir, &err) < 0) {
		err_wrap(&err, "repl: --output");
		(void)cli_complain(&err);
		return EXIT_CODE_USAGE;
	}
	repl->output.out_dir = out_dir;
	set_signals(repl->editor != NULL);
	status = repl_session_open(repl);
	if (status == EXIT_CODE_OK) {
		greet(repl);
		loop(repl);
		status = repl->output.status != 0 ? repl->output.status : repl->status;
		/* A person saw what failed; for a pipe it is all there is. */
		if (repl->interactive && repl->output.status == 0)
			status = EXIT_CODE_OK;
		else if (!repl->interactive && atomic_load(&interrupts) > 0)
			status = EXIT_CODE_INTERRUPTED;
	}
	repl_session_close(repl);
	return status;
}

static int run_engine(struct repl *repl)
{
	int status = run_open_engine(&repl->run, "repl", &repl->engine);

	if (status != EXIT_CODE_OK)
		return status;
	repl->output.engine = repl->engine;
	status = run_session(repl);
	reckon_engine_close(repl->engine);
	return status;
}

static void look_around(struct repl *repl)
{
	term_width_locale();
	run_output_init(&repl->output, &repl->run);
	repl->output.wall_option = "%time-limit";
	repl->interactive = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
	repl->dumb = term_is_dumb();
	repl->coloured = term_has_colour(STDOUT_FILENO);
	if (repl->images == TERM_IMAGE_AUTO)
		repl->images = isatty(STDOUT_FILENO) ? term_image_detect() : TERM_IMAGE_NONE;
	repl->wall_ms = repl->run.limits.wall_ms != 0 ? repl->run.limits.wall_ms : REPL_WALL_MS;
	repl->number = 1;
}

static void repl_done(struct repl *repl)
{
	editor_close(repl->editor);
	history_free(repl->history);
	repl_reader_free(repl->reader);
	repl_cells_done(repl);
	repl_files_done(repl);
	buf_done(&repl->preload);
	run_done(&repl->run);
}

int cmd_repl(const struct opt_command *self, int argc, char **argv)
{
	struct repl repl = { .images = TERM_IMAGE_AUTO };
	struct err err;
	int rc, status;

	run_init(&repl.run);
	repl.preload = BUF_INIT(RUN_SOURCE_MAX);
	rc = opt_parse(self, argc, argv, repl_options_take, &repl, &err);
	if (rc == 0 && run_input_load(&repl.run, &err) < 0)
		rc = err_wrap(&err, "%s", self->name);
	status = cli_settle(self, rc, &err);
	if (status < 0) {
		look_around(&repl);
		status = run_engine(&repl);
	}
	repl_done(&repl);
	return status;
}
