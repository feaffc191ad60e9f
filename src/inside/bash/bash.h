/*
 * bash.h - the interfaces between the parts of the bash kernel.
 *
 *   bash.c   the packet loop and one execution
 *   lend.c   makes a cell's tools available to the shell's programs
 *   shell.c  the shell process: start it, pass it a cell, get its state as text
 *   state.c  reads variables from the state
 *   whole.c  whether a cell is complete
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

#define BASH_STATE_MAX (8u * 1024u * 1024u)

/*
 * The shell's state as a script that restores it: variables, a marker line, names of functions, a
 * marker line, everything else. The shell writes it after each cell.
 */
#define BASH_MARK_FUNCTIONS ": reckon functions"
#define BASH_MARK_REST ": reckon rest"

struct bash_outcome {
	int exit_status;   /* of the last command; 128 + n if signal n killed it */
	bool shell_ended;  /* exit, exec, set -e: the next cell gets a new shell */
	bool has_saved_state; /* the shell that ended saved its state */
	bool interrupted;
};

/* Runs a cell in the session's shell, which it starts if necessary; fds: stdout, stderr, stdin. */
int bash_shell_run(const char *code, size_t len, const int *fds, struct bash_outcome *ret_outcome,
		   struct err *err);
/* Sets the variable in the running shell, and in the environment of later shells. `entry` is
 * "K=V". */
void bash_shell_export(const char *entry);
/* Sets the variable for the next cell only. */
void bash_shell_lend(const char *entry);
/* Drops the shell, which a branch does not have: the next cell starts a new one. */
void bash_shell_forget(void);
/* Seeds RANDOM in the next shell. */
void bash_shell_seed(const char *digits, size_t len);
/* The state after the last cell, and the state of a shell that has run nothing yet. */
const struct buf *bash_shell_state(void);
const struct buf *bash_shell_first_state(void);

/*
 * Tools: takes ownership of `channel` for the next cell; after end() calls are refused. The shell
 * inherits one end of a socket pair. When bash_lend_fd() (-1: no tools) is readable, call
 * bash_lend_turn().
 */
void bash_lend_begin(int channel);
void bash_lend_end(void);
int bash_lend_pair(int *ret_far, struct err *err);
void bash_lend_forget(void); /* the shell has ended */
int bash_lend_fd(void);
void bash_lend_turn(void);

/* Packs VARIABLES_REPLY fields for variables that `state` has and `first` has not, or has
 * differently. */
int bash_state_variables(const struct buf *state, const struct buf *first, struct buf *payload,
			 struct err *err);

/*
 * Packs VAR_NAME for names that `reported` lacks and VAR_GONE for names that no longer exist, for
 * DONE. Zero it before the first call.
 */
#define BASH_NAMES_MAX 50
struct bash_name_list {
	char *name[BASH_NAMES_MAX];
	size_t count;
};
int bash_state_names(const struct buf *state, const struct buf *first,
		     struct bash_name_list *reported, struct buf *payload, struct err *err);

/* Packs COMPLETE_REPLY fields: variables after a "$", otherwise functions. Runs no code. */
int bash_state_complete(const struct buf *state, const char *code, size_t cursor,
			struct buf *payload, struct err *err);

/* Returns "complete", "incomplete" or "invalid". Executes nothing. */
int bash_whole_judge(const char *code, size_t len, const char **ret_status, struct err *err);
