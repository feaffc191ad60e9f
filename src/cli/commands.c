/*
 * commands.c - runs the command that the first argument names.
 *
 * Runs in:  reckon.
 * Reads:    the command line.
 * Never:    opens anything before the command is known.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

const struct opt_command *const cli_commands[] = {
	&cmd_run_table,	   &cmd_repl_table,    &cmd_ask_table,	   &cmd_chat_table,
	&cmd_runs_table,   &cmd_models_table,  &cmd_model_table,   &cmd_session_table,
	&cmd_files_table,  &cmd_volume_table,  &cmd_snapshot_table, &cmd_logs_table,
	&cmd_forward_table, &cmd_exec_table,   &cmd_shell_table,   &cmd_ps_table,
	&cmd_kill_table,   &cmd_mcp_table,     &cmd_serve_table,   &cmd_key_table,
	&cmd_tenant_table, &cmd_usage_table,   &cmd_doctor_table,  &cmd_daemon_table,
	&cmd_drain_table,  &cmd_undrain_table, &cmd_audit_table,   &cmd_backup_table,
	&cmd_restore_table, &cmd_template_table, &cmd_e2b_table,   &cmd_jupyter_table,
	&cmd_output_table, &cmd_artifact_table, &cmd_bench_table,  &cmd_version_table,
	&cmd_help_table,   NULL,
};

/* Flushes stdout: a full disk must not look like success. */
static int finish_stdout(int status)
{
	struct err err;

	if (fflush(stdout) == 0)
		return status;
	err_sys(&err, "stdout");
	(void)cli_complain(&err);
	return EXIT_CODE_RECKON;
}

/* Hidden options for the build, which generates completions and manuals from the tables. */
static int print_derived(int argc, char **argv)
{
	const struct opt_command *command;
	struct err err;

	if (argc == 3 && strcmp(argv[1], "--completion") == 0) {
		if (opt_print_completion(stdout, argv[2], cli_commands, &err) < 0)
			return cli_complain(&err);
		return finish_stdout(EXIT_CODE_OK);
	}
	command = argc == 3 ? cli_command_find(argv[2]) : NULL;
	if (command == NULL)
		return cli_unknown_command(argv[1]);
	opt_print_manual(stdout, command);
	return finish_stdout(EXIT_CODE_OK);
}

int cli_main(int argc, char **argv)
{
	const struct opt_command *command;

	cli_command_list = cli_commands;
	if (argc < 2) {
		opt_print_overview(stderr, cli_commands);
		return EXIT_CODE_USAGE;
	}
	if (strcmp(argv[1], "--completion") == 0 || strcmp(argv[1], "--manual") == 0)
		return print_derived(argc, argv);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		opt_print_overview(stdout, cli_commands);
		return finish_stdout(EXIT_CODE_OK);
	}
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0)
		command = &cmd_version_table;
	else
		command = cli_command_find(argv[1]);
	if (command == NULL)
		return cli_unknown_command(argv[1]);
	return finish_stdout(command->run(command, argc - 1, argv + 1));
}
