/*
 * process.h - one process of a session: its descriptors, events and readers; included by host.h.
 *
 *   process.c          its life: start, end, loss
 *   record.c   usage and changed files, for its row
 *   tell.c     how clients see it
 *   claim.c    starts with an Idempotency-Key
 *   jobs.c     jobs that ask the warden about it
 *   io.c       its input and output, in the loop; pace.c limits their rate
 *   follow.c   requests that wait for its events or its end; leave.c has clients that disconnect
 *   calls/process.c   the calls for processes
 *   work.c     what blocks, in a thread of the pool
 *
 *   STARTING --executed--> RUNNING --ended, its output is read--> ENDING --record stored--> ENDED
 *
 * The loop owns it. A job uses only its handle at the same time, to ask the warden.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/calls.h"
#include "host/db/tables/process.h"
#include "host/executions/job.h"
#include "host/executions/event_buffer.h"
#include "loop/loop.h"
#include "reckon_process.h"

#define PROCESS_COUNT_MAX 256u	/* per session, as in libreckon */
#define PROCESS_ENDED_COUNT 16u /* ended ones per session whose events can be read again */
#define PROCESS_ENDED_BYTES ((size_t)16 * 1024 * 1024)	   /* of events of a session's ended ones */
#define PROCESS_ALL_ENDED_BYTES ((size_t)96 * 1024 * 1024) /* of events of all ended ones */
/* How long a process with waits_when_full waits for its first reader. */
#define PROCESS_FIRST_READER_NS (15ull * 1000000000u)
#define PROCESS_READERS_MAX 64u
#define PROCESS_WAITERS_MAX 256u
#define PROCESS_INPUT_MAX ((size_t)16 * 1024 * 1024) /* not yet read by the process */
#define PROCESS_INPUTS_MAX 256u
#define PROCESS_TENANT_INPUT_MAX ((size_t)64 * 1024 * 1024) /* for all processes of a tenant */

enum process_phase { PROCESS_STARTING, PROCESS_RUNNING, PROCESS_ENDING, PROCESS_ENDED };

/* A waiting request for events, or an answered one whose client will ask again. */
struct process_reader {
	uint64_t request;
	uint64_t after; /* last event that it has, including those in its answer */
	bool is_away;
};

struct process_waiter {
	uint64_t request;
	uint64_t until_ns;
};

/* Bytes for the standard input, and the request that waits until they are written. */
struct process_input {
	struct process_input *next;
	uint64_t request;
	size_t len, at;
	bool closes;
	char bytes[];
};

/* The processes of a session. */
struct session_processes {
	struct process *first;	 /* running ones, and the last ended ones */
	struct process *ended;	 /* for the next JOB_PROCESS_END */
	bool is_end_queued;	 /* whether that job is queued */
	struct job *starts, *pending_rows_last; /* START jobs that wait for a box or a row */
	unsigned jobs;
	uint64_t looked_ns; /* when the workspace was last scanned because of them */
};

/* For all processes: bytes read in this time window, and the timer for the next one. */
struct process_pace {
	uint64_t window, bytes;
	struct loop_timer *timer;
	bool is_set;
	size_t ended_event_bytes; /* of events of all ended processes */
};

/* Its descriptors (io.c, pace.c). */
struct process_io {
	struct loop_io *out, *err, *end, *in; /* NULL: closed; `in` of a terminal watches `out` */
	bool waits_when_full;
	bool is_over;	   /* it has ended; there may be more output */
	bool is_input_closed;
	uint64_t over_ns;  /* when output was last read, or it ended */
	uint64_t window, window_bytes; /* bytes read in this time window */
	bool is_paused, is_held;
	struct process_input *input, *input_last;
	size_t input_bytes;
	unsigned input_count;
};

/* Its events, and who waits for them or for its end (follow.c, leave.c). */
struct process_followers {
	struct event_buffer *events;
	size_t event_bytes; /* of its events, after its end */
	struct process_reader *readers;
	size_t reader_count;
	struct process_waiter *waiters;
	size_t waiter_count;
	bool was_followed;
	bool dies_alone; /* it ends if nobody follows it any more */
	bool is_hung_up; /* we sent SIGHUP, because nobody follows it */
	uint64_t grace_ns, alone_ns; /* when the last follower left; 0: there is one */
	uint64_t left_at; /* the last event that this follower got */
};

/* What happens to programs that it leaves running. */
enum process_stay {
	PROCESS_MAY_STAY, /* they may stay, if the client asked for that */
	PROCESS_CLOSES, /* they end */
	PROCESS_UNBORN, /* they end, and the process is freed: its client got an error */
};

struct process {
	struct process *next; /* in the session's list, newest first */
	struct process *next_ended; /* in the list of one JOB_PROCESS_END */
	struct session *session;
	struct db_process row;
	enum process_phase phase;
	enum process_stay stay;
	reckon_process *handle; /* NULL: not started yet, or nothing of it is left */
	unsigned jobs;		/* that use the handle */
	reckon_process_state result; /* set by the job at its end */
	reckon_error failed;	     /* code 0: `result` is valid */
	uint64_t started_ns;
	uint64_t wall_ms, cpu_ms; /* its limits; 0: none */
	struct process_io io;
	struct process_followers follow;
	uint64_t checked_ns; /* when it was last checked for remaining programs */
	bool is_unstored;    /* its row could not be stored */
	bool is_uncommitted;
	uint64_t transaction;
};

