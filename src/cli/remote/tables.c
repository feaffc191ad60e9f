/*
 * tables.c - the options of the commands that send requests to a daemon.
 *
 * Runs in:  reckon (help, completion), reckon-client.
 * Reads:    nothing.
 * Never:    needs libcurl.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/run/options.h"

enum { OPT_ALL = OPT_LONG };

static const struct opt_item ls_items[] = {
	{ 'a', "all", NULL, "include ended sessions", OPT_HINT_NONE, NULL, false },
	{ 'q', "quiet", NULL, "print only names or ids, one per line", OPT_HINT_NONE, NULL, false },
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
	{ 'l', "language", "LANGUAGE", language_help, OPT_HINT_CHOICE, language_words, false },
	{ 't', "template", "TEMPLATE", "runtime and packages (reckon template ls)", OPT_HINT_LIVE,
	  OPT_LIVE_TEMPLATES, false },
	{ OPT_IDLE, "idle", "TIME", "end it when unused so long, as in 1h", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_TIMEOUT, "timeout", "TIME", "limit of one cell (30s)", OPT_HINT_NONE, NULL, false },
	{ OPT_CPU_TIME, "cpu-time", "TIME", "CPU time of one cell (no limit)", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_MEMORY, "memory", "SIZE", "memory limit of the session (1G)", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_CPUS, "cpus", "N", "limit of processors, such as 0.5 (no limit)", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_PIDS, "pids", "N", "processes and threads (128)", OPT_HINT_NONE, NULL, false },
	{ OPT_DISK, "disk", "SIZE", "workspace of the session (1G)", OPT_HINT_NONE, NULL, false },
	{ OPT_MAX_OUTPUT, "max-output", "SIZE", "kept of stdout and of stderr (1M)", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_ENV, "env", "K=V", "set a variable of the environment", OPT_HINT_NONE, NULL, true },
	RUN_OPTIONS_STORAGE(false),
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command create_table = {
	.name = "session create",
	.operands = "[NAME]",
	.summary = "create a session and print its name or id",
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
	.summary = "show a session, or how it ended",
	.items = one_items,
	.count = ARRAY_LEN(one_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_SESSIONS,
	.run = remote_exec,
};

static const struct opt_item where_items[] = {
	REMOTE_OPTIONS,
};

static const struct opt_command rm_table = {
	.name = "session rm",
	.operands = "SESSION...",
	.summary = "end sessions, with their variables and files",
	.items = where_items,
	.count = ARRAY_LEN(where_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_SESSIONS,
	.run = remote_exec,
};

static const struct opt_command restart_table = {
	.name = "session restart",
	.operands = "SESSION",
	.summary = "restart a session's kernel; its files stay",
	.items = where_items,
	.count = ARRAY_LEN(where_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_SESSIONS,
	.run = remote_exec,
};

static const struct opt_command pause_table = {
	.name = "session pause",
	.operands = "SESSION",
	.summary = "suspend all processes of a session",
	.items = where_items,
	.count = ARRAY_LEN(where_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_SESSIONS,
	.run = remote_exec,
};

static const struct opt_command resume_table = {
	.name = "session resume",
	.operands = "SESSION",
	.summary = "continue a paused session",
	.items = where_items,
	.count = ARRAY_LEN(where_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_SESSIONS,
	.run = remote_exec,
};

static const struct opt_item restore_items[] = {
	{ REMOTE_OPT_INTACT, "intact", NULL, "without the files that are missing: give them up",
	  OPT_HINT_NONE, NULL, false },
	REMOTE_OPTIONS_ADDRESS,
};

static const struct opt_command restore_table = {
	.name = "session restore",
	.operands = "SESSION",
	.summary = "bring files back after the box was lost",
	.notes = "\n"
		 "Any other request does the same. If files are missing or damaged in the store,\n"
		 "restore fails, names the first one and changes nothing; `reckon session show\n"
		 "--json` lists them as files_missing. With --intact the next cell lists the loss.",
	.items = restore_items,
	.count = ARRAY_LEN(restore_items),
	.operand_hint = OPT_HINT_LIVE,
	.operand_choices = OPT_LIVE_SESSIONS,
	.run = remote_exec,
};

static const struct opt_command *const session_subs[] = {
	&create_table, &ls_table,     &show_table,    &restart_table, &pause_table,
	&resume_table, &restore_table, &rm_table,     NULL,
};

const struct opt_command cmd_session_table = {
	.name = "session",
	.operands = "COMMAND",
	.summary = "create, list or end sessions that outlive a command",
	.notes =
		"\n"
		"  reckon run -s tuesday -c 'x = 6*7'     creates it if it does not exist\n"
		"  reckon run -s tuesday -c 'print(x)'\n"
		"\n"
		"SESSION is a name or an id. Without --url and RECKON_URL the command uses your\n"
		"private daemon and starts it if needed. `reckon session COMMAND --help` explains\n"
		"each command; see reckon-session(1).",
	.subs = session_subs,
	.run = remote_exec,
};

/* ---- files ---- */

