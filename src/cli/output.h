/*
 * output.h - reckon output and reckon artifact, for local and remote outputs.
 *
 * cmd_output.c implements the commands; remote/output.c uses these declarations to do the same with
 * a daemon.
 */
#pragma once

#include <stdint.h>

#include "cli/options/opt.h"

/*
 * Writes the bytes of `id` from `offset` on, at most `length` (0: to the end), to `fd`; returns an
 * exit status; prints errors itself, with `command` as a prefix.
 */
typedef int output_get_fn(const char *command, const char *id, uint64_t offset, uint64_t length,
			  int fd, void *arg);

struct output_where {
	const char *url, *key; /* from the command line */
	output_get_fn *get;
	void *arg;
};

/*
 * Parses the arguments and prints or saves the output; sets url and key of `where` before it calls
 * `get`.
 */
int output_run(const struct opt_command *self, int argc, char **argv, struct output_where *where);
