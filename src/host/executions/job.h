/*
 * job.h - what a session is asked to do: uploads on their way, executions, jobs of the pool.
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
struct job_told;
struct process;
struct stored;
struct volume_work;
struct session;

/* A descriptor that the front fills, until the COMMIT with its ticket. */
struct upload {
	uint64_t ticket; /* 0: free */
	int fd;
	struct tenant *tenant;
	bool is_archive;
	char session[ID_SIZE];
	char actor[72];
	char *path;
	char *if_match, *if_none;
	struct stored *stored; /* a file of the tenant, of no session; or NULL */
	struct volume_work *volume; /* a file of a volume; or NULL */
};

/* Files whose content the store has not, or damaged. */
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

/* How its code is to be stopped; a later one does not take back what is harder. */
enum execution_stop { EXECUTION_STOP_NO, EXECUTION_STOP_INTERRUPT, EXECUTION_STOP_KILL };

enum execution_cancel {
	EXECUTION_WANTED,
	EXECUTION_ABANDONED, /* it is stopped because nobody waits any more */
	EXECUTION_CANCELLED, /* before it began */
};

enum execution_row {
	EXECUTION_ROW_KEPT, /* or there is nothing to be kept yet */
	EXECUTION_ROW_UNCOMMITTED, /* its record is in a transaction that is not on the disk */
	EXECUTION_ROW_NONE, /* its session was never kept, so neither is this */
};

struct execution {
	struct execution *next; /* of the session, newest first */
	struct session *session;
	char id[ID_SIZE], asked_by[ID_SIZE]; /* the key that started it */
	enum { EXECUTION_QUEUED, EXECUTION_RUNNING, EXECUTION_FINISHED } state;
	struct buf code;     /* until it has run and is kept */
	struct pending_row *pending_row; /* until its row is; see pending_row.c */
	/* Its row is to be on the disk before it runs, and is in this transaction; 0: not, or it is. */
	uint64_t first_transaction;
	struct execution *next_first;
	enum execution_stop stop; /* said again while it runs */
	struct asking *asking; /* what its code may ask its client; NULL: nothing */
	const reckon_reason *reason; /* for which it is to stop, or NULL */
	struct lease *lease;	     /* NULL: it goes on whoever leaves; see lease.h */
	enum execution_cancel cancel;
	struct event_buffer *events;
	struct waiter *waiters; /* requests that get the record */
	size_t waiter_count;
	struct event_waiter {
		uint64_t request;
		uint64_t after;
	} *event_waiters;
	size_t event_waiter_count;
	enum api_error failure; /* when it finished without a record */
	struct err why;
	bool failed;
	enum execution_row row;
	uint64_t transaction;	     /* of an uncommitted one */
	struct replayed replayed;
	bool is_read;	     /* somebody has the end of its events */
	uint64_t given_ns;   /* when events of it were last given, or it ended */
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
	JOB_PROBE, /* of no session: is the warden there (operations/ready.c) */
	JOB_RESTORE, /* a box for a parked session */
	JOB_ADOPT,   /* the box that an earlier daemon left of it, if there is one */
	JOB_SHARE,   /* of no session: what a tenant may have of the processors (tenants/tenant.c) */
	JOB_SPARE,   /* of no session: an engine for the next one (sessions/prewarmed.c) */
	JOB_PROCESS_START,
	JOB_PROCESS_SIGNAL,
	JOB_PROCESS_CHECK, /* is there anything left of what it started */
	JOB_PROCESS_CLOSE,
	JOB_PROCESS_END, /* of all that ended, with a look at the workspace (processes/process.c) */
	JOB_STORE,   /* of no session: keeps a file of a tenant (calls/stored.c) */
	JOB_PORT_LIST,
	JOB_PORT_CONNECT,
	JOB_WATCH_OPEN,
	JOB_WATCH_READ,
	JOB_PAUSE,   /* everything in the box stands still (sessions/pause.c) */
	JOB_RESUME,
	JOB_KEEP,    /* a look at the workspace, without anybody who asked */
	JOB_VOLUME,  /* of no session: about the content of a volume (volumes/work.h) */
	JOB_KINDS,
};

struct job;
typedef void job_done_fn(struct session *session, struct job *job);

/* What is done with jobs of a kind; the table is jobs.c. */
struct job_type {
	void (*work)(struct job *job); /* in a thread of the pool */
	/* And then what it changed in the workspace is taken, and whether the box is there. */
	bool looks;
	void (*begin)(struct job *job); /* its thread is about to get it; NULL: nothing is to be done */
	void (*done)(struct job *job); /* it came back; frees it */
	/* It did what it should, and whoever asked is told; NULL: nothing but that. */
	void (*answer)(struct host *host, struct job *job);
	bool is_reading;    /* what that says needs nothing that is written with it */
	const char *action; /* of the audit; NULL: none */
	void (*dropped)(struct job *job); /* it will not run; NULL: nobody has to know */
};