static const struct opt_item files_ls_items[] = {
	REMOTE_OPTION_SESSION,
	REMOTE_OPTION_VOLUME,
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

static const struct opt_command files_ls_table = {
	.name = "files ls",
	.operands = "[PATH]",
	.summary = "list the files of a session or a volume",
	.items = files_ls_items,
	.count = ARRAY_LEN(files_ls_items),
	.run = remote_exec,
};

static const struct opt_item files_get_items[] = {
	REMOTE_OPTION_SESSION,
	REMOTE_OPTION_VOLUME,
	{ 'o', "output", "TARGET", "write to a file, a directory, or stdout: - (.)", OPT_HINT_FILE,
	  NULL, false },
	{ 'f', "force", NULL, "replace existing files", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTIONS,
};

static const struct opt_command files_get_table = {
	.name = "files get",
	.operands = "PATH...",
	.summary = "download files and folders",
	.items = files_get_items,
	.count = ARRAY_LEN(files_get_items),
	.run = remote_exec,
};

static const struct opt_item files_where_items[] = {
	REMOTE_OPTION_SESSION,
	REMOTE_OPTION_VOLUME,
	REMOTE_OPTIONS,
};

static const struct opt_command files_put_table = {
	.name = "files put",
	.operands = "FILE[:NAME]...",
	.summary = "upload files and folders",
	.items = files_where_items,
	.count = ARRAY_LEN(files_where_items),
	.operand_hint = OPT_HINT_FILE,
	.run = remote_exec,
};

static const struct opt_command files_rm_table = {
	.name = "files rm",
	.operands = "PATH...",
	.summary = "remove files and folders",
	.items = files_where_items,
	.count = ARRAY_LEN(files_where_items),
	.run = remote_exec,
};

static const struct opt_command *const files_subs[] = {
	&files_ls_table, &files_get_table, &files_put_table, &files_rm_table, NULL,
};

const struct opt_command cmd_files_table = {
	.name = "files",
	.operands = "COMMAND",
	.summary = "list, get, put or remove files of a session or volume",
	.notes = "\n"
		 "  reckon files put -s tuesday sales.csv\n"
		 "  reckon files get -s tuesday out -o results\n"
		 "  reckon files ls --volume models\n"
		 "\n"
		 "`reckon files COMMAND --help` explains each command; see reckon-session(1).",
	.subs = files_subs,
	.run = remote_exec,
};

/* ---- logs ---- */

static const struct opt_item logs_items[] = {
	REMOTE_OPTION_SESSION,
	{ 'n', "lines", "N", "the last N executions (20)", OPT_HINT_NONE, NULL, false },
	{ REMOTE_OPT_FOLLOW, "follow", NULL, "also print new ones as they come", OPT_HINT_NONE,
	  NULL, false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

const struct opt_command cmd_logs_table = {
	.name = "logs",
	.operands = "[EXECUTION]",
	.summary = "show what a session ran, or one record",
	.notes = "\n"
		 "  reckon logs -s tuesday        number, status, time and code of each execution\n"
		 "  reckon logs -s tuesday 3      the third one, as a model sees it\n"
		 "\n"
		 "EXECUTION is a number or an id. The history of ended sessions stays.",
	.items = logs_items,
	.count = ARRAY_LEN(logs_items),
	.run = remote_exec,
};

/* ---- forward ---- */

static const struct opt_item forward_items[] = {
	REMOTE_OPTION_SESSION,
	{ REMOTE_OPT_NO_LINK, "no-link", NULL, "print no link for the browser", OPT_HINT_NONE, NULL,
	  false },
	REMOTE_OPTIONS,
};

const struct opt_command cmd_forward_table = {
	.name = "forward",
	.is_minor = true,
	.operands = "PORT[:LOCAL]",
	.summary = "forward a port of a session to this machine",
	.notes = "\n"
		 "  reckon forward -s tuesday 8501         127.0.0.1:8501 of this machine\n"
		 "  reckon forward -s tuesday 8501:9000    127.0.0.1:9000\n"
		 "  reckon forward -s tuesday 8501:0       a free local port\n"
		 "\n"
		 "Forwards any number of TCP connections until Ctrl-C. Other users of this\n"
		 "machine can reach the local port, too. The link is for a browser and is revoked\n"
		 "when the command ends.",
	.items = forward_items,
	.count = ARRAY_LEN(forward_items),
	.run = remote_exec,
};

/* ---- daemon ---- */

static const struct opt_item daemon_status_items[] = {
	REMOTE_OPTION_JSON,
};

static const struct opt_command daemon_status_table = {
	.name = "daemon status",
	.operands = "",
	.summary = "show whether your private daemon runs, and where",
	.items = daemon_status_items,
	.count = ARRAY_LEN(daemon_status_items),
	.run = remote_exec,
};

static const struct opt_item daemon_stop_items[] = {
	{ 'f', "force", NULL, "stop it even if sessions lose variables", OPT_HINT_NONE, NULL,
	  false },
};

static const struct opt_command daemon_stop_table = {
	.name = "daemon stop",
	.operands = "",
	.summary = "stop your private daemon; files and history stay",
	.items = daemon_stop_items,
	.count = ARRAY_LEN(daemon_stop_items),
	.run = remote_exec,
};

static const struct opt_command *const daemon_subs[] = {
	&daemon_status_table, &daemon_stop_table, NULL,
};

const struct opt_command cmd_daemon_table = {
	.name = "daemon",
	.is_minor = true,
	.operands = "COMMAND",
	.summary = "show or stop your private daemon, which keeps sessions",
	.notes = "\n"
		 "Commands start the daemon if needed; it exits when it has no sessions and no\n"
		 "clients. `reckon daemon COMMAND --help` explains each; see reckon-session(1).",
	.subs = daemon_subs,
	.run = remote_exec,
};

/* ---- drain ---- */

static const struct opt_item drain_items[] = {
	{ 'w', "wait", NULL, "wait until the last session has ended", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

const struct opt_command cmd_drain_table = {
	.name = "drain",
	.of_daemon = true,
	.operands = "",
	.summary = "stop accepting new sessions; those that exist continue",
	.items = drain_items,
	.count = ARRAY_LEN(drain_items),
	.run = remote_exec,
};

const struct opt_command cmd_undrain_table = {
	.name = "undrain",
	.of_daemon = true,
	.operands = "",
	.summary = "let a daemon take new sessions again",
	.items = one_items,
	.count = ARRAY_LEN(one_items),
	.run = remote_exec,
};
