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
#include "cli/run_options.h"

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

static const struct opt_item create_items[] = {
	{ 'l', "language", "LANGUAGE", "python (default) or bash", OPT_HINT_CHOICE, "python bash",
	  false },
	{ 't', "template", "TEMPLATE", "runtime and packages (reckon template ls)",
	  OPT_HINT_CHOICE, "data python", false },
	{ OPT_IDLE, "idle", "TIME", "end it when unused so long, as in 1h (the daemon's)",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_TIMEOUT, "timeout", "TIME", "limit of one cell (30s)", OPT_HINT_NONE, NULL, false },
	{ OPT_CPU_TIME, "cpu-time", "TIME", "CPU time of one cell (no limit)", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_MEMORY, "memory", "SIZE", "of the session (1G)", OPT_HINT_NONE, NULL, false },
	{ OPT_CPUS, "cpus", "N", "cores, as in 0.5 (no limit)", OPT_HINT_NONE, NULL, false },
	{ OPT_PIDS, "pids", "N", "processes and threads (128)", OPT_HINT_NONE, NULL, false },
	{ OPT_DISK, "disk", "SIZE", "workspace of the session (1G)", OPT_HINT_NONE, NULL, false },
	{ OPT_MAX_OUTPUT, "max-output", "SIZE", "kept of stdout and of stderr (1M)",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_ENV, "env", "K=V", "set a variable of the environment", OPT_HINT_NONE, NULL, true },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command create_table = {
	.name = "session create",
	.operands = "[NAME]",
	.summary = "open a session; prints its name, or its id",
	.items = create_items,
	.count = ARRAY_LEN(create_items),
	.run = remote_exec,
};

static const struct opt_item one_items[] = {
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command show_table = {
	.name = "session show",
	.operands = "SESSION",
	.summary = "what a session is, or what became of it",
	.items = one_items,
	.count = ARRAY_LEN(one_items),
	.run = remote_exec,
};

static const struct opt_item where_items[] = {
	REMOTE_OPTIONS,
};

static const struct opt_command rm_table = {
	.name = "session rm",
	.operands = "SESSION...",
	.summary = "end sessions: variables and files are gone",
	.items = where_items,
	.count = ARRAY_LEN(where_items),
	.run = remote_exec,
};

static const struct opt_command restart_table = {
	.name = "session restart",
	.operands = "SESSION",
	.summary = "a fresh kernel: variables are gone, files stay",
	.items = where_items,
	.count = ARRAY_LEN(where_items),
	.run = remote_exec,
};

static const struct opt_command *const session_subs[] = {
	&create_table, &ls_table, &show_table, &restart_table, &rm_table, NULL,
};

const struct opt_command cmd_session_table = {
	.name = "session",
	.operands = "COMMAND",
	.summary = "sessions that outlive a command: create, list, end them",
	.notes = "\n"
		 "  reckon run -s tuesday -c 'x = 6*7'     makes it when it is not there\n"
		 "  reckon run -s tuesday -c 'print(x)'\n"
		 "\n"
		 "SESSION is a name or an id. Without --url and RECKON_URL they are your private\n"
		 "daemon's, which starts when it is needed. `reckon session COMMAND --help`\n"
		 "explains one; see reckon-session(1).",
	.subs = session_subs,
	.run = remote_exec,
};