#define JOB_PORTS_MAX 256u

/* What is asked of a job beside its kind. */
enum job_how {
	JOB_HOW_USUAL,
	JOB_HOW_ONCE,	    /* OPEN: then `code` runs, and whoever asked gets its record (calls/once.c) */
	JOB_HOW_LAST,	    /* of `imports`: the one that answers */
	JOB_HOW_DETAILED,   /* INSPECT */
	JOB_HOW_LEADER,	    /* PROCESS_SIGNAL: to the process alone */
	JOB_HOW_INTACT,	    /* RESTORE: what the store lacks is given up */
	JOB_HOW_THOROUGH,   /* KEEP: a look at every byte */
	JOB_HOW_DROPS_BOX,  /* PAUSE, RESUME: its files alone stay */
	JOB_HOW_HANDS_OVER, /* CLOSE, CONTEXT_CLOSE: its box waits for the next daemon */
	JOB_HOW_ADOPTS,	    /* CONTEXT_OPEN: the kernel that an earlier daemon left of it, or none */
};

enum job_loss { JOB_LOST_NOTHING, JOB_LOST_KERNEL, JOB_LOST_BOX };

/* When it came, a thread was asked for, one had it, and it was done. */
struct job_times {
	uint64_t queued_ns, submitted_ns, ended_ns;
	_Atomic uint64_t begun_ns; /* 0: it waits for one */
};

/* For those that make a box, or end one. */
struct job_box {
	struct tenant_share share;  /* of an OPEN, a RESTORE, a SHARE */
	struct job *imports;	    /* of an OPEN: files to be copied before it is answered */
	struct file_mount *mounts;  /* of an OPEN: files that it has by reference (files/file_mounts.c) */
	struct job *then;	    /* OPEN: its code, if its thread goes on with it; or NULL */
	struct buf env;
	char **env_list;
	reckon_workspace *manifest; /* RESTORE: what the workspace was; OPEN: is to be, or NULL */
	struct missing *missing;    /* RESTORE: what the store lacks of it, or NULL */
	char **recorded;	    /* ADOPT: the executions that the database knows the end of */
	unsigned lease_seconds;	    /* it waits for the next daemon so long; 0: it does not */
};

/* A PROCESS_START. */
struct job_program {
	struct buf argv_text; /* what `argv` points into */
	const char **argv;
	uint64_t cpu_ms;
};

/* What came of it, beside its error. */
struct job_result {
	char *json;
	size_t json_len;
	char status[24];
	int fd;
	uint64_t size;
	reckon_cost cost;      /* of an execution */
	struct job_told *told; /* of one for an run */
	struct job_part {
		size_t at, len;
	} files_part, receipt_part; /* of its record: where in `json` they are */
	struct job_object {
		char id[40];
		uint64_t size;
	} *objects; /* artifacts and outputs that it stored */
	size_t object_count;
	enum job_loss loss; /* found after the job */
	reckon_error why_lost;
	reckon_workspace *changes; /* what is different in the workspace since the last job */
	reckon_port_entry *ports;  /* PORT_LIST */
	size_t port_count;
};

struct job {
	struct pool_item item; /* first: the pool knows no more of a job */
	struct host *host;     /* of a PROBE, a SHARE, a SPARE, which have no session */
	struct job_times times;
	struct log_context about; /* the request that it came from */
	char actor[72];
	struct job *next;
	enum job_kind kind;
	enum job_how how;
	struct session *session;
	uint64_t request; /* who waits; 0: nobody, or those of `execution` */
	/* It came back, instead of an answer; NULL: it is answered. */
	job_done_fn *on_done;
	struct execution *execution;
	bool is_for_files; /* about files: none of a kernel's */
	bool forgets; /* what was taken before did not reach the database */
	struct context *context; /* NULL: for the session's first kernel */
	struct run *run; /* that it is for, or NULL */
	struct event_buffer *run_events; /* which hears what a cell's ring hears */
	/* what to do */
	struct buf code; /* of a question; an execution has its own */
	size_t cursor;
	uint64_t timeout_ms;
	uint64_t text_bytes;
	uint64_t output_bytes;
	char *path; /* SHARE: the tenant; PORT_CONNECT: its number */
	int fd; /* of an upload, or of an archive that is written */
	struct file_work files;
	struct stored *stored; /* of a STORE */
	struct volume_work *volume; /* of a VOLUME */
	struct watch *watch; /* WATCH_OPEN, WATCH_READ */
	struct process *process; /* PROCESS_…; of an END the first of a chain */
	struct job_box box;
	struct job_program program;
	/* what came of it */
	reckon_error error; /* code 0: success */
	struct job_result result;
};
