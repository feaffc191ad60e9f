/*
 * inner.h - one dialect process as reckond sees it; for peer.c, peer_frames.c, peers.c and
 * handoff.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "dialects/table.h"
#include "host/fronts/child.h"
#include "loop/loop.h"
#include "wire/front.h"

#define PEER_BUCKETS 4096u
#define PEER_ID_BITS 48
#define PEER_ID_MASK ((1ull << PEER_ID_BITS) - 1)

struct host;
struct pending;

struct outgoing {
	struct outgoing *next;
	enum front_type type;
	uint64_t request;
	struct buf payload;
	int fd;
	uint64_t turn; /* that it waits for (turn.c); 0: none */
};

struct peer {
	struct host *host;
	size_t dialect;
	struct front_child child;
	int sock; /* or -1: no process runs */
	struct loop_io *io;
	enum front_state state;
	uint64_t generation; /* upper 16 bits of the ids of its requests; 0: none was started yet */
	uint64_t last_id;
	struct pending *buckets[PEER_BUCKETS];
	unsigned pending_count;
	/* Nothing is sent before the process has said READY; until then only connections wait here. */
	struct outgoing *first, *last;
	unsigned connection_count; /* of the queue: hand-offs */
	size_t connection_bytes;
	uint64_t refused_ns; /* when the log last told that a hand-off was refused */
	struct loop_timer *timer; /* the next start, or the time within which READY has to come */
	uint64_t not_before_ns;	  /* the next start */
	unsigned pause_ms;	  /* after the next loss */
	unsigned restarts;
	uint64_t started_ns;
	bool was_started, was_ready;
	struct buf payload;
};

/* ---- peers.c ---- */
/* The dialect's peer, made when there is none; it starts no process. NULL with *err. */
struct peer *peer_of_dialect(struct host *host, size_t dialect, struct err *err);
/* The one whose process gave `request` its number; NULL when that process is gone. */
struct peer *peer_of_request(const struct host *host, uint64_t request);

/* ---- peer.c ---- */
struct peer *peer_new(struct host *host, size_t dialect, struct err *err);
void peer_free(struct peer *peer); /* kills the process, if one runs */
/* Starts the process, unless it runs: now, or when the pause after its last end is over. */
void peer_want(struct peer *peer);
/* The same at once, for the daemon's start: whatever fails is the caller's. */
int peer_spawn(struct peer *peer, struct err *err);
void peer_came_up(struct peer *peer); /* it said READY */
/* Its process ended or broke a rule: ends it, and forgets all that it asked. */
void peer_lost(struct peer *peer, const char *why);
/* Appends to its queue and sends what can be sent; takes `payload` and `fd`. */
void peer_post(struct peer *peer, enum front_type type, uint64_t request, struct buf *payload,
	       int fd);
void peer_flush(struct peer *peer);

void peer_add_pending(struct peer *peer, uint64_t request);
bool peer_take_pending(struct peer *peer, uint64_t request); /* false: it is not unanswered */
bool peer_has_pending(struct peer *peer, uint64_t request);

/* ---- frames.c ---- */
void peer_on_frame(unsigned ready, void *arg);

/* ---- handoff.c ---- */
/* A HANDOFF of this process; takes *fd when it passes it on. ERR_PROTOCOL: it broke a rule. */
int handoff_take(struct peer *from, const struct front_head *head, int *fd, struct err *err);
