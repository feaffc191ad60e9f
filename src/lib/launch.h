/*
 * launch.h - finds reckon-warden; joins the user's running one or starts one.
 *
 * The shared warden listens in a directory of the user's own (0700, checked through its
 * descriptor), under a name made from the identity of the warden's executable and the template
 * directory: a rebuilt or updated warden never meets an older one's socket.
 */
#pragma once

#include <stddef.h>

#include <sys/types.h>

#include "base/err.h"

/*
 * Path of reckon-warden: next to the running program (<program>/../libexec, as in a build tree),
 * else in $RECKON_LIBEXEC, else next to the installed program, also if the prefix was moved, else
 * where it was installed. *ret_path: free().
 */
int launch_find_warden(char **ret_path, struct err *err);

/* The program of that name in the same directory. *ret_path: free(). */
int launch_find_sibling(const char *name, char **ret_path, struct err *err);

/* Connects to the shared warden; starts it if it does not run. */
int launch_join_shared(const char *warden, const char *template_dir, int *ret_sock,
		       struct err *err);

/* Starts a warden that serves only this connection and ends with it. */
int launch_private(const char *warden, const char *template_dir, int *ret_sock, pid_t *ret_pid,
		   struct err *err);

/*
 * Has a service manager start a warden on `listener`, in a control group that is not the caller's.
 * 1: it serves; 0: there is no such manager ($RECKON_WARDEN_SOCKET), or it does not answer.
 */
int launch_by_manager(int listener, const char *template_dir, unsigned idle_seconds,
		      struct err *err);

/*
 * Connects to all running wardens of this user, including those of an earlier installation; at most
 * `max`, no more than LAUNCH_RUNNING_MAX. Starts none, and skips one that does not accept.
 */
#define LAUNCH_RUNNING_MAX 16u
size_t launch_running(int *ret_socks, size_t max);
