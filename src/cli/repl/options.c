/*
 * options.c - the options of reckon repl: those of run that make sense, and its own.
 *
 * Runs in:  reckon.
 * Reads:    the command line.
 * Never:    opens what it names; that is run/input.c's.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/repl/repl.h"
#include "cli/run/options.h"

static const struct opt_item repl_items[] = {
	RUN_OPTIONS_WHERE,
	{ OPT_TIMEOUT, "timeout", "TIME", "limit of one cell (none: Ctrl-C stops it)",
	  OPT_HINT_NONE, NULL, false },
	RUN_OPTIONS_LIMITS,
	{ OPT_IMAGES, "images", "HOW", "auto, kitty, sixel, iterm2, blocks, none",
	  OPT_HINT_CHOICE, "auto kitty sixel iterm2 blocks none", false },
	{ OPT_NO_HISTORY, "no-history", NULL, "neither read nor write the history",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_RECEIPT, "receipt", NULL, "say what each cell cost",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_STRICT, "strict", NULL, "refuse to run when a wall is missing",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_PRIVATE, "private", NULL, "a warden of its own, for this session",
	  OPT_HINT_NONE, NULL, false },
};

int repl_options_take(int id, const char *value, void *arg, struct err *err)
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

const struct opt_command cmd_repl_table = {
	.name = "repl",
	.operands = "",
	.summary = "an interactive session at the terminal",
	.notes = "%help lists its commands. Ctrl-C stops a cell, Ctrl-D leaves.\n"
		 "Sizes: 512M, 1.5G. Times: 500ms, 30s, 2m.",
	.items = repl_items,
	.count = ARRAY_LEN(repl_items),
	.run = cmd_repl,
};
