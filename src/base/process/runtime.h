/*
 * runtime.h - finds a user's directories for sockets and for state.
 *
 * All of Reckon's programs use these functions, so that each finds what another one of the same
 * user started.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"

/*
 * Opens $XDG_RUNTIME_DIR/reckon if the user owns the directory that the variable names, else
 * /run/reckon for root and /tmp/reckon-UID for others. Creates it if missing; ERR_DENIED if other
 * users can use it.
 */
int runtime_dir_open(int *ret_fd, struct err *err);

/*
 * The state directory as an absolute path, the first of: `given` (unless NULL), $RECKON_STATE,
 * /var/lib/reckon for root, $XDG_STATE_HOME/reckon, ~/.local/state/reckon. Creates nothing.
 */
int runtime_state_dir(const char *given, char *ret, size_t size, struct err *err);

/*
 * Base name, below the runtime directory, of the files of the user's private daemon for this state
 * directory: NAME.sock, NAME.lock, NAME.log, and NAME.program, which identifies its program
 * (runtime_program()). One state directory has one private daemon.
 */
#define RUNTIME_NAME_SIZE 32
void runtime_daemon_name(const char *state_dir, char ret[RUNTIME_NAME_SIZE]);

/* Identifies an installed or built program file: a file that replaces it gets another text. */
#define RUNTIME_PROGRAM_SIZE 96
int runtime_program(const char *path, char ret[RUNTIME_PROGRAM_SIZE], struct err *err);

/* Of the environment; NULL when it is not set, is "", or is not to be believed (set-user-id). */
const char *runtime_variable(const char *name);
/* An option, or the variable instead of it; NULL when that is not set or "". */
const char *runtime_option(const char *option, const char *variable);
