/*
 * host.h - declarations that the files of reckond share.
 *
 *   main.c, config.c, private.c    start, options, the daemon of one user
 *   module.h, jobs.c               hooks between the parts; the functions for each kind of job
 *   pool.c, transaction.c          threads for blocking work; transactions and syncs
 *   about.c, descriptors.c         the context of log lines; how many files can be opened
 *   db/                            SQLite: one file for each table
 *   fronts/                        the dialect processes: start, requests, answers
 *   audit/                         who did what: a chain of hashes
 *   tenants/                       tenants, keys, quotas, usage
 *   executions/                    jobs, executions, their events, waiting requests
 *   sessions/                      a session's life, queues and box; restarts of the daemon
 *   files/                         changes of files; watches; garbage collection of the store
 *   volumes/                       folders of tenants that several sessions mount
 *   processes/                     programs that clients start beside the kernels, and ports
 *   runs/                          questions that models answer by running code
 *   calls/                         one handler for each call of the field table
 *   operations/                    metrics, readiness, reload, drain, stop, doctor, retention
 *
 * Files do not call each other in circles (tools/check_cycles.py): a part notifies its callers
 * through hooks (module.h).
 *
 * One thread runs the loop and owns everything except two things: from pool_submit() until it
 * returns, a thread of the pool owns a job and the handles of its session; an event buffer has a
 * lock. Only the loop uses the fronts and SQLite; other threads sync what it has committed
 * (transaction.c) and, over a separate connection, checkpoint the log (db/log.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/process/grant.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "base/clock.h"
#include "host/audit/audit.h"
#include "host/config.h"
#include "host/db/db.h"
#include "host/db/tables/context.h"
#include "host/db/tables/persist.h"
#include "host/files/gc.h"
#include "host/module.h"
#include "host/runs/run.h"
#include "host/operations/lifecycle.h"
#include "host/operations/observe.h"
#include "host/operations/reserve.h"
#include "host/sessions/admission.h"
#include "host/sessions/state/life.h"
#include "host/sessions/pause.h"
#include "host/sessions/restart/restore.h"
#include "host/sessions/state/session.h"
#include "host/operations/operate.h"
#include "host/fronts/conn.h"
#include "host/files/files.h"
#include "host/executions/row_before_run.h"
#include "host/pool.h"
#include "host/processes/process.h"
#include "host/operations/retain.h"
#include "host/monotonic.h"
#include "host/tenants/tenant.h"
#include "host/transaction.h"
#include "host/volumes/volume.h"
#include "reckon_keep.h"
#include "wire/front.h"
#include "wire/front_stats.h"

#define HOST_QUEUE_MAX 16u    /* jobs that wait in one session */
#define HOST_KERNELS_MAX 8u   /* per session; as in the warden */
#define HOST_FILE_WORKERS 16u /* jobs for files at the same time */
/* Per session: finished executions whose events can be read again. */
#define HOST_EVENT_BUFFERS_MAX 4u
#define HOST_UPLOADS_MAX 64u
#define HOST_BUCKETS 4096u
#define EARLY_SIZE 160
#define HOST_ADDRESS_SIZE 96

/* The sessions of the daemon. */
struct sessions {
	struct session *first;
	struct session *buckets[HOST_BUCKETS]; /* by id */
	unsigned count;
	unsigned leaving; /* of them; see struct tenant */
	unsigned restoring, adopting; /* parked ones that are getting a box */
	uint64_t lifetime_ms; /* a moving average; 0: not known yet */
	uint64_t next_use_ns; /* when times of last use are written again */
	unsigned char lease_secret[32];
	struct session *over; /* calls/once.c */
	struct loop_timer *over_timer;
	struct prewarmed *prewarmed;
	char early[EARLY_SIZE]; /* template and language of the last session that was opened */
	struct loop_timer *start_timer;
};

/* The executions of all sessions. */
struct executions {
	uint64_t average_ms; /* average duration; 0: not known yet */
	size_t replay_bytes; /* executions/replay.c */
	struct execution *replay_newest;
	size_t followers; /* requests that wait for events */
	struct pending_row *pending_rows, *pending_rows_last; /* executions/pending_row.c */
	struct execution *firsts; /* executions/row_before_run.c */
};

/* The tenants of the daemon, and their keys. */
struct tenants {
	struct tenant *first;
	unsigned count;
	struct key_table *keys;
	struct strict strict; /* clock for keys and links */
	unsigned char key_secret[32];
};

