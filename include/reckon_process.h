/*
 * reckon_process.h - libreckon: programs with pipes or a terminal in a session's box.
 *
 * An addition to reckon.h, with the same rules.
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

/* A pseudo-terminal is its stdin, stdout and stderr, and its controlling terminal. */
#define RECKON_PROCESS_TERMINAL 1u
/* Without a terminal: stdin is a pipe; else stdin is empty. */
#define RECKON_PROCESS_INPUT 2u
/* Processes that it started may outlive it until reckon_process_close(); else they end with it. */
#define RECKON_PROCESS_DETACH 4u

/* Set `size` to sizeof(reckon_process_options) and everything else to zero for defaults. */
typedef struct reckon_process_options {
	size_t size;
	const char *command;     /* for /bin/sh -c; or NULL, with: */
	const char *const *argv; /* NULL-terminated; argv[0] is searched in PATH */
	const char *cwd;         /* absolute path in the box; NULL: /mnt/data */
	/* NULL-terminated "NAME=value" or NULL; overrides the session's and the template's. */
	const char *const *env;
	unsigned flags;          /* RECKON_PROCESS_… */
	unsigned rows;           /* of the terminal; up to 1000; 0: 24 */
	unsigned columns;        /* up to 1000; 0: 80 */
	uint64_t wall_ms;        /* then it and all that it started are killed; 0: no limit */
	uint64_t cpu_ms;         /* the same for the CPU time of all of them; 0: no limit */
} reckon_process_options;

/*
 * Starts a program behind the same walls and limits as a kernel, and waits until it is executed.
 * RECKON_ENOT_FOUND: the program does not exist; RECKON_EINVALID: the working directory cannot be
 * entered; RECKON_ELIMIT: the session has too many processes (256 of these, 64 of them with
 * terminals, including ended ones until they are closed; and its `pids`). The kernels may execute
 * meanwhile. Can be called from any thread if the session was opened with
 * RECKON_SESSION_CONCURRENT.
 *
 * The caller closes *ret with reckon_process_close(), even after the session is closed. The program
 * lives as long as the session, independent of its kernels. Use each handle in one thread at a
 * time.
 */
RECKON_PUBLIC int reckon_process_start(reckon_session *session,
				       const reckon_process_options *options, reckon_process **ret,
				       reckon_error *err);

#define RECKON_PROCESS_STDIN 0
#define RECKON_PROCESS_STDOUT 1
#define RECKON_PROCESS_STDERR 2
#define RECKON_PROCESS_END 3

/*
 * A non-blocking descriptor for poll(); the handle owns it. Write to STDIN; read STDOUT and STDERR
 * until end of file. For a terminal all three are the same, and its end is the error EIO. If they
 * are not read, the program blocks. END becomes readable when the process has ended; do not read
 * it. Negative: there is none.
 *
 * Data from them is untrusted.
 */
RECKON_PUBLIC int reckon_process_fd(const reckon_process *process, int which);

/* Ends the input. Has no effect on a terminal, for which end of input is the character 4
 * (Ctrl-D). */
RECKON_PUBLIC void reckon_process_close_input(reckon_process *process);

/* Sets the size of its terminal; programs on it get SIGWINCH. */
RECKON_PUBLIC int reckon_process_resize(reckon_process *process, unsigned rows, unsigned columns,
					reckon_error *err);

#define RECKON_SIGNAL_LEADER 1u /* only to the process, not to its process group */

/* `number` is 1 to 31. RECKON_ENOT_FOUND: the process has ended. */
RECKON_PUBLIC int reckon_process_signal(reckon_process *process, int number, unsigned flags,
					reckon_error *err);

/* The state, measured outside the box. Zero: not measured on this host. */
typedef struct reckon_process_state {
	size_t size; /* sizeof(reckon_process_state), set by the caller */
	int pid;     /* inside the box */
	int is_running;
	/* Once it has ended: "exit", "signal", "timeout" (wall_ms), "cpu_limit" (cpu_ms),
	 * "out_of_memory", "system_call" (of a foreign architecture). */
	const char *cause;
	int exit_code;     /* 0 to 255, or -1 if a signal ended it */
	int signal;        /* that ended it, or 0 */
	unsigned left;     /* number of remaining processes that it started */
	uint64_t wall_ns;  /* until it ended, or until now */
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
 * Waits until it has ended. RECKON_ETIMEOUT after so many milliseconds (0: at once, negative:
 * never). Does not read its output: a program that fills its pipes does not end.
 */
RECKON_PUBLIC int reckon_process_wait(reckon_process *process, int timeout_ms,
				      reckon_process_state *ret, reckon_error *err);

/* Kills it and all processes that it left, and frees the handle. NULL is fine. */
RECKON_PUBLIC void reckon_process_close(reckon_process *process);

typedef struct reckon_process_entry {
	unsigned number; /* unique among all processes of a session */
	int pid;         /* inside the box */
	int is_running;
} reckon_process_entry;

/* The handle's number in reckon_process_list(). */
RECKON_PUBLIC unsigned reckon_process_number(const reckon_process *process);

/* Lists a session's processes that are not closed, latest first: returns their number, and writes
 * at most `max` of them to `ret`. */
RECKON_PUBLIC int reckon_process_list(reckon_session *session, reckon_process_entry *ret, size_t max,
				      reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
