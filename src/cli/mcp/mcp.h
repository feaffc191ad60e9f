/*
 * mcp.h - declarations shared by the files of `reckon mcp`.
 */
#pragma once

#include "base/process/grant.h"
#include "cli/remote/remote.h"

enum {
	MCP_OPT_CLIENT = OPT_LONG + 1,
	MCP_OPT_CONFIG,
	MCP_OPT_MAX_TEXT,
	MCP_OPT_APPROVE,
	MCP_OPT_MOUNT
};

struct mcp_options {
	struct remote remote; /* its operand is the subcommand */
	const char *client, *config, *max_text;
	bool approve;
	const char *mounts[GRANT_FOLDERS_MAX]; /* as given on the command line */
	size_t mount_count;
};

/* Runs until stdin ends; returns the exit status. */
int mcp_bridge(const struct opt_command *self, const struct mcp_options *options);
int mcp_install(const struct opt_command *self, const struct mcp_options *options, bool take_out);
int mcp_doctor(const struct opt_command *self, const struct mcp_options *options);
