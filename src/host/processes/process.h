/*
 * process.h - one process of a session: its descriptors, its events, who follows it; part of host.h.
 *
 *   process.c          its life: start, end, loss
 *   record.c   what it used and changed, for its row
 *   claim.c    those that begin once, by an Idempotency-Key
 *   jobs.c     what is asked of the warden about it
 *   io.c       what it writes and reads, in the loop; pace.c says how much of it
 *   follow.c   who waits for its events or for its end; leave.c has those who go
 *   calls/process.c   what clients ask
 *   executions/work.c     what of it blocks, in a thread of the pool
 *
 *   STARTING --executed--> RUNNING --ended, its output is read--> ENDING --record kept--> ENDED
 *
 * It belongs to the loop. A job has its handle at the same time only for what asks the warden.
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

#define PROCESS_COUNT_MAX 256u	/* of a session, as libreckon has it */
#define PROCESS_KEPT 16u	/* ended ones of a session whose events can be read again */
#define PROCESS_KEPT_BYTES ((size_t)16 * 1024 * 1024) /* of the events of those of a session */
#define PROCESS_ALL_KEPT_BYTES ((size_t)96 * 1024 * 1024) /* and of all sessions */
/* So long a process that waits waits for the first one who reads it. */
#define PROCESS_FIRST_READER_NS (15ull * 1000000000u)
#define PROCESS_READERS_MAX 64u
#define PROCESS_WAITERS_MAX 256u
#define PROCESS_INPUT_MAX ((size_t)16 * 1024 * 1024) /* that waits for it to read */
#define PROCESS_INPUTS_MAX 256u
#define PROCESS_TENANT_INPUT_MAX ((size_t)64 * 1024 * 1024) /* for all processes of a tenant */

enum process_phase { PROCESS_STARTING, PROCESS_RUNNING, PROCESS_ENDING, PROCESS_ENDED };

/* A request for events that waits, or one that was answered and whose client will ask again. */
struct process_reader {
	uint64_t request;
	uint64_t after; /* what it has, or will have once it took its answer */
	bool is_away;
};

struct process_waiter {
	uint64_t request;
	uint64_t until_ns;
};

/* Bytes for its standard input, and who waits until they are written. */
struct process_input {
	struct process_input *next;
	uint64_t request;
	size_t len, at;
	bool closes;
	char bytes[];
};

/* Of a session. */
struct session_processes {
	struct process *first;	 /* that run, and the last few that ended */
	struct process *ended;	 /* for the next JOB_PROCESS_END */
	bool is_end_queued;	 /* that job */
	struct job *starts, *pending_rows_last; /* wait for a box */
	unsigned jobs;
	uint64_t looked_ns; /* when what they do to the workspace was last looked at */
};

/* Of all processes: what was read in this window of time, and who waits for the next one. */
struct process_pace {
	uint64_t window, bytes;
	struct loop_timer *timer;
	bool is_set;
	size_t kept_bytes; /* of the rings of all that ended */
};

/* Its descriptors: what it writes is read, what it is to read is written (io.c, pace.c). */
struct process_io {
	struct loop_io *out, *err, *end, *in; /* NULL: closed; of a terminal `in` is another watch of `out` */
	bool waits_when_full;
	bool is_over;	   /* it has ended, its output may not have */
	bool is_input_closed;
	uint64_t over_ns;  /* since when nothing was left to read */
	uint64_t window, window_bytes; /* read in this window of time */
	bool is_paused, is_held;
	struct process_input *input, *input_last;
	size_t input_bytes;
	unsigned input_count;
};

/* Who hears what it writes, and of its end (follow.c, leave.c). */
struct process_followers {
	struct event_buffer *events;
	size_t kept_bytes; /* of its ring, once it has ended */
	struct process_reader *readers;
	size_t reader_count;
	struct process_waiter *waiters;
	size_t waiter_count;
	bool was_followed;
	bool dies_alone; /* when nobody follows it any more */
	bool is_hung_up; /* by us, since nobody follows it */
	uint64_t grace_ns, alone_ns; /* since when; 0: somebody does */
	uint64_t left_at; /* the event that the last of them had */
};

/* Of what it leaves. */
enum process_stay {
	PROCESS_MAY_STAY, /* if it was asked for so */
	PROCESS_CLOSES, /* nothing of it is to stay */
	PROCESS_UNBORN, /* the same, and itself: whoever started it was told that it failed */
};

