/*
 * process.h - reckon exec, shell, ps, kill: programs in a session of a daemon.
 *
 *   tables.c   their options
 *   process.c  exec and shell: the command line, and the start
 *   run.c      follows a program until it ends: output, signals, the terminal
 *   post.c     sends it input, a signal or the terminal's size
 *   input.c    copies our standard input to it, in a thread
 *   ps.c       ps and kill
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

/* A program that was started. */
struct remote_process {
	const struct opt_command *self;
	const struct remote *remote;
	struct client *client;
	char path[REMOTE_PROCESS_PATH_MAX]; /* sessions/ID/processes/ID */
	bool has_terminal, no_input;
};

/* Follows the program until it ends; returns the command's exit status. */
int remote_process_run(const struct remote_process *process);
/* Posts `body` (NULL: {}) to path/WHAT. */
int remote_process_post(struct client *client, const char *path, const char *what,
			const struct buf *body, struct err *err);

/*
 * Starts a thread that copies our standard input to the program until it ends; ignores write
 * errors.
 */
int remote_process_input_begin(const struct remote_process *process, struct err *err);

int remote_process(const struct opt_command *self, int argc, char **argv); /* exec, shell */
int remote_ps(const struct opt_command *self, int argc, char **argv);
int remote_kill(const struct opt_command *self, int argc, char **argv);
