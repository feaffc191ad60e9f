/*
 * runtime.h - the places of a user: where its sockets are, where its state is.
 *
 * All our programs agree on them, so that a caller finds what another one of the same user started.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/*
 * Opens $XDG_RUNTIME_DIR/reckon when that variable names a directory of ours, else /run/reckon for
 * root and /tmp/reckon-UID for others. Made when missing; ERR_DENIED when it is not ours alone.
 */
int runtime_dir_open(int *ret_fd, struct err *err);

/*
 * The state directory, absolute: `given` (or NULL), $RECKON_STATE, /var/lib/reckon for root,
 * $XDG_STATE_HOME/reckon, ~/.local/state/reckon. Nothing is made.
 */
int runtime_state_dir(const char *given, char *ret, size_t size, struct err *err);

/*
 * What the user's private daemon for this state directory is called, below the runtime directory:
 * NAME.sock, NAME.lock, NAME.log, and NAME.program, which says of which program it is
 * (runtime_program()). One state directory has one private daemon.
 */
#define RUNTIME_NAME_SIZE 32
void runtime_daemon_name(const char *state_dir, char ret[RUNTIME_NAME_SIZE]);

/* A program as it was installed or built last: another one in its place has another text. */
#define RUNTIME_PROGRAM_SIZE 96
int runtime_program(const char *path, char ret[RUNTIME_PROGRAM_SIZE], struct err *err);

/* Of the environment; NULL when it is not set, is "", or is not to be believed (set-user-id). */
const char *runtime_variable(const char *name);
/* An option, or the variable instead of it; NULL when that is not set or "". */
const char *runtime_option(const char *option, const char *variable);
