/*
 * replay.h - events of ended executions that can be read again: their size, and which go first.
 *
 * Each session keeps its last HOST_EVENT_BUFFERS_MAX executions (execution.c), and all sessions
 * together REPLAY_BYTES_MAX bytes. Above that, the tenant with most bytes loses its oldest, so that
 * a tenant with much output affects only itself. Requests for such an execution get its end from
 * its record, as for any older one.
 */
#pragma once

#include <stddef.h>

#define REPLAY_BYTES_MAX ((size_t)16 * 1024 * 1024)

struct execution;
struct host;

/* Part of struct tenant. */
struct replay {
	struct execution *first, *last; /* oldest first */
	size_t bytes;
};

/* Part of struct execution. */
struct replayed {
	struct execution *before, *next;
	size_t bytes; /* 0: not in a list */
};

void replay_add(struct execution *execution); /* the execution has ended */
void replay_remove(struct execution *execution);
/*
 * The next execution to free because the limit is exceeded; NULL: the limit is not exceeded, or
 * none may be freed.
 */
struct execution *replay_victim(const struct host *host);
