/*
 * host.h - what the files of reckond share.
 *
 *   main.c, config.c, private.c   start, options, the daemon of one user
 *   pool.c, transaction.c          threads for what blocks; what the loop commits at once
 *   db/                            SQLite: one file for each table
 *   fronts/                        the dialect processes: started, their requests, their answers
 *   calls/                         one handler for each call of the field table
 *   tenants/                       tenants, keys, quotas, what was used
 *   sessions/                      a session's life; kept over a restart; its box made again
 *   executions/                    jobs and their queue, executions, their events, who waits
 *   files/                         what jobs did to files; watches; what nobody needs is removed
 *   processes/                     programs beside the kernels, and ports
 *   runs/                          questions that models answer by running code
 *   audit/                         who did what: a chain of hashes
 *   operations/                    metrics, readiness, reload, drain, stop, doctor, retention
 *
 * One thread runs the loop and owns everything but two things: a job belongs to a thread of the
 * pool from pool_submit() until it comes back, and with it the session's handles; an event buffer
 * has a lock. Only the loop speaks with the front and with SQLite; what it has committed threads bring
 * to the disk (transaction.c) and, over a connection of their own, into the tables (db/log.c).
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
#include "host/db/context.h"
#include "host/db/persist.h"
#include "host/files/gc.h"
#include "host/runs/run.h"
#include "host/operations/observe.h"
#include "host/operations/reserve.h"
#include "host/sessions/restore.h"
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
#include "reckon_keep.h"
#include "wire/front.h"
#include "wire/front_stats.h"

#define HOST_QUEUE_MAX 16u    /* jobs that wait in one session */
#define HOST_FILE_WORKERS 16u /* jobs about files at once */
#define HOST_RINGS_KEPT 4u    /* finished executions of a session whose events can be read again */
#define HOST_UPLOADS_MAX 64u
#define HOST_BUCKETS 4096u
#define EARLY_SIZE 160
#define HOST_ADDRESS_SIZE 96

enum session_phase { SESSION_OPENING, SESSION_LIVE, SESSION_CLOSING };

