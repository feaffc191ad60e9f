/*
 * main.c - reckon repl: an interactive session at the terminal.
 *
 * Runs in:  reckon; with -s reckon-client.
 * Reads:    the command line; read.c reads cells.
 * Never:    ends a session that has run cells without asking twice.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/repl/repl.h"
#include "cli/run/options.h"
#include "cli/session/interrupt.h"
#include "cli/term/look.h"
#include "cli/term/width.h"

/* ---- signals ---- */

static void on_ignored(int signo)
{
	(void)signo;
}

/*
 * A signal has to end a read at the terminal. We set handlers, not SIG_IGN, because child processes
 * would inherit SIG_IGN.
 */
static void set_signals(bool has_editor)
{
	struct sigaction noticed = { .sa_handler = editor_signal };
	struct sigaction ignored = { .sa_handler = on_ignored, .sa_flags = SA_RESTART };

	interrupt_ignore_pipes();
	interrupt_catch(&(struct interrupt_options){ .ends_reads = true, .also = editor_signal });
	if (!has_editor)
		return;
	(void)sigaction(SIGWINCH, &noticed, NULL);
	(void)sigaction(SIGQUIT, &ignored, NULL);
}

/* ---- the loop ---- */

static void greet(const struct repl *repl)
{
	const char *name = repl->session->name;

	if (repl->interactive)
		run_output_line("Reckon " RECKON_VERSION
				", %s%s%s. %%help lists commands, Ctrl-D leaves.",
				run_language(&repl->run)->name, name != NULL ? ", session " : "",
				name != NULL ? name : "");
}

/* One accidental Ctrl-D must not end a session whose variables and files would be lost. */
static bool may_leave(struct repl *repl, bool is_warned)
{
	const bool stays = repl->session->id != NULL;

	if (!repl->interactive || repl->lost || stays || repl->cell_count == 0 || is_warned)
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
	bool is_warned = false;

	while (!repl->leaving && repl->output.status == 0) {
		cleanup_buf struct buf cell = BUF_INIT(RUN_SOURCE_MAX);

		switch (repl_read(repl, &cell)) {
		case EDITOR_EOF:
			if (repl->interactive && repl->editor == NULL)
				repl_print("\n");
			if (may_leave(repl, is_warned))
				return;
			is_warned = true;
			break;
		case EDITOR_CANCELLED:
			is_warned = false;
			if (!repl->interactive)
				repl->leaving = true;
			break;
		case EDITOR_CELL:
			is_warned = false;
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

static int run_session(struct repl *repl, session_open_fn *open)
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
	status = repl_session_open(repl, open);
	if (status == EXIT_CODE_OK) {
		greet(repl);
		loop(repl);
		status = repl->output.status != 0 ? repl->output.status : repl->status;
		/* A person has seen what failed; a script has only the exit status. */
		if (repl->interactive && repl->output.status == 0)
			status = EXIT_CODE_OK;
		else if (!repl->interactive && interrupt_count() > 0)
			status = EXIT_CODE_INTERRUPTED;
	}
	repl_session_close(repl);
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

/* ---- the command line ---- */

static const struct opt_item repl_items[] = {
	{ 's', "session", "NAME", "in a session that stays (reckon session --help)", OPT_HINT_LIVE,
	  OPT_LIVE_SESSIONS, false },
	RUN_OPTIONS_WHERE,
	{ OPT_TIMEOUT, "timeout", "TIME", "limit of one cell (none: Ctrl-C stops it)",
	  OPT_HINT_NONE, NULL, false },
	RUN_OPTIONS_LIMITS,
	{ OPT_IMAGES, "images", "HOW", "auto, kitty, sixel, iterm2, blocks, none", OPT_HINT_CHOICE,
	  "auto kitty sixel iterm2 blocks none", false },
	{ OPT_NO_HISTORY, "no-history", NULL, "neither read nor write the history", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_RECEIPT, "receipt", NULL, "print the cost of each cell", OPT_HINT_NONE, NULL, false },
	RUN_OPTION_STRICT,
	{ OPT_PRIVATE, "private", NULL, "a warden of its own, for this session", OPT_HINT_NONE,
	  NULL, false },
	RUN_OPTIONS_STORAGE(true),
	{ OPT_URL, "url", "URL", "the daemon of -s (RECKON_URL; else your private one)",
	  OPT_HINT_NONE, NULL, false, true },
	{ OPT_KEY, "key", "KEY", "its API key; RECKON_API_KEY keeps it out of ps", OPT_HINT_NONE,
	  NULL, false, true },
	{ OPT_NO_WAIT, "no-wait", NULL, "fail when the daemon is busy (waits 60 s)", OPT_HINT_NONE,
	  NULL, false, true },
};

static int take_option(int id, const char *value, void *arg, struct err *err)
{
	struct repl *repl = arg;

	switch (id) {
	case OPT_IMAGES:
		if (term_image_parse(value, &repl->images, err) < 0)
			return err_wrap(err, "--images");
		return 0;
	case OPT_NO_HISTORY:
		repl->no_history = true;
		return 0;
	case OPT_OPERAND:
		err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
		return err_remedy(err, "-f FILE puts a file in, %%run FILE runs one");
	default:
		return run_options_take(id, value, &repl->run, err);
	}
}

int repl_command_run(const struct opt_command *self, int argc, char **argv,
		     session_open_fn *daemon)
{
	struct repl repl = { .images = TERM_IMAGE_AUTO };
	struct err err;
	int rc, status;

	run_init(&repl.run);
	repl.preload = BUF_INIT(RUN_SOURCE_MAX);
	rc = opt_parse(self, argc, argv, take_option, &repl, &err);
	/* reckon-client handles a daemon's sessions; it checks the other options, too. */
	if (rc == 0 && repl.run.session != NULL && daemon == NULL) {
		status = remote_hand_over(argc, argv, repl.run.key);
		repl_done(&repl);
		return status;
	}
	if (rc == 0 && (run_options_check_session(&repl.run, &err) < 0 ||
			run_input_load(&repl.run, &err) < 0))
		rc = err_wrap(&err, "%s", self->name);
	status = cli_settle(self, rc, &err);
	if (status < 0) {
		look_around(&repl);
		status = run_session(&repl, repl.run.session != NULL ? daemon : session_open_own);
	}
	repl_done(&repl);
	return status;
}

int cmd_repl(const struct opt_command *self, int argc, char **argv)
{
	return repl_command_run(self, argc, argv, NULL);
}

const struct opt_command cmd_repl_table = {
	.name = "repl",
	.operands = "",
	.summary = "work in a session interactively",
	.notes = "%help lists the commands. Ctrl-C stops a cell, Ctrl-D exits.\n"
		 "Sizes: 512M, 1.5G. Times: 500ms, 30s, 2m.",
	.items = repl_items,
	.count = ARRAY_LEN(repl_items),
	.run = cmd_repl,
};
