/*
 * table.c - the options of `reckon mcp`.
 *
 * Runs in:  reckon (help, completion), reckon-client.
 * Reads:    nothing.
 * Never:    needs libcurl.
 */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/mcp/mcp.h"

static const struct opt_item mcp_items[] = {
	{ MCP_OPT_CLIENT, "client", "NAME",
	  "install: claude-code, claude-desktop, cursor, vscode, …", OPT_HINT_CHOICE,
	  "claude-code claude-desktop cursor gemini vscode windsurf", false },
	{ MCP_OPT_CONFIG, "config", "FILE",
	  "install: the client's configuration, if not the usual one", OPT_HINT_FILE, NULL, false },
	{ MCP_OPT_MAX_TEXT, "max-text", "BYTES", "text of one result (16384)", OPT_HINT_NONE, NULL,
	  false },
	{ MCP_OPT_APPROVE, "approve", NULL,
	  "ask the user before code runs, or files or variables go", OPT_HINT_NONE, NULL, false },
	{ MCP_OPT_MOUNT, "mount", "SRC[:DST][:ro|rw]",
	  "let sessions see a folder of this computer, read-only, at /mnt/NAME (repeatable)",
	  OPT_HINT_FILE, NULL, false },
	{ 's', "session", "NAME", "session of calls that name none (one that ends with the client)",
	  OPT_HINT_NONE, NULL, false },
	REMOTE_OPTIONS,
};

const struct opt_command cmd_mcp_table = {
	.name = "mcp",
	.operands = "[install|uninstall|doctor]",
	.summary = "serve MCP on stdin and stdout, for Claude Code, Cursor and others",
	.notes = "\n"
		 "  claude mcp add reckon -- reckon mcp\n"
		 "  reckon mcp install --client claude-desktop\n"
		 "  reckon mcp install --client cursor --mount ~/project\n"
		 "  reckon mcp doctor\n"
		 "\n"
		 "A client starts `reckon mcp`; install edits its configuration and keeps a "
		 "backup,\n"
		 "uninstall removes the entry, doctor starts the server and calls every tool.",
	.items = mcp_items,
	.count = ARRAY_LEN(mcp_items),
	.operand_hint = OPT_HINT_CHOICE,
	.operand_choices = "install uninstall doctor",
	.run = remote_exec,
};
