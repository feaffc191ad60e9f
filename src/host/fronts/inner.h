/*
 * inner.h - one dialect process as reckond sees it; for conn.c, frames.c, fronts.c and
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
	uint64_t transaction; /* that it waits for (transaction.c); 0: none */
	bool is_reading; /* it is as true when that transaction fails */
};

struct front_conn {
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

/* ---- conn.c ---- */
/* The dialect's peer, made when there is none; it starts no process. NULL with *err. */
struct front_conn *front_of_dialect(struct host *host, size_t dialect, struct err *err);
/* The one whose process gave `request` its number; NULL when that process is gone. */
struct front_conn *front_of_request(const struct host *host, uint64_t request);
struct front_conn *front_new(struct host *host, size_t dialect, struct err *err);
void front_free(struct front_conn *front); /* kills the process, if one runs */
/* Starts the process, unless it runs: now, or when the pause after its last end is over. */
void front_want(struct front_conn *front);
/* The same at once, for the daemon's start: whatever fails is the caller's. */
int front_spawn(struct front_conn *front, struct err *err);
void front_came_up(struct front_conn *front); /* it said READY */
/* Its process ended or broke a rule: ends it, and forgets all that it asked. */
void front_lost(struct front_conn *front, const char *why);
/* Appends to its queue and sends what can be sent; takes `payload` and `fd`. */
void front_post(struct front_conn *front, enum front_type type, uint64_t request,
		struct buf *payload, int fd);
void front_flush(struct front_conn *front);

void front_add_pending(struct front_conn *front, uint64_t request);
bool front_take_pending(struct front_conn *front, uint64_t request); /* false: it is not unanswered */
bool front_has_pending(struct front_conn *front, uint64_t request);

/* ---- frames.c ---- */
void front_on_frame(unsigned ready, void *arg);

/* ---- handoff.c ---- */
/* A HANDOFF of this process; takes *fd when it passes it on. ERR_PROTOCOL: it broke a rule. */
int handoff_take(struct front_conn *from, const struct front_head *head, int *fd, struct err *err);