/* ---- process.c ---- */
struct process *process_new(struct session *session, struct err *err);
/* Frees it, without changing the database. */
void process_drop(struct process *process);
struct process *process_find(const struct session *session, const char *id);
/* Stores the row. */
void process_put(struct process *process);
void process_job_done(struct job *job);
bool process_keeps(const struct session *session);   /* whether one runs that keeps it open */
unsigned process_count(const struct session *session); /* running, or with programs left */
/* The box is closing, or is lost. */
void process_lose_all(struct session *session, enum api_process_state state,
		      enum api_process_cause cause, const char *why);
/* Fails the processes that are waiting to be started. */
void process_fail_waiting(struct session *session, enum api_error error, const char *why);
void process_kill(struct process *process); /* and all that it left running */
void process_forget_all(struct session *session); /* the session is freed */
void process_transaction_failed(struct session *session, uint64_t first);
void process_transaction_synced(struct session *session, uint64_t upto);

/* Frees ended processes if those of all sessions exceed the limit. */
void process_drop_old(struct host *host);

/* ---- jobs.c ---- */
bool process_is_held(const struct process *process); /* its row must be synced before it starts */
/* Queues its first job, which starts it. `process` must be complete. */
void process_start(struct process *process, struct job *job);
/* Submits a job that asks the warden about it. */
void process_ask(struct process *process, enum job_kind kind, struct job *job);
/* Submits jobs that waited for a box. */
void process_pump(struct session *session);
/* It has ended, and all its output is in the event buffer. */
void process_over(struct process *process);
/* Call before a thread scans the workspace for ended processes. */
void process_take_ended(struct job *job);

/* ---- record.c ---- */
void process_note_files(struct process *process, const reckon_workspace *changes);
void process_note_usage(struct process *process);

/* ---- claim.c ---- */
struct request;
/*
 * Whether the request is answered: its key was used before, or there was an error. `hash` is the
 * hash of the request.
 */
bool process_answer_repeat(struct host *host, const struct request *req, struct session *session,
			   const struct api_process_create_in *in, unsigned char hash[32]);
/* As process_start(), after its row is synced; `process` may be freed on return. */
void process_claim(struct process *process, struct job *job);
void process_claims_failed(struct host *host, uint64_t first, const struct err *failed);

/* ---- io.c ---- */
int process_watch(struct process *process, struct err *err);
void process_unwatch(struct process *process);
/* Takes ownership of `input`; answers its request when it is written. */
void process_write(struct process *process, struct process_input *input);
void process_drop_input(struct process *process, uint64_t request);
void process_fail_input(struct process *process, enum api_error error, const char *why);
void process_io_tick(struct process *process);
/* Nanoseconds since it was started. */
uint64_t process_age_ns(const struct process *process);

/* ---- pace.c ---- */
/* A reader took events: resumes reading output that was held back. */
void process_unhold(struct process *process);
void process_want_output(const struct process *process);
/* Call before and after reading output of the process. */
void process_enter_window(struct host *host, struct process *process);
void process_note_read(struct process *process, size_t len);

/* ---- follow.c ---- */
void process_follow(struct process *process, uint64_t request, uint64_t after, bool goes_on);
void process_wait(struct process *process, uint64_t request, uint64_t timeout_ms);
void process_publish(struct process *process);
void process_answer_waiters(struct process *process); /* it has ended */
void process_remove_reader(struct process *process, size_t index);
void process_answer_waiter(struct process *process, uint64_t request);

/* ---- leave.c ---- */
void process_forget(struct host *host, uint64_t request);
void process_front_lost(struct host *host, uint64_t first, uint64_t last);
/* After a pause: restarts the grace periods, because no client could follow meanwhile. */
void process_begin_anew(struct session *session);
void process_tick(struct session *session);

/* ---- tell.c; process_is_own(): calls/process.c ---- */
/* The result points into the row and the arena. */
void process_tell(struct arena *arena, const struct db_process *row, bool is_list,
		  struct api_process *ret);
/* Encodes the event "end". */
int process_tell_end(const struct db_process *row, struct buf *ret, struct err *err);
const char *process_cause_name(unsigned cause);
int process_signal_of(unsigned signal); /* from enum api_process_signal_in_signal; 0: SIGTERM */
unsigned process_cause_of(const char *name); /* from the name that libreckon uses */
bool process_is_own(struct host *host, const struct request *req, const char *session,
		    const char *process);

/* ---- work.c: in a thread of the pool ---- */
void work_process_start(struct job *job);
void work_process_signal(struct job *job);
void work_process_close(struct job *job);
void work_process_check(struct job *job);
void work_process_end(struct job *job);
