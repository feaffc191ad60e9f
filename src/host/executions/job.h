/*
 * job.h - uploads, executions, and the jobs that threads of the pool do for a session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "base/log.h"
#include "host/files/files.h"
#include "host/executions/lease.h"
#include "host/pool.h"
#include "host/executions/replay.h"
#include "host/executions/event_buffer.h"
#include "host/tenants/tenant.h"
#include "reckon_files.h"
#include "reckon_keep.h"
#include "reckon_port.h"
#include "wire/front.h"

struct asking;
struct context;
struct host;
struct run;
struct cell_result;
struct process;
struct stored;
struct volume_work;
struct session;

/* A descriptor that the front writes to, until the COMMIT with its ticket. */
struct upload {
	uint64_t ticket; /* 0: free */
	int fd;
	struct tenant *tenant;
	bool is_archive;
	char session[ID_SIZE];
	char actor[72];
	char *path;
	char *if_match, *if_none;
	struct stored *stored; /* if it becomes a file of the tenant, not of a session */
	struct volume_work *volume; /* if it becomes a file of a volume */
};

/* Files whose content is missing in the store, or damaged there. */
struct missing {
	size_t count;
	char why[160];	 /* of the first */
	struct buf paths; /* of the first MISSING_PATHS_MAX, a JSON array */
};
void missing_free(struct missing *missing); /* NULL is fine */

/* A request that waits for a record or an answer, and the enum api_id of its call. */
struct waiter {
	uint64_t request;
	unsigned call;
};

/* How to stop running code; a later, weaker value does not replace a stronger one. */
enum execution_stop { EXECUTION_STOP_NO, EXECUTION_STOP_INTERRUPT, EXECUTION_STOP_KILL };

enum execution_cancel {
	EXECUTION_WANTED,
	EXECUTION_ABANDONED, /* stopped because its client disconnected */
	EXECUTION_CANCELLED, /* before it began */
};

enum execution_row {
	EXECUTION_ROW_STORED,	   /* or there is no record to store yet */
	EXECUTION_ROW_UNCOMMITTED, /* its record is in a transaction that is not synced yet */
	EXECUTION_ROW_NONE,	   /* its session could not be stored, so it has no row */
};

struct execution {
	struct execution *next; /* in the session's list, newest first */
	struct session *session;
	char id[ID_SIZE], requester[ID_SIZE]; /* the key that started it */
	enum { EXECUTION_QUEUED, EXECUTION_RUNNING, EXECUTION_FINISHED } state;
	struct buf code;     /* until it has run and its row is stored */
	struct pending_row *pending_row; /* until its row is stored; see pending_row.c */
	/* It runs only after this transaction, which has its row, is synced; 0: no need to wait. */
	uint64_t first_transaction;
	struct execution *next_first;
	enum execution_stop stop; /* repeated while it runs */
	struct asking *asking; /* what its code may ask its client; NULL: nothing */
	const reckon_reason *reason; /* why it is stopped, or NULL */
	struct lease *lease;	     /* NULL: it continues if clients disconnect; see lease.h */
	enum execution_cancel cancel;
	struct event_buffer *events;
	struct waiter *waiters; /* requests that get the record */
	size_t waiter_count;
	struct event_waiter {
		uint64_t request;
		uint64_t after;
	} *event_waiters;
	size_t event_waiter_count;
	enum api_error failure; /* if it finished without a record */
	struct err why;
	bool failed;
	enum execution_row row;
	uint64_t transaction;	     /* if its row is EXECUTION_ROW_UNCOMMITTED */
	struct replayed replayed;
	bool is_read;	     /* a client has read its last event */
	uint64_t given_ns;   /* when events were last sent, or it ended */
};

enum job_kind {
	JOB_OPEN,
	JOB_EXECUTE,
	JOB_VARIABLES,
	JOB_COMPLETE,
	JOB_FILE_LIST,
	JOB_FILE_GET,
	JOB_FILE_PUT,
	JOB_FILE_DELETE,
	JOB_FILE_MOVE,
	JOB_FILE_MKDIR,
	JOB_ARCHIVE_GET,
	JOB_ARCHIVE_PUT,
	JOB_CLOSE,
	JOB_INSPECT,
	JOB_IS_COMPLETE,
	JOB_RESTART,
	JOB_CONTEXT_OPEN,
	JOB_CONTEXT_CLOSE,
	JOB_PROBE, /* no session: is the warden available (operations/ready.c) */
	JOB_RESTORE, /* a box for a parked session */
	JOB_ADOPT,   /* adopts the box that an earlier daemon left, if there is one */
	JOB_SHARE,   /* no session: sets a tenant's share of the processors (tenants/tenant.c) */
	JOB_SPARE,   /* no session: connects an engine in advance (sessions/prewarmed.c) */
	JOB_PROCESS_START,
	JOB_PROCESS_SIGNAL,
	JOB_PROCESS_CHECK, /* is anything left of what it started */
	JOB_PROCESS_CLOSE,
	JOB_PROCESS_END, /* for all that ended; scans the workspace (processes/process.c) */
	JOB_STORE,   /* no session: stores a file of a tenant (calls/tenants/stored.c) */
	JOB_PORT_LIST,
	JOB_PORT_CONNECT,
	JOB_WATCH_OPEN,
	JOB_WATCH_READ,
	JOB_PAUSE,   /* freezes the box (sessions/pause.c) */
	JOB_RESUME,
	JOB_KEEP,    /* scans the workspace; no request waits for it */
	JOB_VOLUME,  /* no session: works on files of a volume (volumes/work.h) */
	JOB_KINDS,
};