struct process {
	struct process *next; /* of the session, newest first */
	struct process *next_ended; /* of those that one job looks at */
	struct session *session;
	struct db_process row;
	enum process_phase phase;
	enum process_stay stay;
	reckon_process *handle; /* NULL: not started yet, or all that it left is gone */
	unsigned jobs;		/* that have the handle */
	reckon_process_state result; /* written by the job of its end */
	reckon_error failed;	     /* code 0: `result` is known */
	uint64_t started_ns;
	uint64_t wall_ms, cpu_ms; /* what it may take; 0: any */
	struct process_io io;
	struct process_followers follow;
	uint64_t checked_ns; /* what it left: when that was last looked at */
	bool is_unkept;	   /* its row is not as it should be */
	bool is_uncommitted;
	uint64_t transaction;
};

/* ---- process.c ---- */
struct process *process_new(struct session *session, struct err *err);
/* Not in the database: it never was. */
void process_drop(struct process *process);
struct process *process_find(const struct session *session, const char *id);
/* The row as it is now. */
void process_put(struct process *process);
void process_job_done(struct job *job);
bool process_keeps(const struct session *session);   /* one runs for which the session stays */
unsigned process_count(const struct session *session); /* that run, or left something running */
/* The box goes, or is gone. */
void process_lose_all(struct session *session, enum api_process_state state,
		      enum api_process_cause cause, const char *why);
/* Those that were to be started are not. */
void process_fail_waiting(struct session *session, enum api_error error, const char *why);
void process_kill(struct process *process); /* with all that it left */
void process_forget_all(struct session *session); /* the session goes */
void process_transaction_failed(struct session *session, uint64_t first);
void process_transaction_kept(struct session *session, uint64_t upto);

/* When all sessions together keep too much, nobody's are. */
void process_drop_old(struct host *host);

/* ---- jobs.c ---- */
bool process_is_held(const struct process *process); /* its row is to be on the disk first */
/* Its first job: to be started. `process` is whole. */
void process_start(struct process *process, struct job *job);
/* A job that asks the warden about it. */
void process_ask(struct process *process, enum job_kind kind, struct job *job);
/* Jobs that waited for a box. */
void process_pump(struct session *session);
/* It ended, and all that it wrote is in its ring. */
void process_over(struct process *process);
/* Before a thread looks at the workspace of those that ended. */
void process_take_ended(struct job *job);

/* ---- record.c ---- */
void process_note_files(struct process *process, const reckon_workspace *changes);
void process_note_usage(struct process *process);

/* ---- claim.c ---- */
struct request;
/* Whether there is one of this request's key, or something is wrong: then it was answered. What the
 * request asks for goes into `hash`. */
bool process_was_asked(struct host *host, const struct request *req, struct session *session,
		       const struct api_process_create_in *in, unsigned char hash[32]);
/* As process_start(), once its row is on the disk; `process` may be gone when it returns. */
void process_claim(struct process *process, struct job *job);
void process_claims_failed(struct host *host, uint64_t first, const struct err *failed);

/* ---- io.c ---- */
int process_watch(struct process *process, struct err *err);
void process_unwatch(struct process *process);
/* `input` is its from now on; whoever waits is answered when it is written. */
void process_write(struct process *process, struct process_input *input);
void process_drop_input(struct process *process, uint64_t request);
void process_fail_input(struct process *process, enum api_error error, const char *why);
void process_io_tick(struct process *process);
/* In thousandths of a second since it began. */
uint64_t process_age_ns(const struct process *process);

/* ---- pace.c ---- */
/* Somebody took events: what was held back may go on. */
void process_unhold(struct process *process);
void process_want_output(const struct process *process);
/* Before something is read of it, and behind that. */
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
/* It was paused: nobody who could not follow meanwhile has left. */
void process_begin_anew(struct session *session);
void process_tick(struct session *session);

/* ---- calls/process.c ---- */
/* What it points at is the row's, or of the arena. */
void process_tell(struct arena *arena, const struct db_process *row, bool is_list,
		  struct api_process *ret);
/* The event "end". */
int process_tell_end(const struct db_process *row, struct buf *ret, struct err *err);
const char *process_cause_name(unsigned cause);
int process_signal_of(unsigned signal); /* of an enum api_process_signal_in_signal; 0: SIGTERM */
unsigned process_cause_of(const char *name); /* as libreckon has it */
bool process_is_own(struct host *host, const struct request *req, const char *session,
		    const char *process);

/* ---- executions/work.c: in a thread of the pool ---- */
void work_process_start(struct job *job);
void work_process_signal(struct job *job);
void work_process_close(struct job *job);
void work_process_check(struct job *job);
void work_process_end(struct job *job);
