/*
 * cmd_audit.c - reckon audit: who did what with a daemon, read from its state directory.
 *
 * Runs in:  reckon.
 * Reads:    the command line, for its form; reckond reads the entries.
 * Never:    needs a running daemon.
 */
#include "base/cleanup.h"
#include "cli/state_command.h"

enum { OPT_STATE = OPT_LONG, OPT_AFTER, OPT_LIMIT, OPT_JSON };

static const struct opt_item audit_items[] = {
	{ OPT_STATE, "state", "DIR", "the daemon's state directory", OPT_HINT_DIR, NULL, false },
	{ OPT_AFTER, "after", "N", "entries after this number (ls)", OPT_HINT_NONE, NULL, false },
	{ OPT_LIMIT, "limit", "N", "number of entries at most (ls)", OPT_HINT_NONE, NULL, false },
	{ OPT_JSON, "json", NULL, "print one JSON object per line (ls)", OPT_HINT_NONE, NULL,
	  false },
};

static int run_audit(const struct opt_command *self, int argc, char **argv)
{
	return state_command_run(self, argc, argv, "missing subcommand",
				 "ls or verify; see reckon help audit");
}

const struct opt_command cmd_audit_table = {
	.name = "audit",
	.of_daemon = true,
	.operands = "ls|verify",
	.summary = "show who did what with a daemon, and verify that log",
	.notes = "\n"
		 "  reckon audit verify --state /var/lib/reckon\n"
		 "\n"
		 "verify exits with 0 if no entry was changed, removed or truncated, else with 1\n"
		 "and prints the number of the first invalid entry. An entry records what the\n"
		 "daemon itself removed (audit-archive-keep, audit-archive-size): verify prints\n"
		 "from which entry on the audit is complete. ls --json prints all fields.",
	.items = audit_items,
	.count = ARRAY_LEN(audit_items),
	.operand_hint = OPT_HINT_CHOICE,
	.operand_choices = "ls verify",
	.run = run_audit,
};