/* The listening socket (fronts/listen.c, private.c). */
struct door {
	int fd;
	char name[HOST_ADDRESS_SIZE + 8]; /* with "http://" or "unix:" */
	bool is_loopback;     /* only this machine can connect */
	int runtime_fd;	      /* of a private daemon: the directory of the socket */
	char socket_name[48];
	uint64_t last_request_ns; /* when the last request came */
};

/* The daemon itself, except its state. */
struct operations {
	int argc;
	char **argv;
	char started_at[CLOCK_RFC3339_SIZE];
	struct readiness *readiness;
	struct reserve reserve;
	struct retainer retainer;
	uint64_t trim_ns; /* when to return freed memory to the system; 0: not needed */
	uint64_t grace_end_ns; /* of an end that waits for cells */
	/* When a stop stops waiting for clients that read results; 0: cells are running. */
	uint64_t unread_until_ns;
};

/* Threads for blocking work; each pool wakes the loop. */
struct pools {
	struct pool *main;
	struct pool *files; /* for jobs about files */
	struct loop_io *main_io, *files_io;
};

/* Directories of the daemon. */
struct place {
	int state_fd;
	int lock_fd;
	char libexec[512];
};

/* Uploads and garbage collection. */
struct files {
	struct upload uploads[HOST_UPLOADS_MAX];
	struct gc gc;
};

struct host {
	struct config config;
	const struct module *const *modules;
	const struct job_type *job_types; /* by kind */
	struct lifecycle life;
	struct loop *loop;
	struct db *db;
	struct pools pools;
	struct fronts fronts;
	struct loop_timer *tick;
	reckon_engine *engine; /* for artifacts; has no connection to a warden */
	struct place place;
	struct door door;
	struct sessions sessions;
	struct runs runs;
	struct transactions transactions;
	struct operations operations;
	struct executions executions;
	struct tenants tenants;
	struct admission admission;
	struct files files;
	struct volumes volumes;
	struct held_snapshot *held_snapshots; /* calls/tenants/snapshot_held.c */
	struct observer seen;
	struct auditor auditor;
	struct monotonic monotonic;
	struct log_context about; /* of the request that is answered now, or of a returned job's */
	char actor[72];		  /* the client: a key's id, "local"; "" for the daemon itself */
	struct process_pace pace;
};

/* ---- fronts/listen.c ---- */
/* Opens the listening socket as configured. */
int listen_open(struct host *host, struct err *err);

/* ---- sessions/session.c ---- */
/* NULL: the tenant has no live session with this id. */
struct session *session_find(struct host *host, const struct tenant *tenant, const char *id);
struct session *session_by_id(struct host *host, const char *id); /* of any tenant */
void session_index(struct session *session); /* makes it findable; call when it has an id */
/* tenants/usage.c: what a job measured in the box. */
void session_measured(struct session *session, uint64_t memory, uint64_t workspace);
/* The tenant's session that has this name or will get it; closing sessions do not count. */
struct session *session_named(struct host *host, const struct tenant *tenant, const char *name);
void session_forget(struct session *session);
/* Ends the session: fails waiting jobs, interrupts a running one; requests for its id get `end`. */
void session_end(struct session *session, enum api_error end, const char *why,
		 uint64_t request);
/* Ends the sessions that are bound to one of these requests, which have ended. */
void session_let_go(struct host *host, uint64_t first, uint64_t last);
/* And this one, if it was held by a request of an earlier daemon: that connection is gone. */
void session_let_go_after_restart(struct session *session);
void session_tick(struct host *host); /* expiry, interrupts that came too early */
/* With its row, which its transaction keeps. */
int session_commit_start(struct session *session, struct err *err);
/* Stores its end again, after a failure. */
int session_keep_end_again(struct session *session, struct err *err);
void session_interrupt(struct session *session); /* interrupts its first kernel */
/* Adds a session in OPENING, and counts it for the tenant. */
struct session *session_add(struct host *host, struct tenant *tenant,
			    const struct front_limits *limits);
/* The daemon stops: fails waiting jobs, interrupts running ones, closes the box. */
void session_leave(struct session *session);

/* ---- executions/job.c ---- */
struct job *job_new(struct session *session, enum job_kind kind, uint64_t request);
void job_free(struct job *job);

/* ---- executions/job_end.c ---- */
/* Fails a job that will not run: answers its requests, and frees it. */
void job_fail(struct job *job, enum api_error error, const char *why);
void session_answer_job(struct session *session, struct job *job);
void session_job_done(struct session *session, struct job *job);

