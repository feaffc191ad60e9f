/*
 * lease.c - the connections that keep an execution or a run from being cancelled.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 * Never:    grows: the number of requests is bounded.
 */
#include "host/executions/lease.h"

#include "base/mem.h"

#define GRACE_MS_MAX (3600u * 1000u)

struct lease *lease_new(uint64_t grace_ms, uint64_t request)
{
	struct lease *lease = mem_new0(1, sizeof(*lease));

	/* The front checked this number, but a front may be compromised. */
	lease->grace_ns = (grace_ms < GRACE_MS_MAX ? grace_ms : GRACE_MS_MAX) * 1000000u;
	lease_take(lease, request);
	return lease;
}

void lease_take(struct lease *lease, uint64_t request)
{
	if (lease == NULL || lease->count == LEASE_CONNECTIONS_MAX)
		return;
	lease->requests[lease->count++] = request;
	lease->alone_ns = lease->least_ns = 0;
}

/* Removes the ids in this range; returns how many there were. */
static size_t remove_range(struct lease *lease, uint64_t first, uint64_t last)
{
	const size_t before = lease != NULL ? lease->count : 0;
	size_t remaining = 0;

	for (size_t i = 0; i < before; i++)
		if (lease->requests[i] < first || lease->requests[i] > last)
			lease->requests[remaining++] = lease->requests[i];
	if (before > 0)
		lease->count = remaining;
	return before - remaining;
}

void lease_drop(struct lease *lease, uint64_t request, uint64_t now_ns)
{
	if (remove_range(lease, request, request) > 0)
		lease->alone_ns = lease->count == 0 ? now_ns : 0;
}

void hold_renew(struct lease *lease, uint64_t now_ns, uint64_t least_ms)
{
	if (lease == NULL || lease->alone_ns == 0)
		return;
	lease->alone_ns = now_ns;
	lease->least_ns = least_ms * 1000000u;
}

void lease_lose(struct lease *lease, uint64_t first, uint64_t last)
{
	/*
	 * A client that disconnected before the crash did so itself, so its grace period continues.
	 */
	(void)remove_range(lease, first, last);
}

bool lease_is_over(const struct lease *lease, uint64_t now_ns)
{
	uint64_t grace;

	if (lease == NULL || lease->alone_ns == 0)
		return false;
	grace = lease->least_ns > lease->grace_ns ? lease->least_ns : lease->grace_ns;
	return now_ns - lease->alone_ns >= grace;
}
