/*
 * host.h - what the files of reckond share.
 *
 *   main.c, config.c, private.c    start, options, the daemon of one user
 *   module.h, jobs.c               what the parts tell each other; what is done with each kind of job
 *   pool.c, transaction.c          threads for what blocks; what the loop commits at once
 *   about.c, descriptors.c         for whom things happen; what this process can still open
 *   db/                            SQLite: one file for each table
 *   fronts/                        the dialect processes: started, their requests, their answers
 *   audit/                         who did what: a chain of hashes
 *   tenants/                       tenants, keys, quotas, what was used
 *   executions/                    jobs, executions, their events, who waits
 *   sessions/                      a session's life and queues; kept over a restart; its box
 *   files/                         what jobs did to files; watches; what nobody needs is removed
 *   volumes/                       folders of tenants that several sessions mount
 *   processes/                     programs beside the kernels, and ports
 *   runs/                          questions that models answer by running code
 *   calls/                         one handler for each call of the field table
 *   operations/                    metrics, readiness, reload, drain, stop, doctor, retention
 *
 * Files do not call each other in circles (tools/check_cycles.py): what a part
 * has to tell those that call it goes by hooks (module.h).
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
#define HOST_KERNELS_MAX 8u   /* of a session; as the warden has it */
#define HOST_FILE_WORKERS 16u /* jobs about files at once */
#define HOST_RINGS_KEPT 4u    /* finished executions of a session whose events can be read again */
#define HOST_UPLOADS_MAX 64u
#define HOST_BUCKETS 4096u
#define EARLY_SIZE 160
#define HOST_ADDRESS_SIZE 96

/* Of the daemon. */
struct sessions {
	struct session *first;
	struct session *buckets[HOST_BUCKETS]; /* by id */
	unsigned count;
	unsigned leaving; /* of them: see struct tenant */
	unsigned restoring, adopting; /* parked ones that are on their way to a box */
	uint64_t lifetime_ms; /* a moving average; 0: nothing was seen yet */
	uint64_t next_use_ns; /* when clocks are written again */
	unsigned char lease_secret[32];
	struct session *over; /* calls/once.c */
	struct loop_timer *over_timer;
	struct prewarmed *prewarmed;
	char early[EARLY_SIZE]; /* template and language of the one that was opened last */
	struct loop_timer *start_timer;
};

/* Of all sessions. */
struct executions {
	uint64_t average_ms; /* how long one takes; 0: nothing was seen yet */
	size_t replay_bytes; /* executions/replay.c */
	struct execution *replay_newest;
	size_t followers; /* event waiters */
	struct pending_row *pending_rows, *pending_rows_last; /* executions/pending_row.c */
	struct execution *firsts; /* executions/row_before_run.c */
};

/* Of the daemon, and their keys. */
struct tenants {
	struct tenant *first;
	unsigned count;
	struct key_table *keys;
	struct strict strict; /* of keys and links */
	unsigned char key_secret[32];
};

/* Where clients come in (fronts/listen.c, private.c). */
struct door {
	int fd;
	char name[HOST_ADDRESS_SIZE + 8]; /* with "http://" or "unix:" */
	bool is_loopback;     /* nobody else can reach the socket */
	int runtime_fd;	      /* of a private one: where its socket is */
	char socket_name[48];
	uint64_t asked_ns; /* when a request came last */
};

/* Of the daemon itself, beside where it is in its life. */
struct operations {
	int argc;
	char **argv;
	char started_at[CLOCK_RFC3339_SIZE];
	struct readiness *readiness;
	struct reserve reserve;
	struct retainer retainer;
	uint64_t trim_ns; /* when memory goes back to the system; 0: nothing was done since */
	uint64_t grace_end_ns; /* of an end that waits for cells */
	/* After it, a stop no longer waits for clients that fetch results; 0: cells run. */
	uint64_t unread_until_ns;
};

/* Threads for what blocks; each pool wakes the loop. */
struct pools {
	struct pool *main;
	struct pool *files; /* for what is beside */
	struct loop_io *main_io, *files_io;
};

/* Where it works. */
struct place {
	int state_fd;
	int lock_fd;
	char libexec[512];
};

/* On their way in, and out. */
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
	reckon_engine *engine; /* for artifacts; never meets a warden */
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
	struct log_context about; /* the request that is answered just now, or the job that ended */
	char actor[72];		  /* who asked: an id of a key, "local"; "" for the daemon itself */
	struct process_pace pace;
};

/* ---- fronts/listen.c ---- */
/* Host's door, from its configuration. */
int listen_open(struct host *host, struct err *err);

/* ---- sessions/session.c ---- */
/* NULL when this tenant has no live session with this id. */
struct session *session_find(struct host *host, const struct tenant *tenant, const char *id);
struct session *session_by_id(struct host *host, const char *id); /* of any tenant */
void session_index(struct session *session); /* from now on it is found: it has an id */
/* tenants/usage.c: what a job found the box to use now. */
void session_measured(struct session *session, uint64_t memory, uint64_t workspace);
/* The tenant's that has this name, or is going to; what closes has given it back. */
struct session *session_named(struct host *host, const struct tenant *tenant, const char *name);
void session_forget(struct session *session);
/* Ends it: waiting jobs fail, a running one is interrupted, its id is answered with `end`. */
void session_end(struct session *session, enum api_error end, const char *why,
		 uint64_t request);
