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
	{ OPT_STATE, "state", "DIR", "of the daemon", OPT_HINT_DIR, NULL, false },
	{ OPT_AFTER, "after", "N", "entries behind that number (ls)", OPT_HINT_NONE, NULL, false },
	{ OPT_LIMIT, "limit", "N", "at most so many (ls)", OPT_HINT_NONE, NULL, false },
	{ OPT_JSON, "json", NULL, "one object in each line (ls)", OPT_HINT_NONE, NULL, false },
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
		 "verify ends with 0 when no entry was changed, removed or cut off, else with 1\n"
		 "and the number of the first one that is wrong. What the daemon removed itself\n"
		 "(audit-archive-keep, audit-archive-size) an entry tells of: verify says from\n"
		 "which entry on the audit is whole. ls --json gives all that there is.",
	.items = audit_items,
	.count = ARRAY_LEN(audit_items),
	.operand_hint = OPT_HINT_CHOICE,
	.operand_choices = "ls verify",
	.run = run_audit,
};
