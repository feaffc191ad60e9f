/*
 * session.h - the state of one session, by part; included by host.h.
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
	CONTEXT_PARKED, /* it has no kernel; the first job starts one */
	CONTEXT_CLOSING,
	CONTEXT_DELETING, /* the same, and removes its row */
};

/* An additional kernel of a session, with its own handle and queue (sessions/context.c). */
struct context {
	struct context *next; /* in the session's list, oldest first */
	struct session *session;
	struct db_context row;
	enum context_state state;
	reckon_session *handle; /* the running job owns it */
	struct job *running;
	struct job *first, *last;
	unsigned queued;
	bool kernel_lost;
	bool is_unborn;	 /* its row is in a transaction that is not synced yet */
	uint64_t unborn_transaction;
};

/* Access to a session's files, with its own handle and queue (sessions/file_queue.c). */
struct file_queue {
	reckon_session *handle; /* the running job owns it */
	struct job *running, *first, *last;
	unsigned queued, queued_ports;
	struct watch *watches;
};

/* For a session that was made for one execution and ends with it (calls/once.c). */
struct session_alone {
	struct once *once; /* of the request that opens the session, until its code is queued */
	bool is_to_stay;   /* keep the session when the execution is answered */
	uint64_t stays_transaction; /* the transaction that keeps it; 0: none */
	bool is_streamed;  /* the request reads events: the session stays until they are read */
	bool is_over;	   /* the execution has ended */
	struct session *next_over;
};

enum box_state {
	BOX_THERE, /* or a thread opens it */
	BOX_PARKED, /* none; the first job that needs one makes it */
	BOX_LEFT, /* none, but an earlier daemon may have left one to adopt */
	BOX_IN_LINE, /* none; waits until fewer other sessions are being restored */
};

/* The session's box, if it has one (sessions/restart/restore.c). */
struct session_box {
	enum box_state state;
	reckon_engine *engine;	/* the running job owns it */
	reckon_session *handle;
	bool wants_intact;	/* the next restore leaves out files that the store lacks */
	bool kernel_lost;	/* until the next execution or restart */
	uint64_t parked_sequence; /* number of executions; the next box continues from here */
	struct missing *missing; /* files that the store lacked at the last restore, or NULL */
	struct observed *observed; /* NULL: no open box */
	struct grant folders; /* of the host, granted by `persisted.grant` (sessions/folders.c) */
};

/* The session's part in transactions that are not synced yet (transaction.c). */
struct session_transactions {
	struct session *next;
	bool is_listed;		/* in the list of sessions with such transactions */
	bool is_uncommitted;	/* workspace changes are in one of them */
	bool is_unborn;		/* its row is in one of them */
	uint64_t last;		/* the last of them */
	uint64_t birth;		/* the one with its row */
	bool is_end_unsaved;	/* its row could not be ended, so it must be ended later */
	bool is_early;		/* its row is written while its box is being opened */
	struct err early_failed; /* code ERR_OK: that did not fail */
};

/* Uses the boot clock, which nobody can set and which includes sleep. */
struct session_clock {
	uint64_t idle_since_ns, opened_ns;
	uint64_t expires_ns; /* 0: never */
	bool used_since;     /* since `persisted` was written */
};

/* Scans of the workspace, whose changes are committed in the order of the scans. */
struct session_looks {
	struct job *early; /* jobs that returned before the job of an earlier scan */
	uint64_t taken;	   /* the last one that was committed */
	bool ran_since;	   /* an execution ran since the last scan of a KEEP job */
	bool forgets;	   /* for the next job: see `forgets` in job.h */
};

/* Its contexts. */
struct session_kernels {
	struct context *first;
	unsigned opening; /* contexts that use `handle`: do not close it meanwhile */
};

/* As last measured; included in the tenant's sums. */
struct session_measured {
	uint64_t memory, workspace;
	bool is_admitted; /* admitted but not open yet: counted as opening */
};

/* Jobs of the session's first kernel. */
struct session_queue {
	struct job *running, *first, *last;
	unsigned count; /* of waiting jobs */
};

struct session_executions {
	struct execution *first; /* unfinished ones and the last finished ones, newest first */
	uint64_t sequence; /* of the newest execution */
};

/* Settings from the request that made the session. */
struct session_given {
	char name[ID_NAME_MAX + 1]; /* or "" */
	char snapshot[ID_SIZE]; /* snapshot whose files it starts with; or "" */
	uint64_t held_by; /* request that the session ends with; 0: none */
};

struct session {
	struct session *next, *chain; /* of the host; of the hash bucket, see session_find() */
	struct host *host;
	struct tenant *tenant;
	struct db_session row; /* id, template, … as in the database */
	struct front_limits limits;
	enum session_life life;
	enum api_error end; /* once it is closing: the error for requests that name it */
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
	struct db_persisted persisted;
	struct pause pause;
	struct session_transactions transactions;
};

/* Whether it has no box at the moment. */
static inline bool session_is_parked(const struct session *session)
{
	return session->box.state != BOX_THERE;
}
