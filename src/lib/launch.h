/*
 * launch.h - finds reckon-warden, joins the user's warm one or starts one.
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
 * Path of reckon-warden: beside the running program (<program>/../libexec, as in a build tree),
 * else in $RECKON_LIBEXEC, else beside the program as installed, wherever the prefix was moved to,
 * else where it was installed. *ret_path: free().
 */
int launch_find_warden(char **ret_path, struct err *err);

/* The program of that name in the same directory. *ret_path: free(). */
int launch_find_beside(const char *name, char **ret_path, struct err *err);

/* Connects to the shared warden, starting it when nobody listens. */
int launch_join_shared(const char *warden, const char *template_dir, int *ret_sock,
		       struct err *err);

/* Starts a warden that has this one connection and ends with it. */
int launch_private(const char *warden, const char *template_dir, int *ret_sock, pid_t *ret_pid,
		   struct err *err);

/*
 * Connections to the wardens of this user that run, also those of an earlier installation; at most
 * `max`, no more than LAUNCH_RUNNING_MAX. None is started, and one that does not accept is left out.
 */
#define LAUNCH_RUNNING_MAX 16u
size_t launch_running(int *ret_socks, size_t max);
