/*
 * reckon_process.h - libreckon: programs, with pipes or a terminal, beside a session's kernels.
 *
 * As reckon.h, which has the rest.
 *
 *   reckon_process_options how = { sizeof(how), "make -j2" };   reckon_process *process;
 *   reckon_process_start(session, &how, &process, &err);
 *   poll() and read() reckon_process_fd(process, RECKON_PROCESS_STDOUT), …
 *   reckon_process_wait(process, 60000, &state, &err);  reckon_process_close(process);
 */
#ifndef RECKON_PROCESS_H
#define RECKON_PROCESS_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reckon_process reckon_process;

/* A pseudo-terminal is its standard input, output and error, and controls it. */
#define RECKON_PROCESS_TERMINAL 1u
/* Without a terminal: its standard input is a pipe; else there is nothing to read. */
#define RECKON_PROCESS_INPUT 2u
/* What it left running when it ended may stay until reckon_process_close(); else it ends with it. */
#define RECKON_PROCESS_DETACH 4u

/* Set `size` to sizeof(reckon_process_options), and everything else to zero for defaults. */
typedef struct reckon_process_options {
	size_t size;
	const char *command;     /* for /bin/sh -c; or NULL, and: */
	const char *const *argv; /* NULL-terminated; argv[0] is looked for in PATH */
	const char *cwd;         /* absolute path in the box; NULL: /mnt/data */
	/* NULL-terminated "NAME=value" or NULL, above the session's own and the template's. */
	const char *const *env;
	unsigned flags;          /* RECKON_PROCESS_… */
	unsigned rows;           /* of the terminal; up to 1000; 0: 24 */
	unsigned columns;        /* up to 1000; 0: 80 */
	uint64_t wall_ms;        /* until it and all that it started is killed; 0: no limit */
	uint64_t cpu_ms;         /* the same by the processor time of all of them; 0: no limit */
} reckon_process_options;

/*
 * Starts a program behind the same walls as a kernel, counted by the session's limits, and waits
 * until it was executed: RECKON_ENOT_FOUND when there is no such program, RECKON_EINVALID for a
 * working directory that cannot be entered, RECKON_ELIMIT when the session has as many processes
 * as it may (256 of these, 64 of them with terminals, ended ones included until they are closed;
 * and its `pids`). Its kernels may execute meanwhile. May be called from any thread when the
 * session was opened with RECKON_SESSION_CONCURRENT.
 *
 * *ret belongs to the caller: reckon_process_close(), also once the session is closed. It lives as
 * long as the session, however its kernels fare. Each handle is for one thread at a time.
 */
RECKON_PUBLIC int reckon_process_start(reckon_session *session,
				       const reckon_process_options *options, reckon_process **ret,
				       reckon_error *err);

#define RECKON_PROCESS_STDIN 0
#define RECKON_PROCESS_STDOUT 1
#define RECKON_PROCESS_STDERR 2
#define RECKON_PROCESS_END 3

/*
 * A non-blocking descriptor for poll() and the like; it stays the handle's. STDIN is to be written,
 * STDOUT and STDERR to be read until their end; all three are the same for a terminal, whose end is
 * the error EIO. Whoever does not read makes the program wait. END is readable once the process has
 * ended, and not to be read. Negative when there is none.
 *
 * What comes from them was written by a program that nobody trusts.
 */
RECKON_PUBLIC int reckon_process_fd(const reckon_process *process, int which);

/* No more input. Without effect on a terminal, whose end of input is the character 4 (Ctrl-D). */
RECKON_PUBLIC void reckon_process_close_input(reckon_process *process);

/* The size of its terminal; the programs that it shows are told (SIGWINCH). */
RECKON_PUBLIC int reckon_process_resize(reckon_process *process, unsigned rows, unsigned columns,
					reckon_error *err);

#define RECKON_SIGNAL_LEADER 1u /* to the process alone, not to its process group */

/* `number` from 1 to 31. RECKON_ENOT_FOUND when the process has ended. */
RECKON_PUBLIC int reckon_process_signal(reckon_process *process, int number, unsigned flags,
					reckon_error *err);

/* How it stands, measured from outside the box. Zero where this host measures nothing. */
typedef struct reckon_process_state {
	size_t size; /* sizeof(reckon_process_state), set by the caller */
	int pid;     /* inside the box */
	int is_running;
	/* Once it has ended: "exit", "signal", "timeout" (wall_ms), "cpu_limit" (cpu_ms),
	 * "out_of_memory", "system_call" (of a foreign architecture). */
	const char *cause;
	int exit_code;     /* 0 to 255, or -1 when it was a signal */
	int signal;        /* that ended it, or 0 */
	unsigned left;     /* processes that it started and that are there */
	uint64_t wall_ns;  /* until it ended, or now */
	uint64_t cpu_user_ns;
	uint64_t cpu_system_ns;
	uint64_t memory_peak_bytes;
	uint64_t processes_peak;
	uint64_t read_bytes;    /* by the process itself */
	uint64_t written_bytes;
} reckon_process_state;

RECKON_PUBLIC int reckon_process_status(reckon_process *process, reckon_process_state *ret,
					reckon_error *err);

/*
 * The same once it has ended. RECKON_ETIMEOUT after so many milliseconds (0: at once, negative:
 * never). Reads nothing of what it writes: a program that fills its pipes does not end.
 */
RECKON_PUBLIC int reckon_process_wait(reckon_process *process, int timeout_ms,
				      reckon_process_state *ret, reckon_error *err);

/* Ends it with all that it left, and releases the handle. NULL is fine. */
RECKON_PUBLIC void reckon_process_close(reckon_process *process);

typedef struct reckon_process_entry {
	unsigned number; /* among all of a session's; never given twice */
	int pid;         /* inside the box */
	int is_running;
} reckon_process_entry;

/* The number of a handle's process in reckon_process_list(). */
RECKON_PUBLIC unsigned reckon_process_number(const reckon_process *process);

/* Those of a session that were started and not closed, latest first: how many there are, of which
 * up to `max` are written to `ret`. */
RECKON_PUBLIC int reckon_process_list(reckon_session *session, reckon_process_entry *ret, size_t max,
				      reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
