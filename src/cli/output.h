/*
 * output.h - reckon output and reckon artifact, wherever the bytes come from.
 *
 * cmd_output.c has the commands; here is what remote/output.c needs to do the same with a daemon.
 */
#pragma once

#include <stdint.h>

#include "cli/options/opt.h"

/*
 * Writes the bytes of `id` from `offset` on, at most `length` (0: to the end), to `fd`; returns an
 * exit status, having said what was wrong in the name of `command`.
 */
typedef int output_get_fn(const char *command, const char *id, uint64_t offset, uint64_t length,
			  int fd, void *arg);

struct output_where {
	const char *url, *key; /* of the command line */
	output_get_fn *get;
	void *arg;
};

/* Parses and does it; `where` gets --url and --key before `get` is called. */
int output_run(const struct opt_command *self, int argc, char **argv, struct output_where *where);
