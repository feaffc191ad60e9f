/*
 * process.h - reckon exec, shell, ps, kill: programs in a session of a daemon.
 *
 *   tables.c        their options
 *   process.c        exec and shell: the command line, and the start
 *   run.c    until it ends: its output, signals, the terminal
 *   post.c          a word to it: input, a signal, the size of a terminal
 *   input.c  our standard input becomes its own, in a thread
 *   ps.c             ps and kill
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/options/opt.h"
#include "cli/remote/remote.h"

enum { PROCESS_OPT_TIMEOUT = OPT_LONG, PROCESS_OPT_TAG, PROCESS_OPT_SIGNAL };

#define REMOTE_PROCESS_PATH_MAX 256u

/* One that was started. */
struct remote_process {
	const struct opt_command *self;
	const struct remote *remote;
	struct client *client;
	char path[REMOTE_PROCESS_PATH_MAX]; /* sessions/ID/processes/ID */
	bool has_terminal, no_input;
};

/* Follows it to its end; returns the exit status of the command. */
int remote_process_run(const struct remote_process *process);
/* Posts `body` (NULL: {}) to path/WHAT. */
int remote_process_post(struct client *client, const char *path, const char *what,
			const struct buf *body, struct err *err);

/* Passes our standard input on until the program ends; a failure of that says nothing. */
int remote_process_input_begin(const struct remote_process *process, struct err *err);

int remote_process(const struct opt_command *self, int argc, char **argv); /* exec, shell */
int remote_ps(const struct opt_command *self, int argc, char **argv);
int remote_kill(const struct opt_command *self, int argc, char **argv);