/* Ends the sessions that are held by one of these requests, which are over. */
void session_let_go(struct host *host, uint64_t first, uint64_t last);
/* And this one, if it was held by a request of an earlier daemon: that connection is gone. */
void session_let_go_after_restart(struct session *session);
void session_tick(struct host *host); /* expiry, interrupts that came too early */
/* With its row, which its transaction keeps. */
int session_commit_start(struct session *session, struct err *err);
/* Its end could not be kept: once more. */
int session_keep_end_again(struct session *session, struct err *err);
void session_interrupt(struct session *session); /* what its own kernel runs */
/* In OPENING, counted as the tenant's. */
struct session *session_add(struct host *host, struct tenant *tenant,
			    const struct front_limits *limits);
/* The daemon stops: what waits fails, what runs is interrupted, the box is closed. */
void session_leave(struct session *session);

/* ---- executions/job.c ---- */
struct job *job_new(struct session *session, enum job_kind kind, uint64_t request);
void job_free(struct job *job);

/* ---- executions/job_end.c ---- */
/* Nobody will run it: whoever waits is told. Frees it. */
void job_fail(struct job *job, enum api_error error, const char *why);
void session_answer_job(struct session *session, struct job *job);
void session_job_done(struct session *session, struct job *job);

/* ---- sessions/queue.c ---- */
void job_arm(struct job *job); /* with what its session has for it, before a thread sees it */
void session_enqueue(struct session *session, struct job *job);
/* The job of this execution, out of the queue in which it waits; NULL: it does not. */
struct job *session_unqueue(struct session *session, const struct execution *execution);
void session_pump(struct session *session);
void session_run(struct session *session, struct job *job); /* a thread has it, or is about to */
void session_fail_waiting(struct session *session, enum api_error end, const char *why);
/* Waiting executions and questions to the kernel fail; what is about files goes on. */
void session_fail_executions(struct session *session, enum api_error end, const char *why);

/* ---- sessions/done.c: jobs that came back ---- */
void session_job_opened(struct job *job);
void session_job_closed(struct job *job);
void session_job_answered(struct job *job); /* of its kernels */
void file_queue_job_done(struct job *job);

/* ---- sessions/restart/revive.c ---- */
/* What an earlier run left, as sessions without a box. */
int persist_revive(struct host *host, struct err *err);
void persist_stop(struct host *host);

/* ---- sessions/persist.c ---- */
/* A session that was just opened; its row and this one are committed together. */
int persist_add(struct session *session, struct err *err);
/* For how long nobody has used it. */
uint64_t persist_idle_ms(const struct session *session);
bool persist_is_of_this_boot(const struct session *session); /* when somebody used it last */
/* To be called for each job that came back, before it is answered. */
void persist_job_done(struct session *session, struct job *job);
void persist_use(struct session *session); /* somebody used it now */
void persist_tick(struct host *host);
/* Writes what is known of the session beside its row. */
int persist_write(struct session *session, struct err *err);
void persist_set_expiry(struct session *session, uint64_t expires_ms);
/* NULL, or why it is over. */
const char *persist_expired(const struct session *session, uint64_t now_ns);

/* ---- sessions/once.c ---- */
bool once_is(const struct session *session); /* it ends with its only execution */
/* Its record is about to be answered: the session stays, if that was asked for. */
void once_keep(struct session *session, const struct job *executed);
/* So it does not. */
void once_transaction_failed(struct session *session, uint64_t first, const struct err *failed);
/* A job of a session's is done: when it was its only execution, the session is to end. */
void once_done(struct session *session);
void once_forget(struct session *session); /* it goes */
void once_free(struct once *once); /* NULL is fine */

/* ---- calls/once.c ---- */
void once_work_open(struct job *job); /* in a thread of the pool: the box, and files before its code */
/* Its session was opened: the code runs. */
void once_opened(struct session *session, const struct job *opened);
void once_end(void *host); /* a moment later, or before anybody looks: all that are to */

/* ---- executions/work.c: in a thread of the pool ---- */
void work_run(struct pool_item *item);
void work_execute(struct job *job);
void work_ask(struct job *job);	    /* of the variables, a completion, an inspection */
void work_restart(struct job *job); /* the kernel */
void work_keep(struct job *job);
void work_probe(struct job *job); /* operations/ready.c */
void work_file(struct job *job); /* files/work.c */

/* ---- sessions/work.c: in a thread of the pool ---- */
int work_engine(struct host *host, reckon_engine **ret, reckon_error *error);
/* What the box of the job's session is opened with, or was; without mounts. */
reckon_session_options work_options(const struct job *job);
/* The engine, unless it has one, and the session; a restored one gets its old id. */
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
reckon_session *file_queue_handle(struct job *job); /* in a thread of the pool; NULL: job->error */

/* ---- files/files.c ---- */
/*
 * Every change of a session's files passes here, in the loop, when its job is done and before it
 * is answered: executions, uploads, moves, removals, archives.
 */
void files_changed(struct session *session, const struct job *job);

/* These need what stands above. */
#include "host/calls/answer.h"
#include "host/executions/execution.h"
