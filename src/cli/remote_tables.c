/*
 * remote_tables.c - the options of the commands that ask a daemon.
 *
 * Runs in:  reckon (help, completion), reckon-client.
 * Reads:    nothing.
 * Never:    needs libcurl.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote.h"

enum { OPT_ALL = OPT_LONG };

static const struct opt_item ls_items[] = {
	{ 'a', "all", NULL, "also those that ended", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command ls_table = {
	.name = "session ls",
	.operands = "",
	.summary = "list sessions, newest first",
	.items = ls_items,
	.count = ARRAY_LEN(ls_items),
	.run = remote_exec,
};

static const struct opt_command *const session_subs[] = { &ls_table, NULL };

const struct opt_command cmd_session_table = {
	.name = "session",
	.operands = "COMMAND",
	.summary = "sessions that outlive a command: create, list, end them",
	.notes = "\n`reckon session COMMAND --help` explains one.",
	.subs = session_subs,
	.run = remote_exec,
};
