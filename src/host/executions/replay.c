/*
 * replay.c - events of ended executions that can be read again, with one limit for all sessions.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 * Never:    selects an execution whose end is not committed yet.
 */
#include "host/executions/replay.h"

#include "host/host.h"

void replay_add(struct execution *execution)
{
	struct replay *list = &execution->session->tenant->replay;
	struct replayed *self = &execution->replayed;

	self->bytes = sizeof(*execution) + event_buffer_shrink(execution->events);
	self->before = list->last;
	if (list->last != NULL)
		list->last->replayed.next = execution;
	else
		list->first = execution;
	list->last = execution;
	list->bytes += self->bytes;
	execution->session->host->executions.replay_bytes += self->bytes;
	execution->session->host->executions.replay_newest = execution;
}

void replay_remove(struct execution *execution)
{
	struct replay *list = &execution->session->tenant->replay;
	struct replayed *self = &execution->replayed;

	if (execution->session->host->executions.replay_newest == execution)
		execution->session->host->executions.replay_newest = NULL;
	if (self->bytes == 0)
		return;
	if (self->before != NULL)
		self->before->replayed.next = self->next;
	else
		list->first = self->next;
	if (self->next != NULL)
		self->next->replayed.before = self->before;
	else
		list->last = self->before;
	list->bytes -= self->bytes;
	execution->session->host->executions.replay_bytes -= self->bytes;
	*self = (struct replayed){ .bytes = 0 };
}

/*
 * Skips executions that a transaction or a pending row still needs, and the one that ended last,
 * whose last events a client may be about to read.
 */
static struct execution *oldest_of(const struct host *host, const struct tenant *tenant)
{
	struct execution *at = tenant->replay.first;

	while (at != NULL &&
	       (at->row == EXECUTION_ROW_UNCOMMITTED || at->pending_row != NULL ||
		at == host->executions.replay_newest))
		at = at->replayed.next;
	return at;
}

static struct execution *choose(const struct host *host)
{
	const struct tenant *most = NULL;

	for (const struct tenant *at = host->tenants.first; at != NULL; at = at->next)
		if (at->replay.bytes > 0 &&
		    (most == NULL || at->replay.bytes > most->replay.bytes) &&
		    oldest_of(host, at) != NULL)
			most = at;
	return most != NULL ? oldest_of(host, most) : NULL;
}

struct execution *replay_victim(const struct host *host)
{
	return host->executions.replay_bytes > REPLAY_BYTES_MAX ? choose(host) : NULL;
}
