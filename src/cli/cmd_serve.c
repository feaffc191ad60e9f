/*
 * cmd_serve.c - reckon serve: executes reckond, which starts the process that reads the network.
 *
 * Runs in:  reckon.
 * Reads:    the command line.
 * Never:    starts anything when an option is wrong.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/cli.h"

/* One row for each of reckond's options, taken from reckond's own table. */
#define OPTION(section_, name_, kind_, member_, min_, max_, standard_, when_, value_, summary_) \
	OPT_##member_,
enum {
	OPT_BEFORE = OPT_LONG - 1,
#include "base/serve_options.def"
};
#undef OPTION

/* For each kind of option: the value's placeholder, the help, the completion hint and its words. */
#define ITEM_TEXT(value, summary, standard) value, summary, OPT_HINT_NONE, NULL
#define ITEM_FILE(value, summary, standard) value, summary, OPT_HINT_FILE, NULL
#define ITEM_DIR(value, summary, standard) value, summary, OPT_HINT_DIR, NULL
#define ITEM_SWITCH(value, summary, standard) NULL, summary, OPT_HINT_NONE, NULL
#define ITEM_NUMBER(value, summary, standard) value, summary " (" standard ")", OPT_HINT_NONE, NULL
#define ITEM_SECONDS ITEM_NUMBER
#define ITEM_SIZE ITEM_NUMBER
#define ITEM_CHOICE(value, summary, standard) \
	"WORD", summary " (" standard ")", OPT_HINT_CHOICE, value

#define OPTION(section_, name_, kind_, member_, min_, max_, standard_, when_, value_, summary_) \
	{ OPT_##member_, name_, ITEM_##kind_(value_, summary_, standard_), false },
static const struct opt_item serve_items[] = {
#include "base/serve_options.def"
};
#undef OPTION

struct serve {
	char **argv; /* reckond's arguments: each option as --name=value */
	size_t count;
};

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct serve *serve = arg;
	const char *name = NULL;
	size_t size;

	if (id == OPT_OPERAND) {
		err_set(err, ERR_INVALID, "unexpected argument '%.100s'", value);
		return err_remedy(err, "see reckon serve --help");
	}
	for (size_t i = 0; i < ARRAY_LEN(serve_items); i++)
		if (serve_items[i].id == id)
			name = serve_items[i].name;
	if (name == NULL)
		return err_set(err, ERR_INVALID, "unknown option");
	size = strlen(name) + (value != NULL ? strlen(value) : 0) + 4;
	serve->argv[serve->count] = mem_new0(size, 1);
	(void)snprintf(serve->argv[serve->count++], size, value != NULL ? "--%s=%s" : "--%s", name,
		       value);
	return 0;
}

static int run_serve(const struct opt_command *self, int argc, char **argv)
{
	char name[] = "reckond";
	struct serve serve = { .argv = mem_new0((size_t)argc + 2, sizeof(char *)), .count = 1 };
	struct err err;
	int rc, status;

	serve.argv[0] = name;
	rc = opt_parse(self, argc, argv, take, &serve, &err);
	if (rc < 0) {
		(void)cli_complain(&err);
		status = EXIT_CODE_USAGE;
	} else if (rc > 0) {
		opt_print_help(stdout, self);
		status = EXIT_CODE_OK;
	} else {
		/* Returns only on failure. reckond checks the values. */
		status = cli_exec_libexec(name, serve.argv);
	}
	for (size_t i = 1; i < serve.count; i++)
		free(serve.argv[i]);
	free(serve.argv);
	return status;
}

const struct opt_command cmd_serve_table = {
	.name = "serve",
	.operands = "",
	.summary = "serve sessions over HTTP, in the foreground",
	.notes = "\n"
		 "  reckon serve --listen 127.0.0.1:7263\n"
		 "\n"
		 "The first start prints an API key, once, and a line when the server is ready.\n"
		 "The API: docs/http-api.md and /reckon/v1/openapi.json.",
	.items = serve_items,
	.count = ARRAY_LEN(serve_items),
	.run = run_serve,
};
