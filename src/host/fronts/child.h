/*
 * child.h - a dialect's process, and the page of counters that it shares with reckond; for conn.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "host/config.h"
#include "wire/front_stats.h"

struct host;

struct front_child {
	pid_t pid; /* or -1 */
	struct front_stats *page;  /* or NULL */
	struct front_stats before; /* counts of earlier processes */
};

/* The program in libexec that serves the dialect; valid until the next call. */
const char *front_child_program(size_t dialect);
/*
 * Starts the process with a new page; *ret_sock does not block. The native one gets the listener.
 */
int front_child_spawn(struct host *host, size_t dialect, struct front_child *child,
		      int *ret_sock, struct err *err);
/* Sends `sig` if it is not 0, and reaps the process; does nothing if it has been reaped. */
void front_child_end(struct front_child *child, int sig);
bool front_child_has_ended(struct front_child *child); /* does not wait */

/* Updates the settings that may change while it runs. */
void front_child_settings(const struct front_child *child, const struct config *config);

/* Adds the counts of this process and of earlier ones to *ret. */
void front_child_counts(const struct front_child *child, struct front_stats *ret);
void front_child_drop_page(struct front_child *child); /* its counts go to `before` */
