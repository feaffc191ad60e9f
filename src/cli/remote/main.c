/*
 * main.c - reckon-client: finds the function of the command and calls it.
 *
 * Runs in:  reckon-client, which `reckon` executes in its place.
 * Reads:    the command line; argv[0] is the first word of the command.
 * Never:    sends a request itself.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/process/process.h"
#include "cli/repl/repl.h"
#include "cli/run/run.h"
#include "cli/session/daemon.h"
#include "cli/storage/storage.h"

static int run_there(const struct opt_command *self, int argc, char **argv)
{
	return run_command(self, argc, argv, session_open_daemon);
}

static int repl_there(const struct opt_command *self, int argc, char **argv)
{
	return repl_command_run(self, argc, argv, session_open_daemon);
}

static const struct {
	const char *name;
	int (*run)(const struct opt_command *self, int argc, char **argv);
} functions[] = {
	{ "run", run_there },
	{ "repl", repl_there },
	{ "ask", remote_ask },
	{ "chat", remote_ask },
	{ "forward", remote_forward },
	{ "daemon status", remote_daemon_status },
	{ "daemon stop", remote_daemon_stop },
	{ "drain", remote_drain },
	{ "undrain", remote_undrain },
	{ "files get", remote_files_get },
	{ "files ls", remote_files_ls },
	{ "files put", remote_files_put },
	{ "files rm", remote_files_rm },
	{ "artifact", remote_output },
	{ "logs", remote_logs },
	{ "exec", remote_process },
	{ "shell", remote_process },
	{ "ps", remote_ps },
	{ "kill", remote_kill },
	{ "mcp", remote_mcp },
	{ "output", remote_output },
	{ "session create", remote_session_create },
	{ "session ls", remote_session_ls },
	{ "session show", remote_session_show },
	{ "session rm", remote_session_rm },
	{ "session restart", remote_session_tell },
	{ "session pause", remote_session_tell },
	{ "session resume", remote_session_tell },
	{ "session restore", remote_session_restore },
	{ "volume create", storage_volume_create },
	{ "volume ls", storage_volume_ls },
	{ "volume show", storage_volume_show },
	{ "volume rm", storage_volume_rm },
	{ "snapshot create", storage_snapshot_create },
	{ "snapshot ls", storage_snapshot_ls },
	{ "snapshot show", storage_snapshot_show },
	{ "snapshot rm", storage_snapshot_rm },
	{ "key create", remote_key_create },
	{ "key rotate", remote_key_create },
	{ "key ls", remote_admin_ls },
	{ "key rm", remote_admin_rm },
	{ "tenant create", remote_tenant_one },
	{ "tenant ls", remote_admin_ls },
	{ "tenant show", remote_tenant_one },
	{ "tenant set", remote_tenant_one },
	{ "tenant rm", remote_admin_rm },
	{ "tenant forget", remote_tenant_forget },
	{ "usage", remote_usage },
};

static int run(const struct opt_command *command, int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_LEN(functions); i++)
		if (strcmp(functions[i].name, command->name) == 0)
			return functions[i].run(command, argc, argv);
	return cli_unknown_command(command->name);
}

int main(int argc, char **argv)
{
	const struct opt_command *command = NULL;
	struct err err;
	int status;
	bool help;

	cli_command_list = cli_commands;
	if (argc > 0)
		command = cli_command_find(argv[0]);
	if (command == NULL) {
		(void)fputs("reckon starts this program\n", stderr);
		return EXIT_CODE_USAGE;
	}
	if (command->subs != NULL) {
		command = opt_sub(command, argc, argv, &help, &err);
		if (command == NULL)
			return cli_complain(&err);
		argc--;
		argv++;
	}
	status = run(command, argc, argv);
	if (fflush(stdout) == 0)
		return status;
	err_sys(&err, "stdout");
	(void)cli_complain(&err);
	return EXIT_CODE_RECKON;
}
