/*
 * cli.h - what the commands of `reckon` share: exit codes, the table of commands, error messages.
 *
 * All messages have the form `reckon: what: why (remedy)`, one line on stderr. Text that may come
 * from a file name or a box is escaped before it is shown.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cli/options/opt.h"

struct reckon_error;

enum {
	EXIT_CODE_OK = 0,
	EXIT_CODE_FAILED = 1, /* the code failed, or a wall that --strict requires is missing */
	EXIT_CODE_USAGE = 2,	    /* the user's input is wrong                         */
	EXIT_CODE_STOPPED = 3,	    /* a limit ended it before it was done               */
	EXIT_CODE_TIMEOUT = 124,    /* a limit ended the run */
	EXIT_CODE_RECKON = 125,	    /* Reckon itself failed                              */
	EXIT_CODE_INTERRUPTED = 130, /* second Ctrl-C                                    */
	EXIT_CODE_KILLED = 137,	    /* killed, out of memory                             */
	EXIT_CODE_PIPE = 141,	    /* the reader of our output closed it */
};

/* The commands in the order in which help lists them; ends with NULL. */
extern const struct opt_command *const cli_commands[];
/* The commands that this program has, in the same form; set it before any lookup. */
extern const struct opt_command *const *cli_command_list;

extern const struct opt_command cmd_run_table;
extern const struct opt_command cmd_repl_table;
extern const struct opt_command cmd_ask_table;
extern const struct opt_command cmd_chat_table;
extern const struct opt_command cmd_runs_table;
extern const struct opt_command cmd_models_table;
extern const struct opt_command cmd_model_table;
extern const struct opt_command cmd_session_table; /* remote/tables.c */
extern const struct opt_command cmd_files_table;
extern const struct opt_command cmd_volume_table; /* storage/tables.c */
extern const struct opt_command cmd_snapshot_table;
extern const struct opt_command cmd_logs_table;
extern const struct opt_command cmd_exec_table; /* process/tables.c */
extern const struct opt_command cmd_shell_table;
extern const struct opt_command cmd_ps_table;
extern const struct opt_command cmd_kill_table;
extern const struct opt_command cmd_key_table;
extern const struct opt_command cmd_tenant_table;
extern const struct opt_command cmd_usage_table;
extern const struct opt_command cmd_serve_table;
extern const struct opt_command cmd_audit_table;
extern const struct opt_command cmd_backup_table;
extern const struct opt_command cmd_restore_table;
extern const struct opt_command cmd_forward_table; /* remote/tables.c */
extern const struct opt_command cmd_mcp_table; /* mcp/table.c */
extern const struct opt_command cmd_daemon_table; /* remote/tables.c */
extern const struct opt_command cmd_drain_table; /* remote/tables.c */
extern const struct opt_command cmd_undrain_table;
extern const struct opt_command cmd_doctor_table;
extern const struct opt_command cmd_e2b_table;
extern const struct opt_command cmd_template_table;
extern const struct opt_command cmd_jupyter_table;
extern const struct opt_command cmd_output_table;
extern const struct opt_command cmd_artifact_table;
extern const struct opt_command cmd_bench_table;
extern const struct opt_command cmd_version_table;
extern const struct opt_command cmd_help_table;

/* NULL when no command has that name. */
const struct opt_command *cli_command_find(const char *name);

/* Prints the error, with the most similar command as a hint; returns the exit status. */
int cli_unknown_command(const char *word);

/*
 * opt_command.run of a command that only has subcommands: runs the one named, or prints the help.
 */
int cli_run_sub(const struct opt_command *self, int argc, char **argv);

/* Runs `reckon` with these arguments; returns the exit status. */
int cli_main(int argc, char **argv);

/* Prints the error as one line; returns its exit status. */
int cli_complain(const struct err *err);
/* The same, with the command's name before the text. */
int cli_complain_of(const struct opt_command *self, struct err *err);

/* The same for an error of libreckon; `what` (or NULL) goes before its message. */
int cli_complain_reckon(const char *what, const struct reckon_error *error);

/*
 * Handles the result of opt_parse() and of further checks. Returns -1: go on; else the exit status,
 * after printing the help or the error.
 */
int cli_settle(const struct opt_command *self, int parsed, const struct err *err);

/* Writes all of stdout; returns an exit status (0, EXIT_CODE_PIPE or EXIT_CODE_RECKON). */
int cli_write_stdout(const void *bytes, size_t len);
/* The same for text. If stdout is a terminal, control characters are escaped. */
int cli_print_text(const char *text, size_t len);

/*
 * Executes NAME with `argv`. cli_libexec_path() says where NAME is looked for. Returns only on
 * failure, with the exit status.
 */
int cli_exec_libexec(const char *name, char **argv);

/*
 * Finds NAME in ../libexec of this program's directory, then in $RECKON_LIBEXEC, in
 * ../libexec/reckon and in this program's own directory.
 */
int cli_libexec_path(const char *name, char path[PATH_MAX], struct err *err);

#define CLI_SIZE_TEXT 24
/* "812 B", "18 kB", "1.8 MB": decimal units, for files. */
void cli_format_size(uint64_t bytes, char text[CLI_SIZE_TEXT]);
/* "64 MiB", "1 GiB", "1.5 GiB": binary units, for memory and limits. */
void cli_format_binary(uint64_t bytes, char text[CLI_SIZE_TEXT]);
