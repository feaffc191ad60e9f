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
	{ OPT_STATE, "state", "DIR", "the daemon's state directory", OPT_HINT_DIR, NULL, false },
	{ OPT_KEEP, "keep", "N", "remove all but the newest N snapshots", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_VERIFY, "verify", NULL, "verify a snapshot instead, byte by byte", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_SNAPSHOT, "snapshot", "ID", "this snapshot instead of the newest (--verify)",
	  OPT_HINT_NONE, NULL, false },
};

static const struct opt_item restore_items[] = {
	{ OPT_STATE, "state", "DIR", "new state directory, without a database", OPT_HINT_DIR, NULL,
	  false },
	{ OPT_SNAPSHOT, "snapshot", "ID", "this snapshot instead of the newest", OPT_HINT_NONE,
	  NULL, false },
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
		 "Each backup is a consistent snapshot; contents of an earlier one are not copied\n"
		 "again. Exits with 1 and names what is missing or damaged. A backup contains\n"
		 "hashes of keys and the contents of sessions: protect it like the state\n"
		 "directory.",
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
		 "The first command creates a state directory for a new daemon. The second one\n"
		 "restores missing stored contents of a running daemon: sessions that need them\n"
		 "continue with their next request.",
	.items = restore_items,
	.count = ARRAY_LEN(restore_items),
	.operand_hint = OPT_HINT_DIR,
	.run = run_copy,
};
