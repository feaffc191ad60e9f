/*
 * handoff.c - passes a client's connection from the dialect process that read its head to another
 * one.
 *
 * Runs in:  reckond's loop.
 * Reads:    the head of a hand-off; it forwards the client's bytes after it unread.
 * Never:    queues more connections or bytes for a process than the limits below: a process that
 *           starts or reads slowly costs its clients their connections, but no memory here.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "host/host.h"
#include "host/fronts/inner.h"

/* For each dialect; enough for a burst of clients while its process starts. */
#define WAITING_MAX 1024u
#define WAITING_BYTES_MAX (8u * 1024u * 1024u)
#define LOG_PAUSE_NS 1000000000ull

/* A compromised process could cause this at any rate, so it logs at most one line per second. */
static void refuse(struct front_conn *to, const char *why)
{
	const uint64_t now = clock_mono_ns();

	if (to->refused_ns != 0 && now - to->refused_ns < LOG_PAUSE_NS)
		return;
	to->refused_ns = now;
	log_line(LOG_WARN, "a connection was not handed on", "dialect=%s why=\"%s\"",
		 dialect_name(to->dialect), why);
}

static void pass_on(struct front_conn *to, const struct front_handoff *handoff, struct buf *payload,
		    int *fd)
{
	const struct front_handoff next = { handoff->dialect, handoff->hops + 1 };

	if (lifecycle_is_ending(&to->host->life) && to->sock < 0)
		return; /* no process is started any more */
	if (handoff->hops >= FRONT_HOPS_MAX) {
		refuse(to, "it was handed on too often without a request served");
		return;
	}
	if (to->connection_count >= WAITING_MAX ||
	    to->connection_bytes + payload->len > WAITING_BYTES_MAX) {
		refuse(to, "too many wait already");
		return;
	}
	memcpy(payload->data, &next, sizeof(next));
	front_post(to, FRONT_CONNECTION, 0, payload, TAKE_FD(*fd));
	front_want(to);
}

int handoff_take(struct front_conn *from, const struct front_head *head, int *fd, struct err *err)
{
	struct front_handoff handoff;
	struct front_conn *to;

	if (!front_may_send(from->state, head->type))
		return err_set(err, ERR_PROTOCOL, "a hand-off in state %d", (int)from->state);
	if (front_check_handoff(head, &from->payload, *fd, from->dialect, dialect_count(),
				&handoff, err) < 0)
		return (int)err->code;
	to = front_of_dialect(from->host, handoff.dialect, err);
	if (to == NULL) { /* an error of ours, so the sender is not at fault */
		log_line(LOG_ERROR, "a connection was not handed on", "why=\"%s\"", err->text);
		return 0;
	}
	pass_on(to, &handoff, &from->payload, fd);
	return 0;
}
