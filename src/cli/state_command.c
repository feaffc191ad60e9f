/*
 * state_command.c - commands on a state directory, which reckond carries out.
 *
 * Runs in:  reckon.
 * Reads:    the command line, for its form; reckond reads the directory.
 * Never:    needs a running daemon, or a stopped one.
 */
#include "cli/state_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"

struct given {
	const struct opt_command *self;
	char **argv; /* reckond's arguments: options as --name=value, then the operand */
	size_t count;
	const char *operand;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct given *given = arg;
	size_t size;

	if (id == OPT_OPERAND) {
		if (given->operand != NULL)
			return err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
		given->operand = value;
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

int state_command_run(const struct opt_command *self, int argc, char **argv, const char *missing,
		      const char *remedy)
{
	char name[] = "reckond";
	struct given given = { self, mem_new0((size_t)argc + 4, sizeof(char *)), 2, NULL };
	struct err err;
	int rc, status;

	given.argv[0] = name;
	given.argv[1] = mem_strdup(self->name);
	rc = opt_parse(self, argc, argv, take, &given, &err);
	if (rc == 0 && given.operand == NULL) {
		rc = err_set(&err, ERR_INVALID, "%s: %s", self->name, missing);
		if (remedy != NULL)
			(void)err_remedy(&err, "%s", remedy);
	}
	if (rc < 0) {
		(void)cli_complain(&err);
		status = EXIT_CODE_USAGE;
	} else if (rc > 0) {
		opt_print_help(stdout, self);
		status = EXIT_CODE_OK;
	} else {
		given.argv[given.count++] = mem_strdup(given.operand);
		status = cli_exec_libexec(name, given.argv);
	}
	for (size_t i = 1; i < given.count; i++)
		free(given.argv[i]);
	free(given.argv);
	return status;
}
