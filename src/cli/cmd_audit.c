/*
 * cmd_audit.c - reckon audit: who did what with a daemon, read from its state directory.
 *
 * Runs in:  reckon.
 * Reads:    the command line, for its form; reckond reads the entries.
 * Never:    needs a daemon that runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"

enum { OPT_STATE = OPT_LONG, OPT_AFTER, OPT_LIMIT, OPT_JSON };

static const struct opt_item audit_items[] = {
	{ OPT_STATE, "state", "DIR", "of the daemon", OPT_HINT_DIR, NULL, false },
	{ OPT_AFTER, "after", "N", "entries behind that number (ls)", OPT_HINT_NONE, NULL, false },
	{ OPT_LIMIT, "limit", "N", "at most so many (ls)", OPT_HINT_NONE, NULL, false },
	{ OPT_JSON, "json", NULL, "one object in each line (ls)", OPT_HINT_NONE, NULL, false },
};

struct audit {
	char **argv; /* of reckond: options as --name=value, then the word */
	size_t count;
	const char *word;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct audit *audit = arg;
	size_t size;

	if (id == OPT_OPERAND) {
		if (audit->word != NULL)
			return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
		audit->word = value;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(audit_items); i++) {
		const struct opt_item *item = &audit_items[i];

		if (item->id != id)
			continue;
		size = strlen(item->name) + (value != NULL ? strlen(value) : 0) + 4;
		audit->argv[audit->count] = mem_new0(size, 1);
		(void)snprintf(audit->argv[audit->count++], size,
			       value != NULL ? "--%s=%s" : "--%s", item->name, value);
	}
	return 0;
}

static int run_audit(const struct opt_command *self, int argc, char **argv)
{
	char name[] = "reckond", mode[] = "audit";
	struct audit audit = { .argv = mem_new0((size_t)argc + 4, sizeof(char *)), .count = 2 };
	struct err err;
	int rc, status;

	audit.argv[0] = name;
	audit.argv[1] = mode;
	rc = opt_parse(self, argc, argv, take, &audit, &err);
	if (rc == 0 && audit.word == NULL) {
		rc = err_set(&err, ERR_INVALID, "audit: missing subcommand");
		(void)err_remedy(&err, "ls or verify; see reckon help audit");
	}
	if (rc < 0) {
		(void)cli_complain(&err);
		status = EXIT_CODE_USAGE;
	} else if (rc > 0) {
		opt_print_help(stdout, self);
		status = EXIT_CODE_OK;
	} else {
		audit.argv[audit.count] = mem_strdup(audit.word);
		status = cli_exec_libexec(name, audit.argv);
		free(audit.argv[audit.count]);
	}
	for (size_t i = 2; i < audit.count; i++)
		free(audit.argv[i]);
	free(audit.argv);
	return status;
}

const struct opt_command cmd_audit_table = {
	.name = "audit",
	.of_daemon = true,
	.operands = "ls|verify",
	.summary = "who did what with a daemon, and whether that record is whole",
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
