/*
 * lease.h - who still cares: connections that keep an execution, or a run, from being cancelled.
 *
 * A client may ask that what it began ends when it goes away. What holds it is each connection that
 * waits for its answer or reads its events, known by the id of the request that it began with: the
 * front says CANCEL of that id when the connection is gone. When the last one has gone, and none
 * has come back within the grace, it is over.
 *
 * A dialect process that dies takes its connections along, which is not a client's doing: then nothing
 * ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEASE_CONNECTIONS_MAX 64u /* more read as well, and do not count */

struct lease {
	uint64_t grace_ns;
	uint64_t requests[LEASE_CONNECTIONS_MAX];
	size_t count;
	uint64_t least_ns; /* see hold_renew(); 0: the grace alone */
	uint64_t alone_ns; /* since when there is none; 0: there is one, or nobody went */
};

/*
 * One that `request` holds; free() it. Where nothing is to be cancelled there is none: NULL is fine
 * below, and never over.
 */
struct lease *lease_new(uint64_t grace_ms, uint64_t request);
void lease_take(struct lease *lease, uint64_t request);
/* Its connection is gone. */
void lease_drop(struct lease *lease, uint64_t request, uint64_t now_ns);
/* Nobody could be expected to be there until now: who has gone has so long from now on, or the
 * grace where that is longer. */
void hold_renew(struct lease *lease, uint64_t now_ns, uint64_t least_ms);
/* The process of the connections with these ids died. */
void lease_lose(struct lease *lease, uint64_t first, uint64_t last);
bool lease_is_over(const struct lease *lease, uint64_t now_ns);
