/*
 * cmd_backup.c - reckon backup, reckon restore: copies of a daemon's state directory.
 *
 * Runs in:  reckon.
 * Reads:    the command line, for its form; reckond copies.
 * Never:    needs a running daemon, or a stopped one.
 */
#include "base/cleanup.h"
#include "cli/state_command.h"

enum { OPT_STATE = OPT_LONG, OPT_KEEP, OPT_SNAPSHOT, OPT_VERIFY, OPT_OBJECTS };

static const struct opt_item backup_items[] = {
	{ OPT_STATE, "state", "DIR", "of the daemon", OPT_HINT_DIR, NULL, false },
	{ OPT_KEEP, "keep", "N", "remove all but the newest N snapshots", OPT_HINT_NONE, NULL, false },
	{ OPT_VERIFY, "verify", NULL, "read a snapshot again instead, each byte", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_SNAPSHOT, "snapshot", "ID", "that one, not the newest (--verify)", OPT_HINT_NONE, NULL,
	  false },
};

static const struct opt_item restore_items[] = {
	{ OPT_STATE, "state", "DIR", "for a daemon, without a database", OPT_HINT_DIR, NULL, false },
	{ OPT_SNAPSHOT, "snapshot", "ID", "that one, not the newest", OPT_HINT_NONE, NULL, false },
	{ OPT_OBJECTS, "objects", NULL, "only what the store of a daemon lacks, which may run",
	  OPT_HINT_NONE, NULL, false },
};

static int run_copy(const struct opt_command *self, int argc, char **argv)
{
	return state_command_run(self, argc, argv, "missing argument DIRECTORY", NULL);
}

const struct opt_command cmd_backup_table = {
	.name = "backup",
	.of_daemon = true,
	.operands = "DIR",
	.summary = "back up a daemon's state, also while it runs",
	.notes = "\n"
		 "  reckon backup --keep 30 /backup/reckon\n"
		 "  reckon backup --verify /backup/reckon\n"
		 "\n"
		 "Each time a snapshot as of one moment; contents that an earlier one has are not\n"
		 "copied again. Ends with 1 when something is missing or damaged, and names it.\n"
		 "A backup holds hashes of keys and all that sessions hold: keep it as you keep\n"
		 "the state directory.",
	.items = backup_items,
	.count = ARRAY_LEN(backup_items),
	.operand_hint = OPT_HINT_DIR,
	.run = run_copy,
};

const struct opt_command cmd_restore_table = {
	.name = "restore",
	.of_daemon = true,
	.operands = "DIR",
	.summary = "restore a snapshot of reckon backup",
	.notes = "\n"
		 "  reckon restore --state /var/lib/reckon-new /backup/reckon\n"
		 "  reckon restore --objects --state /var/lib/reckon /backup/reckon\n"
		 "\n"
		 "The first makes a state directory for a daemon that is to be started on it. The\n"
		 "second puts back what the store of a daemon lacks, while it runs: sessions that\n"
		 "wait for it go on with their next request.",
	.items = restore_items,
	.count = ARRAY_LEN(restore_items),
	.operand_hint = OPT_HINT_DIR,
	.run = run_copy,
};
