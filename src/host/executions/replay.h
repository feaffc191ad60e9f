/*
 * replay.h - executions that have ended and whose events can be read again: how many bytes of them
 * there are, and whose go first.
 *
 * One session keeps its last HOST_RINGS_KEPT (execution.c); all of them together keep no more than
 * a sum. Past it the tenant that has the most gives up its oldest, so that a noisy one pays with
 * its own. What was given up is answered like any older execution: by its end, from its record.
 */
#pragma once

#include <stddef.h>

#define REPLAY_BYTES_MAX ((size_t)16 * 1024 * 1024)

struct execution;
struct host;

/* In a tenant. */
struct replay {
	struct execution *first, *last; /* oldest first */
	size_t bytes;
};

/* In an execution. */
struct replayed {
	struct execution *before, *next;
	size_t bytes; /* 0: it is in no list */
};

void replay_add(struct execution *execution); /* it has ended */
void replay_remove(struct execution *execution);
/* Frees what is too much, but nothing that is still to be committed. */
/* The next that is to go, because there is too much; NULL: there is not, or none may go. */
struct execution *replay_victim(const struct host *host);