/* ---- sessions/queue.c ---- */
void job_arm(struct job *job); /* adds settings of its session; call before a thread gets it */
void session_enqueue(struct session *session, struct job *job);
/* Removes the job of this execution from its queue; NULL: it is not queued. */
struct job *session_unqueue(struct session *session, const struct execution *execution);
void session_pump(struct session *session);
void session_run(struct session *session, struct job *job); /* a thread runs it, or will */
void session_fail_waiting(struct session *session, enum api_error end, const char *why);
/* Fails waiting executions and questions to the kernel; jobs about files stay. */
void session_fail_executions(struct session *session, enum api_error end, const char *why);

/* ---- sessions/done.c: jobs that returned ---- */
void session_job_opened(struct job *job);
void session_job_closed(struct job *job);
void session_job_answered(struct job *job); /* of its kernels */
void file_queue_job_done(struct job *job);

/* ---- sessions/restart/revive.c ---- */
/* Loads the sessions that an earlier daemon left, without boxes. */
int persist_revive(struct host *host, struct err *err);
void persist_stop(struct host *host);

/* ---- sessions/restart/persist.c ---- */
/* Stores the state of a new session, in the transaction that adds its row. */
int persist_add(struct session *session, struct err *err);
/* How long it has been idle. */
uint64_t persist_idle_ms(const struct session *session);
bool persist_is_of_this_boot(const struct session *session); /* whether last used in this boot */
/* Call for each job that returned, before it is answered. */
void persist_job_done(struct session *session, struct job *job);
void persist_use(struct session *session); /* notes that it is used now */
void persist_tick(struct host *host);
/* Stores the state of the session, except its row. */
int persist_write(struct session *session, struct err *err);
void persist_set_expiry(struct session *session, uint64_t expires_ms);
/* NULL, or why it has expired. */
const char *persist_expired(const struct session *session, uint64_t now_ns);

/* it ends with its only execution */
bool once_is(const struct session *session); /* it ends with its only execution */
/* Call before its record is answered: keeps the session, if the request wants that. */
void once_keep(struct session *session, const struct job *executed);
/* The transaction failed, so the session is not kept. */
void once_transaction_failed(struct session *session, uint64_t first, const struct err *failed);
/* Call when a job is done: ends the session if that was its only execution. */
void once_done(struct session *session);
void once_forget(struct session *session); /* it is freed */
void once_free(struct once *once); /* NULL is fine */

/* ---- calls/once.c ---- */
void once_work_open(struct job *job); /* in a thread of the pool: opens the box, writes files */
/* The session is open: its code runs. */
void once_opened(struct session *session, const struct job *opened);
void once_end(void *host); /* ends all of them; called by a timer, and before other calls */

/* ---- executions/work.c: in a thread of the pool ---- */
void work_run(struct pool_item *item);
void work_execute(struct job *job);
void work_ask(struct job *job);	    /* variables, completion, inspection */
void work_restart(struct job *job); /* restarts the kernel */
void work_keep(struct job *job);
void work_probe(struct job *job); /* operations/ready.c */
void work_file(struct job *job); /* files/work.c */

/* ---- sessions/work.c: in a thread of the pool ---- */
int work_engine(struct host *host, reckon_engine **ret, reckon_error *error);
/* The options of the box of the job's session, without mounts. */
reckon_session_options work_options(const struct job *job);
/* Opens the session, and an engine unless it has one; a restored session keeps its id. */
void work_open(struct job *job);
void work_close(struct job *job);
void work_context_open(struct job *job);
void work_context_close(struct job *job);
void work_share(struct job *job);

/* ---- sessions/file_queue.c ---- */
void file_queue_enqueue(struct session *session, struct job *job);
void file_queue_pump(struct session *session);
bool file_queue_is_full(const struct session *session);
bool file_queue_is_idle(const struct session *session);
void file_queue_fail_waiting(struct session *session, enum api_error end, const char *why);
reckon_session *file_queue_handle(struct job *job); /* in a pool's thread; NULL: see job->error */

/* ---- files/files.c ---- */
/*
 * Records every change of a session's files. The loop calls it when a job is done, before it is
 * answered: for executions, uploads, moves, removals and archives.
 */
void files_changed(struct session *session, const struct job *job);

/* These headers need the declarations above. */
#include "host/calls/answer.h"
#include "host/executions/execution.h"
