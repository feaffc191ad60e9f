/*
 * mcp.c - reckon mcp: parses the command line and runs the subcommand.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line.
 * Never:    writes anything but messages to stdout while a client reads it.
 */
#include "cli/mcp/mcp.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "cli/cli.h"
#include "cli/options/parse.h"

static int add_mount(struct mcp_options *options, const char *value, struct err *err)
{
	cleanup_free char *source = NULL, *target = NULL;
	bool writable;

	if (options->mount_count == GRANT_FOLDERS_MAX)
		return err_set(err, ERR_INVALID, "at most %u folders can be given with --mount",
			       GRANT_FOLDERS_MAX);
	if (parse_mount_spec(value, &source, &target, &writable, err) < 0)
		return err_wrap(err, "--mount");
	options->mounts[options->mount_count++] = value;
	return 0;
}

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct mcp_options *options = arg;

	if (id == MCP_OPT_CLIENT)
		options->client = value;
	else if (id == MCP_OPT_APPROVE)
		options->approve = true;
	else if (id == MCP_OPT_MOUNT)
		return add_mount(options, value, err);
	else if (id == 's' && !id_is_name(value, strlen(value), "se"))
		return err_set(err, ERR_INVALID,
			       "invalid value '%.40s' for --session: expected a name, such as work",
			       value);
	else if (id == MCP_OPT_CONFIG)
		options->config = value;
	else if (id != MCP_OPT_MAX_TEXT)
		return remote_take_all(id, value, &options->remote, err);
	else if (strspn(value, "0123456789") != strlen(value) || strlen(value) > 7)
		return err_set(
			err, ERR_INVALID,
			"invalid value '%.40s' for --max-text: expected bytes, such as 16384",
			value);
	else
		options->max_text = value;
	return 0;
}

int remote_mcp(const struct opt_command *self, int argc, char **argv)
{
	struct mcp_options options = { 0 };
	const char *what;
	struct err err;
	const int status = remote_parse(self, argc, argv, take, &options);

	if (status >= 0)
		return status;
	what = options.remote.name;
	if (what == NULL)
		return mcp_bridge(self, &options);
	if (strcmp(what, "install") == 0)
		return mcp_install(self, &options, false);
	if (strcmp(what, "uninstall") == 0)
		return mcp_install(self, &options, true);
	if (strcmp(what, "doctor") == 0)
		return mcp_doctor(self, &options);
	(void)remote_unexpected(what, &err);
	return cli_complain_of(self, &err);
}
