/*
 * cmd_backup.c - reckon backup, reckon restore: copies of a daemon's state directory.
 *
 * Runs in:  reckon.
 * Reads:    the command line, for its form; reckond copies.
 * Never:    needs a daemon that runs, or that none does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"

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

struct given {
	const struct opt_command *self;
	char **argv; /* of reckond: options as --name=value, then the directory */
	size_t count;
	const char *target;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct given *given = arg;
	size_t size;

	if (id == OPT_OPERAND) {
		if (given->target != NULL)
			return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
		given->target = value;
		return 0;
	}
	for (size_t i = 0; i < given->self->count; i++) {
		const struct opt_item *item = &given->self->items[i];

		if (item->id != id)
			continue;
		size = strlen(item->name) + (value != NULL ? strlen(value) : 0) + 4;
		given->argv[given->count] = mem_new0(size, 1);
		(void)snprintf(given->argv[given->count++], size,
			       value != NULL ? "--%s=%s" : "--%s", item->name, value);
	}
	return 0;
}

static int run_copy(const struct opt_command *self, int argc, char **argv)
{
	char name[] = "reckond", mode[16];
	struct given given = { self, mem_new0((size_t)argc + 4, sizeof(char *)), 2, NULL };
	struct err err;
	int rc, status;

	(void)snprintf(mode, sizeof(mode), "%s", self->name);
	given.argv[0] = name;
	given.argv[1] = mode;
	rc = opt_parse(self, argc, argv, take, &given, &err);
	if (rc == 0 && given.target == NULL)
		rc = err_set(&err, ERR_INVALID, "%s: name the directory of the backup", self->name);
	if (rc < 0) {
		(void)cli_complain(&err);
		status = EXIT_CODE_USAGE;
	} else if (rc > 0) {
		opt_print_help(stdout, self);
		status = EXIT_CODE_OK;
	} else {
		given.argv[given.count] = mem_strdup(given.target);
		status = cli_exec_libexec(name, given.argv);
		free(given.argv[given.count]);
	}
	for (size_t i = 2; i < given.count; i++)
		free(given.argv[i]);
	free(given.argv);
	return status;
}

const struct opt_command cmd_backup_table = {
	.name = "backup",
	.of_daemon = true,
	.operands = "DIR",
	.summary = "copy a daemon's state, which may run meanwhile",
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
	.summary = "put a snapshot of reckon backup back",
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
