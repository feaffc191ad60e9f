/*
 * open.c - what the command line asks for, as an engine and a session.
 *
 * Runs in:  reckon run, reckon repl.
 * Reads:    struct run, which was checked before.
 * Never:    keeps what it opened: both belong to the caller.
 */
#include "cli/cli.h"
#include "cli/run/run.h"

int run_open_engine(const struct run *run, const char *command, reckon_engine **ret)
{
	const reckon_engine_options options = {
		.size = sizeof(options),
		.private_warden = run->private_warden,
		.strict = run->strict,
	};
	reckon_error error;

	if (reckon_engine_open(&options, ret, &error) < 0)
		return cli_complain_reckon(command, &error);
	return EXIT_CODE_OK;
}

int run_open_session(const struct run *run, const char *command, reckon_engine *engine,
		     reckon_session **ret)
{
	const reckon_session_options options = {
		.size = sizeof(options),
		.template_name = run->template_name,
		.language = run->language,
		.limits = run->limits,
		.mounts = run->mounts,
		.mount_count = run->mount_count,
		.env = run->env,
		.flags = run->session_flags,
	};
	reckon_error error;

	if (reckon_session_open(engine, &options, ret, &error) < 0)
		return cli_complain_reckon(command, &error);
	return EXIT_CODE_OK;
}
