/*
 * tables.c - the options of the commands about processes of a session.
 *
 * Runs in:  reckon (help, completion), reckon-client.
 * Reads:    nothing.
 * Never:    needs libcurl.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/process/process.h"

#define SIGNAL_WORDS "HUP INT QUIT KILL USR1 USR2 PIPE ALRM TERM CONT STOP TSTP TTIN TTOU WINCH"

#define WHERE_IT_RUNS                                                                                  \
	{ 'C', "cwd", "DIR", "working directory (/mnt/data)", OPT_HINT_NONE, NULL, false },            \
		{ 'e', "env", "K=V", "set a variable of its environment", OPT_HINT_NONE, NULL, true }, \
	{                                                                                              \
		PROCESS_OPT_TIMEOUT, "timeout", "TIME", "kill it after that (no limit)",               \
			OPT_HINT_NONE, NULL, false                                                     \
	}

static const struct opt_item exec_items[] = {
	REMOTE_OPTION_SESSION,
	{ 't', "tty", NULL, "run it in a terminal", OPT_HINT_NONE, NULL, false },
	{ 'n', "no-stdin", NULL, "do not forward standard input", OPT_HINT_NONE, NULL, false },
	{ 'd', "detach", NULL, "start it in the background, print its id", OPT_HINT_NONE, NULL,
	  false },
	WHERE_IT_RUNS,
	{ PROCESS_OPT_TAG, "tag", "NAME", "name it for ps and kill", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTIONS,
};

const struct opt_command cmd_exec_table = {
	.name = "exec",
	.is_minor = true,
	.operands = "-- COMMAND [ARG...]",
	.summary = "run a program in a session, next to its kernels",
	.notes =
		"\n"
		"  reckon exec -s tuesday -- make -j2\n"
		"  tar c . | reckon exec -s tuesday -- tar x\n"
		"\n"
		"Exits with the program's exit code, or 128 plus the number of its signal. Ctrl-C\n"
		"is sent to the program. A missing session is created; see reckon-exec(1).",
	.items = exec_items,
	.count = ARRAY_LEN(exec_items),
	.run = remote_exec,
};

static const struct opt_item shell_items[] = {
	REMOTE_OPTION_SESSION,
	WHERE_IT_RUNS,
	REMOTE_OPTIONS,
};

const struct opt_command cmd_shell_table = {
	.name = "shell",
	.is_minor = true,
	.operands = "",
	.summary = "open a shell in a session",
	.notes =
		"\n"
		"Programs in the session write to your terminal unfiltered, as with ssh. After 10\n"
		"seconds without a connection the shell gets SIGHUP.",
	.items = shell_items,
	.count = ARRAY_LEN(shell_items),
	.run = remote_exec,
};

static const struct opt_item ps_items[] = {
	REMOTE_OPTION_SESSION,
	{ 'a', "all", NULL, "include ended ones", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTION_JSON,
	REMOTE_OPTIONS,
};

const struct opt_command cmd_ps_table = {
	.name = "ps",
	.is_minor = true,
	.operands = "",
	.summary = "list the programs of a session",
	.items = ps_items,
	.count = ARRAY_LEN(ps_items),
	.run = remote_exec,
};

static const struct opt_item kill_items[] = {
	REMOTE_OPTION_SESSION,
	{ PROCESS_OPT_SIGNAL, "signal", "SIGNAL", "the signal (TERM)", OPT_HINT_CHOICE,
	  SIGNAL_WORDS, false },
	{ 'a', "all", NULL, "also kill its child processes", OPT_HINT_NONE, NULL, false },
	REMOTE_OPTIONS,
};

const struct opt_command cmd_kill_table = {
	.name = "kill",
	.is_minor = true,
	.operands = "PROCESS...",
	.summary = "send a signal to programs of a session",
	.notes = "\n"
		 "PROCESS is an id, a number or a tag, as listed by reckon ps.",
	.items = kill_items,
	.count = ARRAY_LEN(kill_items),
	.run = remote_exec,
};
