/*
 * bash.h - the parts of the bash kernel, among themselves.
 *
 *   bash.c   the packet loop and one execution
 *   lend.c   a cell's tools, for the programs of the shell
 *   shell.c  the shell process: starting it, handing it a cell, its state as text
 *   state.c  what the state says about variables
 *   whole.c  whether a cell is whole
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define BASH_STATE_MAX (8u * 1024u * 1024u)

/*
 * The shell's state as a script that brings it back: variables, a marker line, names of
 * functions, a marker line, everything else. Written by the shell after each cell.
 */
#define BASH_MARK_FUNCTIONS ": reckon functions"
#define BASH_MARK_REST ": reckon rest"

struct bash_outcome {
	int exit_status;   /* of the last command; 128 + n when it died of signal n */
	bool shell_ended;  /* exit, exec, set -e: the next cell gets a new shell */
	bool state_kept;   /* the shell that ended left its state behind */
	bool interrupted;
};

/* Runs a cell in the session's shell (started when there is none); fds: stdout, stderr, stdin. */
int bash_shell_run(const char *code, size_t len, const int *fds, struct bash_outcome *ret_outcome,
		   struct err *err);
/* In the shell, if one runs, and in the environment of those to come. `entry` is "K=V". */
void bash_shell_export(const char *entry);
/* The same for what is run next alone. */
void bash_shell_lend(const char *entry);
/* The shell is not part of this process's world any more (a branch): the next cell starts one. */
void bash_shell_forget(void);
/* For the shell to come: RANDOM begins with this. */
void bash_shell_seed(const char *digits, size_t len);
/* The state after the last cell, and that of a shell in which nothing was run yet. */
const struct buf *bash_shell_state(void);
const struct buf *bash_shell_first_state(void);

/*
 * Tools: `channel` becomes ours, of the cell to come; end() refuses what is asked after it. The shell
 * gets the far end of a pair; what comes on bash_lend_fd() (-1: nothing can) is for bash_lend_turn().
 */
void bash_lend_begin(int channel);
void bash_lend_end(void);
int bash_lend_pair(int *ret_far, struct err *err);
void bash_lend_forget(void); /* the shell is gone */
int bash_lend_fd(void);
void bash_lend_turn(void);

/* Packs VARIABLES_REPLY fields for what is in `state` and not, just so, in `first`. */
int bash_state_variables(const struct buf *state, const struct buf *first, struct buf *payload,
			 struct err *err);

/*
 * Packs VAR_NAME for names that `told` lacks, VAR_GONE for those that are no more, as DONE has them.
 * All zero at first.
 */
#define BASH_TOLD_MAX 50
struct bash_told {
	char *name[BASH_TOLD_MAX];
	size_t count;
};
int bash_state_names(const struct buf *state, const struct buf *first, struct bash_told *told,
		     struct buf *payload, struct err *err);

/* COMPLETE_REPLY fields: variables behind a "$", else functions; nothing is run to find them. */
int bash_state_complete(const struct buf *state, const char *code, size_t cursor,
			struct buf *payload, struct err *err);

/* "complete", "incomplete" or "invalid"; nothing is executed. */
int bash_whole_judge(const char *code, size_t len, const char **ret_status, struct err *err);