/* A further kernel of a session: a handle and a queue of its own (sessions/context.c). */
struct context {
	struct context *next; /* of the session, oldest first */
	struct session *session;
	struct db_context row;
	enum session_phase phase;
	reckon_session *handle; /* the running job's, if there is one */
	struct job *running;
	struct job *first, *last;
	unsigned queued;
	bool kernel_lost;
	bool is_parked;	 /* it has no kernel; the first job makes it */
	bool is_deleted; /* CLOSING: its row goes with it */
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

struct session {
	struct session *next, *chain; /* of the host; of the same bucket, see session_find() */
	struct host *host;
	struct tenant *tenant;
	struct db_session row; /* id, template, … as in the database */
	struct front_limits limits;
	enum session_phase phase;
	enum api_error end; /* CLOSING: what its id is answered with from now on */
	reckon_engine *engine;	 /* the running job's, if there is one */
	reckon_session *handle;
	struct job *running, *first, *last;
	unsigned queued;
	char name[ID_NAME_MAX + 1]; /* or "" */
	uint64_t idle_since_ns; /* of the boot clock, which nobody sets and sleep does not stop */
	uint64_t opened_ns, held_by; /* held_by: it ends with this request; 0: with none */
	uint64_t memory_used, workspace; /* as last measured; counted in the tenant's sums */
	bool is_admitted; /* and not open yet: counted in opening_count */
	uint64_t sequence;
	struct execution *executions; /* unfinished ones and the last few */
	struct file_queue file_queue;
	struct session_processes processes; /* processes/process.h */
	struct job *early; /* came back before what looked at the workspace before them */
	uint64_t taken;	   /* the last look that was committed */
	struct context *contexts;
	unsigned opening_contexts; /* which use `handle`: not to be closed meanwhile */
	bool is_closed;		   /* and goes when the last context has */
	bool is_over;		   /* which has ended */
	bool is_to_stay;	   /* once its first execution is answered (calls/once.c) */
	uint64_t stays_transaction;	   /* the transaction that says so; 0: none */
	struct once *once; /* of the request that opens it, until its code is to run */
	bool is_streamed;  /* by that request: it stays until the events of its code are read */
	struct session *next_over;
	bool kernel_lost;	   /* until the next execution, or a restart */
	struct observed *observed;    /* NULL: not open */
	struct grant folders; /* of the host, which `kept.grant` granted (sessions/folders.c) */
	/* sessions/persist.c, sessions/restore.c */
	struct db_persisted kept;
	bool is_parked;		/* it has no box; the first job that needs one makes it */
	uint64_t parked_sequence; /* of its last execution before that */
	bool wants_restore;	/* and waits until fewer others do the same */
	bool wants_intact;	/* its next box does without what the store lacks */
	struct missing *missing; /* that, as the last try found it, or NULL */
	bool is_leaving;	/* CLOSING because the daemon stops: its row stays live */
	bool forgets;		/* for the next job: see there */
	struct session *next_in_transaction;
	bool is_in_transaction;	/* a transaction that is not on the disk kept something of it */
	bool is_uncommitted;	/* so is what it changed */
	bool is_unborn;		/* so is its row */
	uint64_t transaction;		/* the last one of those */
	uint64_t unborn_transaction;	/* that of its row */
	bool end_unkept;	/* its row says that it is live, which is to be mended */
	bool is_early;		/* its row was written before its box was there */
	struct err row_before_open_failed; /* code ERR_OK: it was not, or is as durable as it has to be */
	bool used_since;	/* `kept` was written */
	bool ran_since;		/* the last look at the workspace was an execution's */
	uint64_t expires_ns;	/* of the boot clock; 0: never */
};

struct host {
	struct config config;
	struct loop *loop;
	struct db *db;
	struct pool *pool;
	struct pool *file_pool; /* for what is beside */
	struct front_conn *fronts[DIALECTS_MAX]; /* NULL: no client has needed this dialect yet */
	uint64_t front_generation;	  /* the last that a dialect process got */
	struct loop_io *wake_io, *file_wake_io;
	struct loop_timer *tick;
	reckon_engine *engine; /* for artifacts; never meets a warden */
	int state_fd;
	int lock_fd;
	int listen_fd;
	char listening[HOST_ADDRESS_SIZE + 8]; /* with "http://" or "unix:" */
	int runtime_fd;	      /* of a private one: where its socket is */
	char socket_name[48];
	uint64_t asked_ns; /* when a request came last */
	char libexec[512];
	struct session *sessions;
	struct session *session_buckets[HOST_BUCKETS]; /* by id */
	unsigned session_count;
	struct run *runs;
	struct models *models; /* that may be asked, or NULL */
	struct pool_item *postponed;  /* it came back, and its transaction cannot begin yet */
	struct loop_timer *busy_timer; /* when that is tried again */
	uint64_t busy_since_ns;	       /* another process writes; 0: none does */
	uint64_t trim_ns; /* when memory goes back to the system; 0: nothing was done since */
	size_t replay_bytes; /* executions/replay.c */
	struct execution *replay_newest;
	size_t followers; /* event waiters of all executions */
	struct tenant *tenants;
	unsigned tenant_count;
	struct key_table *keys;
	/* Moving averages, in ms; 0: nothing was seen yet. */
	uint64_t execution_ms, lifetime_ms;
	/* sessions/admission.c */
	unsigned opening_count;
	uint64_t memory_used; /* of all sessions, as last measured */
	uint64_t available, available_ns;
	uint64_t admitted; /* to sessions since it was read */
	struct upload uploads[HOST_UPLOADS_MAX];
	unsigned char key_secret[32];
	struct observer seen;
	struct readiness *readiness;
	struct reserve reserve;
	struct prewarmed *prewarmed;
	struct auditor auditor;
	struct retainer retainer;
	struct monotonic monotonic;
	struct strict strict; /* of keys and links */
	struct log_context about; /* the request that is answered just now, or the job that ended */
	char actor[72];		  /* who asked: an id of a key, "local"; "" for the daemon itself */
	int argc;
	char **argv;
	bool is_loopback; /* nobody else can reach the socket */
	bool is_draining;
	bool is_upgrading;
	uint64_t grace_end_ns; /* of a stop that waits for cells; 0: none */
	uint64_t unread_until_ns; /* after it, a stop no longer waits for clients that fetch results; 0: cells run */
	bool is_stopping;
	struct gc gc;
	unsigned restoring; /* boxes that are being made for parked sessions */
	struct pending_row *pending_rows, *pending_rows_last; /* executions/pending_row.c */
	struct execution *firsts; /* executions/row_before_run.c */
	struct session *over; /* calls/once.c */
	struct loop_timer *over_timer;
	unsigned leaving;     /* of `session_count`: see struct tenant */
	char early[EARLY_SIZE]; /* template and language of the session that was opened last */
	struct loop_timer *start_timer;
	struct process_pace pace;
	/* transaction.c */
	bool transaction_is_open;
	bool answer_is_reading; /* what is answered now needs nothing of the transaction */
	uint64_t transaction; /* the one that is open, or was last */
	uint64_t committed, synced; /* the last that is in the log, and on the disk */
	uint64_t asked_upto; /* the last that a sync was asked for */
	unsigned syncing;
	bool writing_head; /* a thread of theirs does */
	struct pool *sync_pool;
	struct loop_io *sync_io;
	struct session *in_transaction;
	struct err transaction_failed; /* code ERR_OK: not so far */
	uint64_t next_use_ns;	 /* when clocks are written again */
	char started_at[CLOCK_RFC3339_SIZE];
	int exit_status;
};

/* ---- fronts/listen.c ---- */
/* Host's `listen_fd` and `listening`, from its configuration. */
int listen_open(struct host *host, struct err *err);

/* ---- sessions/session.c ---- */
/* NULL when this tenant has no live session with this id. */
struct session *session_find(struct host *host, const struct tenant *tenant, const char *id);
struct session *session_by_id(struct host *host, const char *id); /* of any tenant */
void session_index(struct session *session); /* from now on it is found: it has an id */
/* What a job found the box to use now. */
void session_measured(struct session *session, uint64_t memory, uint64_t workspace);
/* The tenant's that has this name, or is going to; what closes has given it back. */
struct session *session_named(struct host *host, const struct tenant *tenant, const char *name);
void session_forget(struct session *session);
/* Ends it: waiting jobs fail, a running one is interrupted, its id is answered with `end`. */
void session_end(struct session *session, enum api_error end, const char *why,
		 uint64_t request);
void session_tick(struct host *host); /* expiry, interrupts that came too early */
/* In OPENING, counted as the tenant's. */
struct session *session_add(struct host *host, struct tenant *tenant,
			    const struct front_limits *limits);
/* Its first job is back: it lives, or never was. */
void session_opened(struct session *session, struct job *job);
/* Its last one is: the box is gone. */
void session_closed(struct session *session, const struct job *job);
/* The daemon stops: what waits fails, what runs is interrupted, the box is closed. */
void session_leave(struct session *session);

/* ---- executions/job.c ---- */
struct job *job_new(struct session *session, enum job_kind kind, uint64_t request);
void job_free(struct job *job);
void job_arm(struct job *job); /* with what its session has for it, before a thread sees it */
/* Nobody will run it: whoever waits is told. Frees it. */
void job_fail(struct job *job, enum api_error error, const char *why);
void session_enqueue(struct session *session, struct job *job);
/* The job of this execution, out of the queue in which it waits; NULL: it does not. */
struct job *session_unqueue(struct session *session, const struct execution *execution);
void session_pump(struct session *session);
void session_answer_job(struct session *session, struct job *job);
int session_commit_start(struct session *session, struct err *err);
void session_job_done(struct session *session, struct job *job);
void session_fail_waiting(struct session *session, enum api_error end, const char *why);
/* Waiting executions and questions to the kernel fail; what is about files goes on. */
void session_fail_executions(struct session *session, enum api_error end, const char *why);

/* ---- sessions/persist.c ---- */
/* What an earlier run left, as sessions without a box. */
int persist_revive(struct host *host, struct err *err);
void persist_stop(struct host *host);
/* A session that was just opened; its row and this one are committed together. */
int persist_add(struct session *session, struct err *err);
/* To be called for each job that came back, before it is answered. */
void persist_job_done(struct session *session, struct job *job);
void persist_use(struct session *session); /* somebody used it now */
void persist_tick(struct host *host);
/* Writes what is known of the session beside its row. */
int persist_write(struct session *session, struct err *err);
void persist_set_expiry(struct session *session, uint64_t expires_ms);
/* NULL, or why it is over. */
const char *persist_expired(const struct session *session, uint64_t now_ns);

/* ---- executions/execution.c ---- */
struct execution *execution_find(struct session *session, const char *id);
void execution_free(struct execution *execution);
void execution_wait(struct execution *execution, const struct request *req);
void execution_wait_events(struct execution *execution, uint64_t request, uint64_t after);
void execution_forget(struct host *host, uint64_t request); /* whoever waited went away */
void execution_finish(struct execution *execution, const struct job *job);
void execution_fail(struct execution *execution, enum api_error error, const char *why);
/* Its row could not be kept, and so it is not to run: whoever waits is told. */
void execution_drop(struct execution *execution, const struct err *failed);
/* It never began, and the caller is told to ask again: then its Idempotency-Key is to run it. */
void execution_release_key(const struct execution *execution);
/* An interrupt that met the moment before the code began was not heard: says it again. */
void execution_nudge(const struct execution *execution, reckon_session *handle);
/* The session's row never got into the database: none of its executions has one, for which it would
 * have to be there. What runs ends all the same. */
void execution_rowless(struct session *session, const struct err *failed);
void execution_publish(struct host *host); /* new events to those who wait */

/* With its row, of which the caller may have set the request's hash; NULL: it could not be made. */
struct execution *execution_begin(struct session *session, struct db_execution *row,
				  const char *idempotency, const char *code, size_t len,
				  struct err *err);
struct job *execution_job(struct execution *execution); /* it is to run: to be queued */

/* ---- calls/once.c ---- */
bool once_is(const struct session *session); /* it ends with its only execution */
/* About to be opened: where nothing speaks against it, the thread that does goes on with the code. */
void once_ready(struct session *session, struct job *opened);
/* Any thread: its files, before its code; without them the session is not opened. */
void once_put_files(struct job *opened);
void once_not_run(struct job *opened); /* it could not be opened: its `then` goes */
/* Its session was opened: the code runs. */
void once_opened(struct session *session, const struct job *opened);
/* Its record is about to be answered: the session stays, if that was asked for. */
void once_keep(struct session *session, const struct job *executed);
void once_transaction_failed(struct session *session, uint64_t first); /* so it does not */
/* A job of a session's is done: when it was its only execution, the session is to end. */
void once_done(struct session *session);
void once_end(void *host); /* a moment later, or before anybody looks: all that are to */
void once_forget(struct session *session); /* it goes */

/* ---- executions/pending_row.c ---- */
/* It has begun: this is to be its row, written with its end or soon. Its code is there. */
void pending_row_note(struct execution *execution, const struct db_execution *row,
		const char *idempotency);
bool pending_row_waits(const struct execution *execution);
void pending_row_drop(struct execution *execution); /* it is to have no row */
/* Within the transaction that is open, which fails with it; with its end, if that is known. */
int pending_row_write(struct execution *execution, const struct db_end *end, struct err *err);
void pending_row_write_all(struct host *host); /* before somebody looks */
void pending_row_kept(struct execution *execution);	  /* what was written is committed */
void pending_row_not_kept(struct execution *execution); /* it is not, and waits again */
void pending_row_forget(struct execution *execution);

/* ---- executions/work.c: in a thread of the pool ---- */
int work_engine(struct host *host, reckon_engine **ret, reckon_error *error);
/* The engine, unless it has one, and the session; a restored one gets its old id. */
void work_open(struct job *job);
void work_run(struct pool_item *item);
void work_probe(struct job *job); /* operations/ready.c */
void work_file(struct job *job); /* files/work.c */

/* ---- sessions/file_queue.c ---- */
void file_queue_enqueue(struct session *session, struct job *job);
void file_queue_pump(struct session *session);
bool file_queue_is_full(const struct session *session);
bool file_queue_is_idle(const struct session *session);
void file_queue_fail_waiting(struct session *session, enum api_error end, const char *why);
void file_queue_job_done(struct session *session, struct job *job);
reckon_session *file_queue_handle(struct job *job); /* in a thread of the pool; NULL: job->error */

/* ---- files/files.c ---- */
/*
 * Every change of a session's files passes here, in the loop, when its job is done and before it
 * is answered: executions, uploads, moves, removals, archives.
 */
void files_changed(struct session *session, const struct job *job);

#include "host/calls/answer.h" /* needs what stands above */
