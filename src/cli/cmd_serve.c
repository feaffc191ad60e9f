/*
 * cmd_serve.c - reckon serve: becomes reckond, which starts what reads the network.
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

enum {
	OPT_LISTEN = OPT_LONG, OPT_STATE, OPT_PUBLIC, OPT_IDLE, OPT_WORKERS, OPT_SESSIONS,
	OPT_CONNECTIONS, OPT_HEADER, OPT_BODY, OPT_PRIVATE, OPT_IDLE_EXIT,
};

static const struct opt_item serve_items[] = {
	{ OPT_LISTEN, "listen", "ADDRESS:PORT", "where (127.0.0.1:7263)", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_STATE, "state", "DIR", "keys, history and artifacts", OPT_HINT_DIR, NULL, false },
	{ OPT_PUBLIC, "public", NULL, "allow an address that others can reach, without TLS",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_PRIVATE, "private", NULL, "for you alone: a socket, no port, no key", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_IDLE_EXIT, "idle-exit", "SECONDS", "end when unused so long (--private; 900)",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_IDLE, "idle-timeout", "SECONDS", "end sessions unused so long (1800)",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_SESSIONS, "max-sessions", "N", "open at once, up to 240 (200)", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_WORKERS, "workers", "N", "cells that run at once (64)", OPT_HINT_NONE, NULL, false },
	{ OPT_CONNECTIONS, "max-connections", "N", "of clients (10000)", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_HEADER, "header-timeout", "SECONDS", "for the head of a request (30)",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_BODY, "body-timeout", "SECONDS", "for each 16 KiB of a body (60)", OPT_HINT_NONE,
	  NULL, false },
};

struct serve {
	char **argv; /* of reckond: each option as --name=value */
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
		/* Returns only when it failed; values are judged by reckond. */
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
	.summary = "offer sessions over HTTP, in the foreground",
	.notes = "\n"
		 "  reckon serve --listen 127.0.0.1:7263\n"
		 "\n"
		 "The first start prints an API key, once. One line says when it is ready. The\n"
		 "interface: docs/http-api.md, and GET /reckon/v1/openapi.json.",
	.items = serve_items,
	.count = ARRAY_LEN(serve_items),
	.run = run_serve,
};
