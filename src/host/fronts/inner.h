/*
 * inner.h - reckond's side of one dialect process; for conn.c, frames.c, fronts.c and handoff.c.
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
	uint64_t transaction; /* that must be synced first (transaction.c); 0: none */
	bool is_reading; /* stays valid if that transaction fails */
};

struct front_conn {
	struct host *host;
	size_t dialect;
	struct front_child child;
	int sock; /* or -1: no process is running */
	struct loop_io *io;
	enum front_state state;
	uint64_t generation; /* upper 16 bits of its requests' ids; 0: none */
	uint64_t last_id;
	struct pending *buckets[PEER_BUCKETS];
	unsigned pending_count;
	/* Nothing is sent before READY; until then only connections wait here. */
	struct outgoing *first, *last;
	unsigned connection_count; /* hand-offs in the queue */
	size_t connection_bytes;
	uint64_t refused_ns; /* when the log last reported a refused hand-off */
	struct loop_timer *timer; /* for the next start, or the deadline for READY */
	uint64_t not_before_ns;	  /* of the next start */
	unsigned pause_ms;	  /* after the next end of the process */
	unsigned restarts;
	uint64_t started_ns;
	bool was_started, was_ready;
	struct buf payload;
};

/* ---- conn.c ---- */
/*
 * The connection for a dialect, created if necessary, without starting its process. NULL: see *err.
 */
struct front_conn *front_of_dialect(struct host *host, size_t dialect, struct err *err);
/* The connection whose process made the request; NULL if that process has ended. */
struct front_conn *front_of_request(const struct host *host, uint64_t request);
struct front_conn *front_new(struct host *host, size_t dialect, struct err *err);
void front_free(struct front_conn *front); /* kills the process, if it is running */
/* Starts the process if it is not running: at once, or after the pause since its last end. */
void front_want(struct front_conn *front);
/* Starts the process at once, for the daemon's start; returns errors instead of retrying. */
int front_spawn(struct front_conn *front, struct err *err);
void front_came_up(struct front_conn *front); /* it sent READY */
/* The process ended or violated the protocol: kills it and drops its requests. */
void front_lost(struct front_conn *front, const char *why);
/* Queues a frame and sends what can be sent; takes ownership of `payload` and `fd`. */
void front_post(struct front_conn *front, enum front_type type, uint64_t request,
		struct buf *payload, int fd);
void front_flush(struct front_conn *front);

void front_add_pending(struct front_conn *front, uint64_t request);
bool front_take_pending(struct front_conn *front, uint64_t request); /* false: it is not pending */
bool front_has_pending(struct front_conn *front, uint64_t request);

/* ---- frames.c ---- */
void front_on_frame(unsigned ready, void *arg);

/* ---- handoff.c ---- */
/* Handles a HANDOFF of this process; takes *fd if it forwards it. ERR_PROTOCOL: a violation. */
int handoff_take(struct front_conn *from, const struct front_head *head, int *fd, struct err *err);
