/*
 * lease.h - the connections that keep an execution or a run from being cancelled.
 *
 * A client may ask that what it starts is cancelled when the client disconnects. Each connection
 * that waits for the answer or reads events holds the lease, under the id of its request: if the
 * connection closes, the front sends CANCEL with that id. The lease is over when the last
 * connection has closed and none came back within the grace period.
 *
 * A dialect process that crashes closes its connections, but not because clients disconnected: then
 * nothing is cancelled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEASE_CONNECTIONS_MAX 64u /* further connections may read, but do not hold the lease */

struct lease {
	uint64_t grace_ns;
	uint64_t requests[LEASE_CONNECTIONS_MAX];
	size_t count;
	uint64_t least_ns; /* see hold_renew(); 0: only the grace period counts */
	uint64_t alone_ns; /* when the last connection closed; 0: there is one, or none closed */
};

/*
 * Creates a lease that `request` holds; free() it. No lease is needed if nothing is to be
 * cancelled: the functions below accept NULL, which is never over.
 */
struct lease *lease_new(uint64_t grace_ms, uint64_t request);
void lease_take(struct lease *lease, uint64_t request);
/* The connection of the request has closed. */
void lease_drop(struct lease *lease, uint64_t request, uint64_t now_ns);
/*
 * No client was expected until now: if there is none, the time until the lease is over starts
 * again, with `least_ms` or the grace period, whichever is longer.
 */
void hold_renew(struct lease *lease, uint64_t now_ns, uint64_t least_ms);
/* The front process of these requests crashed. */
void lease_lose(struct lease *lease, uint64_t first, uint64_t last);
bool lease_is_over(const struct lease *lease, uint64_t now_ns);
