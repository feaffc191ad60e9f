/*
 * hold.c - who still cares: connections that keep an execution, or a run, from being cancelled.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 * Never:    grows: what a front may name is bounded.
 */
#include "host/executions/hold.h"

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

/* Takes the ids of this range out; how many there were. */
static size_t remove_range(struct hold *hold, uint64_t first, uint64_t last)
{
	const size_t before = hold != NULL ? hold->count : 0;
	size_t kept = 0;

	for (size_t i = 0; i < before; i++)
		if (hold->requests[i] < first || hold->requests[i] > last)
			hold->requests[kept++] = hold->requests[i];
	if (before > 0)
		hold->count = kept;
	return before - kept;
}

void hold_drop(struct hold *hold, uint64_t request, uint64_t now_ns)
{
	if (remove_range(hold, request, request) > 0)
		hold->alone_ns = hold->count == 0 ? now_ns : 0;
}

void hold_lose(struct hold *hold, uint64_t first, uint64_t last)
{
	/* Who went before that has gone by itself, and its grace goes on. */
	(void)remove_range(hold, first, last);
}

bool hold_is_over(const struct hold *hold, uint64_t now_ns)
{
	return hold != NULL && hold->alone_ns != 0 && now_ns - hold->alone_ns >= hold->grace_ns;
}