struct job;
typedef void job_done_fn(struct session *session, struct job *job);

/* The functions for jobs of a kind; the table is in jobs.c. */
struct job_type {
	void (*work)(struct job *job); /* runs in a thread of the pool */
	/*
	 * After the work, take the changes in the workspace and check whether box and kernel still
	 * exist.
	 */
	bool looks;
	void (*begin)(struct job *job); /* called just before the job is submitted; or NULL */
	void (*done)(struct job *job); /* called when it has returned; frees it */
	/* Answers a job that succeeded; NULL: the answer is empty. */
	void (*answer)(struct host *host, struct job *job);
	bool is_reading;    /* the answer does not depend on the transaction that is open */
	const char *action; /* for the audit; NULL: none */
	void (*dropped)(struct job *job); /* called if it will not run; or NULL */
};

#define JOB_PORTS_MAX 256u

/* Variants of job kinds. */
enum job_how {
	JOB_HOW_USUAL,
	JOB_HOW_ONCE,	    /* OPEN: then run `code`, and answer with its record (calls/once.c) */
	JOB_HOW_LAST,	    /* the last of `imports`, which answers */
	JOB_HOW_DETAILED,   /* INSPECT */
	JOB_HOW_LEADER,	    /* PROCESS_SIGNAL: signal only the process itself */
	JOB_HOW_INTACT,	    /* RESTORE: leave out files that the store lacks */
	JOB_HOW_THOROUGH,   /* KEEP: compare every byte */
	JOB_HOW_DROPS_BOX,  /* PAUSE, RESUME: keep only the files */
	JOB_HOW_HANDS_OVER, /* CLOSE, CONTEXT_CLOSE: the box waits for the next daemon */
	JOB_HOW_ADOPTS,	    /* CONTEXT_OPEN: adopt an earlier daemon's kernel, or fail */
};

enum job_loss { JOB_LOST_NOTHING, JOB_LOST_KERNEL, JOB_LOST_BOX };

/* When it was queued, submitted to the pool, begun and ended. */
struct job_times {
	uint64_t queued_ns, submitted_ns, ended_ns;
	_Atomic uint64_t begun_ns; /* 0: it waits for a thread */
};

/* For jobs that open or close a box. */
struct job_box {
	struct tenant_share share;  /* OPEN, RESTORE, SHARE */
	struct job *imports;	    /* OPEN: files to copy before the answer */
	struct file_mount *mounts;  /* OPEN: files mounted by reference (files/file_mounts.c) */
	struct job *then;	    /* OPEN: the execution that its thread runs next; or NULL */
	struct buf env;
	char **env_list;
	reckon_workspace *manifest; /* RESTORE: the session's files; OPEN: a snapshot's, or NULL */
	struct missing *missing;    /* RESTORE: files that the store lacks, or NULL */
	char **recorded;	    /* ADOPT: executions whose end the database has */
	unsigned lease_seconds;	    /* how long the box waits for the next daemon; 0: it does not */
};

/* For PROCESS_START. */
struct job_program {
	struct buf argv_text; /* the texts of `argv` */
	const char **argv;
	uint64_t cpu_ms;
};

/* The results of a job, except its error. */
struct job_result {
	char *json;
	size_t json_len;
	char status[24];
	int fd;
	uint64_t size;
	reckon_cost cost;      /* EXECUTE */
	struct cell_result *cell; /* EXECUTE for a run */
	struct job_part {
		size_t at, len;
	} files_part, receipt_part; /* their positions in `json`, the record */
	struct job_object {
		char id[40];
		uint64_t size;
	} *objects; /* artifacts and outputs that the execution stored */
	size_t object_count;
	enum job_loss loss; /* checked after the job */
	reckon_error why_lost;
	reckon_workspace *changes; /* changes in the workspace since the last job */
	reckon_port_entry *ports;  /* PORT_LIST */
	size_t port_count;
};

struct job {
	struct pool_item item; /* first: the pool sees only this part of a job */
	struct host *host;     /* for PROBE, SHARE and SPARE, which have no session */
	struct job_times times;
	struct log_context about; /* the request that the job is for */
	char actor[72];
	struct job *next;
	enum job_kind kind;
	enum job_how how;
	struct session *session;
	uint64_t request; /* request to answer; 0: none, or the waiters of `execution` */
	/* Called instead of answering, when the job has returned; NULL: answer `request`. */
	job_done_fn *on_done;
	struct execution *execution;
	bool is_for_files; /* uses the session's handle for files, not a kernel's */
	bool forgets; /* changes of an earlier job were not committed: report the whole workspace */
	struct context *context; /* NULL: for the session's first kernel */
	struct run *run; /* the run whose cell it executes, or NULL */
	struct event_buffer *run_events; /* also gets the cell's events; or NULL */
	/* input */
	struct buf code; /* for questions to a kernel; an execution has its own */
	size_t cursor;
	uint64_t timeout_ms;
	uint64_t text_bytes;
	uint64_t output_bytes;
	char *path; /* SHARE: tenant; PORT_CONNECT: port number */
	int fd; /* upload, or archive to write */
	struct file_work files;
	struct stored *stored; /* STORE */
	struct volume_work *volume; /* VOLUME */
	struct watch *watch; /* WATCH_OPEN, WATCH_READ */
	struct process *process; /* PROCESS_…; END: the first of a chain */
	struct job_box box;
	struct job_program program;
	/* results */
	reckon_error error; /* code 0: success */
	struct job_result result;
};
