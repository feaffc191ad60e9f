/*
 * session.h - what is known of one session, by part; part of host.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "base/process/grant.h"
#include "host/db/tables/context.h"
#include "host/db/tables/persist.h"
#include "host/db/db.h"
#include "host/processes/process.h"
#include "host/sessions/state/life.h"
#include "host/sessions/pause.h"
#include "reckon.h"
#include "wire/front.h"

struct execution;
struct host;
struct job;
struct missing;
struct observed;
struct once;
struct tenant;
struct watch;

enum context_state {
	CONTEXT_OPENING,
	CONTEXT_LIVE,
	CONTEXT_PARKED, /* it has no kernel; the first job makes it */
	CONTEXT_CLOSING,
	CONTEXT_DELETING, /* the same, and its row goes with it */
};

/* A further kernel of a session: a handle and a queue of its own (sessions/context.c). */
struct context {
	struct context *next; /* of the session, oldest first */
	struct session *session;
	struct db_context row;
	enum context_state state;
	reckon_session *handle; /* the running job's, if there is one */
	struct job *running;
	struct job *first, *last;
	unsigned queued;
	bool kernel_lost;
	bool is_unborn;	 /* its row is in a transaction that is not on the disk */
	uint64_t unborn_transaction;
};

/* A session's files: a handle and a queue of their own (sessions/file_queue.c). */
struct file_queue {
	reckon_session *handle; /* the running job's, if there is one */
	struct job *running, *first, *last;
	unsigned queued, queued_ports;
	struct watch *watches;
};

/* Made for one execution, with which it ends (calls/once.c). */
struct session_alone {
	struct once *once; /* of the request that opens it, until its code is to run */
	bool is_to_stay;   /* once that execution is answered */
	uint64_t stays_transaction; /* the transaction that says so; 0: none */
	bool is_streamed;  /* by that request: it stays until the events of its code are read */
	bool is_over;	   /* the execution */
	struct session *next_over;
};

enum box_state {
	BOX_THERE, /* or a thread opens it */
	BOX_PARKED, /* it has none; the first job that needs one makes it */
	BOX_LEFT, /* parked, but the one that an earlier daemon left may be there */
	BOX_IN_LINE, /* parked, and waits until fewer others are being restored */
};

/* What is known of its box, or that it has none (sessions/restart/restore.c). */
struct session_box {
	enum box_state state;
	reckon_engine *engine;	/* the running job's, if there is one */
	reckon_session *handle;
	bool wants_intact;	/* the next one does without what the store lacks */
	bool kernel_lost;	/* until the next execution, or a restart */
	uint64_t parked_sequence; /* of its last execution before that */
	struct missing *missing; /* from the store, as the last try found it, or NULL */
	struct observed *observed; /* NULL: not open */
	struct grant folders; /* of the host, which `kept.grant` granted (sessions/folders.c) */
};

/* What of it is in transactions that are not on the disk (transaction.c). */
struct session_transactions {
	struct session *next;
	bool is_listed;		/* something of it is */
	bool is_uncommitted;	/* so is what it changed */
	bool is_unborn;		/* so is its row */
	uint64_t last;		/* the last one of those */
	uint64_t birth;		/* that of its row */
	bool end_unkept;	/* its row says that it is live, which is to be mended */
	bool is_early;		/* its row was written before its box was there */
	struct err early_failed; /* code ERR_OK: it was not, or is as durable as it has to be */
};

/* Of the boot clock, which nobody sets and sleep does not stop. */
struct session_clock {
	uint64_t idle_since_ns, opened_ns;
	uint64_t expires_ns; /* 0: never */
	bool used_since;     /* `kept` was written */
};

/* At its workspace, which are committed in their order. */
struct session_looks {
	struct job *early; /* came back before what looked before them */
	uint64_t taken;	   /* the last one that was committed */
	bool ran_since;	   /* the last one was an execution's */
	bool forgets;	   /* for the next job: see there */
};

/* Its further ones. */
struct session_kernels {
	struct context *first;
	unsigned opening; /* which use `handle`: not to be closed meanwhile */
};

/* As last measured; counted in the tenant's sums. */
struct session_measured {
	uint64_t memory, workspace;
	bool is_admitted; /* and not open yet: counted as opening */
};

/* Jobs of its first kernel. */
struct session_queue {
	struct job *running, *first, *last;
	unsigned count; /* that wait */
};

struct session_executions {
	struct execution *first; /* unfinished ones and the last few, newest first */
	uint64_t sequence; /* of the newest */
};

/* What the request that made it said of it. */
struct session_given {
	char name[ID_NAME_MAX + 1]; /* or "" */
	char snapshot[ID_SIZE]; /* it begins with the files of that one; or "" */
	uint64_t held_by; /* it ends with this request; 0: with none */
};

struct session {
	struct session *next, *chain; /* of the host; of the same bucket, see session_find() */
	struct host *host;
	struct tenant *tenant;
	struct db_session row; /* id, template, … as in the database */
	struct front_limits limits;
	enum session_life life;
	enum api_error end; /* once it is closing: what its id is answered with from now on */
	struct session_queue queue;
	struct session_given given;
	struct session_clock clock;
	struct session_measured measured;
	struct session_executions executions;
	struct file_queue file_queue;
	struct session_processes processes; /* processes/process.h */
	struct session_looks looks;
	struct session_kernels kernels;
	struct session_alone alone;
	struct session_box box;
	/* sessions/restart/persist.c, restore.c */
	struct db_persisted kept;
	struct pause pause;
	struct session_transactions transactions;
};

/* It has no box, whether one is on the way or not. */
static inline bool session_is_parked(const struct session *session)
{
	return session->box.state != BOX_THERE;
}
