/*
 * hold.c - who still cares: connections that keep an execution, or a run, from being cancelled.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 * Never:    grows: what a front may name is bounded.
 */
#include "host/hold.h"

#include "base/mem.h"

#define GRACE_MS_MAX (3600u * 1000u)

struct hold *hold_new(uint64_t grace_ms, uint64_t request)
{
	struct hold *hold = mem_new0(1, sizeof(*hold));

	/* The client's number was checked by the front, which may be captured. */
	hold->grace_ns = (grace_ms < GRACE_MS_MAX ? grace_ms : GRACE_MS_MAX) * 1000000u;
	hold_take(hold, request);
	return hold;
}

void hold_take(struct hold *hold, uint64_t request)
{
	if (hold == NULL || hold->count == HOLD_CONNECTIONS_MAX)
		return;
	hold->requests[hold->count++] = request;
	hold->alone_ns = 0;
}

void hold_drop(struct hold *hold, uint64_t request, uint64_t now_ns)
{
	const size_t before = hold != NULL ? hold->count : 0;
	size_t kept = 0;

	for (size_t i = 0; i < before; i++)
		if (hold->requests[i] != request)
			hold->requests[kept++] = hold->requests[i];
	if (kept == before)
		return;
	hold->count = kept;
	hold->alone_ns = kept == 0 ? now_ns : 0;
}

void hold_lose_all(struct hold *hold)
{
	/* Who went before that has gone by itself, and its grace goes on. */
	if (hold != NULL)
		hold->count = 0;
}

bool hold_is_over(const struct hold *hold, uint64_t now_ns)
{
	return hold != NULL && hold->alone_ns != 0 && now_ns - hold->alone_ns >= hold->grace_ns;
}
