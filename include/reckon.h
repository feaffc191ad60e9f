/*
 * reckon.h - libreckon: run model-written code in a walled, stateful kernel.
 *
 * The whole public interface. C89 and C++ can include it. Every handle is opaque; every function
 * that can fail returns 0 (or a count) on success and a negative RECKON_E… otherwise, and then
 * fills *err when err is not NULL. Handles are not thread-safe: use one engine per thread. (Only
 * contexts of one session may each have a thread of its own: see reckon_context_open().)
 *
 *   reckon_engine *engine;  reckon_session *session;  reckon_execution *done;
 *   reckon_engine_open(NULL, &engine, NULL);
 *   reckon_session_open(engine, NULL, &session, NULL);
 *   reckon_execute(session, "6*7", 3, NULL, &done, NULL);
 *   puts(reckon_execution_record(done));        one line of JSON, docs/record.schema.json
 *   reckon_execution_free(done);  reckon_session_close(session);  reckon_engine_close(engine);
 */
#ifndef RECKON_H
#define RECKON_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define RECKON_PUBLIC __attribute__((visibility("default")))
#else
#define RECKON_PUBLIC
#endif

#define RECKON_API_VERSION 1

/* Error codes; the names in JSON are the lower-case part after RECKON_E. */
#define RECKON_OK 0
#define RECKON_EINVALID (-1)     /* the caller's input is wrong                */
#define RECKON_ENOT_FOUND (-2)   /* a named thing does not exist               */
#define RECKON_EDENIED (-3)      /* policy or the kernel refused               */
#define RECKON_ELIMIT (-4)       /* a configured bound was reached             */
#define RECKON_ETIMEOUT (-5)     /* no answer in the time that was agreed      */
#define RECKON_ESYSTEM (-6)      /* a system call failed                       */
#define RECKON_EPROTOCOL (-7)    /* a peer broke the wire protocol             */
#define RECKON_ELOST (-8)        /* the session is gone, with its variables    */
#define RECKON_EUNAVAILABLE (-9) /* this host lacks a wall or a facility       */
#define RECKON_EKERNEL_LOST (-10) /* the kernel is gone with its variables; session and files stay */

typedef struct reckon_error {
	int code;          /* RECKON_E… or RECKON_OK */
	char message[320]; /* what failed and why */
	char remedy[176];  /* what to do about it; may be empty */
} reckon_error;

typedef struct reckon_engine reckon_engine;
typedef struct reckon_session reckon_session;
typedef struct reckon_execution reckon_execution;

/* ---- engine ---------------------------------------------------------------------------- */

/*
 * Set `size` to sizeof(reckon_engine_options) and everything else to zero for defaults;
 * later versions add fields at the end.
 */
typedef struct reckon_engine_options {
	size_t size;
	/* Non-zero: a warden of its own, which ends with the engine. Zero: the user's warm one,
	 * started when there is none, which ends by itself after some idle time. */
	int private_warden;
	/* Non-zero: refuse to open a session when any wall is missing (see `reckon doctor`). */
	int strict;
	/* Where artifacts and spooled output go; NULL: $RECKON_STATE, else /var/lib/reckon for root,
	 * else $XDG_STATE_HOME/reckon, else ~/.local/state/reckon. Made when missing. */
	const char *state_dir;
	/* Directory of built templates; NULL: $RECKON_TEMPLATES, else STATE/templates, else, when
	 * `state_dir` was given and has none, where they are without it. */
	const char *template_dir;
} reckon_engine_options;

/* `options` may be NULL. *ret belongs to the caller: reckon_engine_close(). */
RECKON_PUBLIC int reckon_engine_open(const reckon_engine_options *options, reckon_engine **ret,
				     reckon_error *err);

/* Ends the engine's sessions too. NULL is fine. */
RECKON_PUBLIC void reckon_engine_close(reckon_engine *engine);

/* Which walls stand, as JSON; *ret_json: free() it. Schema: docs/doctor.schema.json. */
RECKON_PUBLIC int reckon_engine_doctor(reckon_engine *engine, char **ret_json, reckon_error *err);

/* ---- sessions -------------------------------------------------------------------------- */

typedef struct reckon_mount {
	const char *source; /* host directory */
	const char *target; /* absolute path in the box, below /mnt; NULL: /mnt/<basename of source> */
	int writable;
} reckon_mount;

/* Zero means the default named; sizes in bytes. */
typedef struct reckon_limits {
	uint64_t wall_ms;      /* of one execution; 30 s */
	uint64_t cpu_ms;       /* CPU time of one execution; none */
	uint64_t memory_bytes; /* 1 GiB */
	uint64_t disk_bytes;   /* workspace; 1 GiB */
	uint64_t inodes;       /* files in the workspace; 100000 */
	uint64_t file_bytes;   /* largest file; as disk_bytes */
	uint32_t pids;         /* processes and threads; 128 */
	uint32_t cpu_percent;  /* 100 = one core; no limit */
	uint64_t output_bytes; /* kept of each of stdout and stderr; 1 MiB */
	uint32_t displays;     /* rich results of one execution; 64 */
	uint32_t reserved;
} reckon_limits;

typedef struct reckon_session_options {
	size_t size;
	const char *template_name; /* NULL: "data" when it is built, else "python" */
	const char *language;      /* NULL: "python"; a template's "languages" names all */
	reckon_limits limits;
	const reckon_mount *mounts;
	size_t mount_count;        /* at most 8 */
	const char *const *env;    /* NULL-terminated "NAME=value", or NULL */
	unsigned flags;            /* RECKON_SESSION_… */
	/* NULL: a new one; else "se_" and 26 characters, which no other live session may have. */
	const char *session_id;
	/* Of a session that is opened again: for the "kernel_lost" of the next record, or NULL. */
	const char *lost_why;
	const char *lost_variables; /* ["a","b"] */
	uint64_t sequence;          /* of its last execution */
	/* Sessions of one group share processor time as if they were one session; NULL: none. At most
	 * 63 bytes. What is said last of a group counts; see also reckon_group_set(). */
	const char *group;
	uint32_t group_weight;      /* against other groups and sessions; 1 to 10000, 0: 100 */
	uint32_t group_cpu_percent; /* of all together; 100 = one core; 0: no limit */
} reckon_session_options;

#define RECKON_SESSION_NO_PARKED 1u /* fork on demand, for measurements */
#define RECKON_SESSION_NO_WARM 2u   /* interpreter without the template's preloaded modules */
#define RECKON_SESSION_WAIT_WARM 4u /* wait until the template's modules are preloaded */
/* Against side channels. What the host has no means for is told in the first record's diagnostics
 * ("wall_missing"); a strict engine refuses to open the session. */
#define RECKON_SESSION_CORE_SCHEDULING 8u /* no other's task runs beside it on one core (SMT) */
#define RECKON_SESSION_NO_SPECULATION 16u /* store bypass and indirect branch prediction off */
/* reckon_context_open() may be called from other threads while the session executes. */
#define RECKON_SESSION_CONCURRENT 32u
/* The workspace is kept in the store after each execution and each change by reckon_file_*():
 * see reckon_keep.h. */
#define RECKON_SESSION_KEEP 256u
#define RECKON_SESSION_KEEP_RELAXED 512u /* with KEEP: nothing is synced to the disk */

/* *ret belongs to the caller: reckon_session_close(). `options` may be NULL. */
RECKON_PUBLIC int reckon_session_open(reckon_engine *engine, const reckon_session_options *options,
				      reckon_session **ret, reckon_error *err);

/* How a session began. Set `size` to sizeof(reckon_opening); later versions add fields at the end. */
typedef struct reckon_opening {
	size_t size;
	const char *warmth;  /* what its kernel was made from: "parked", "warm" or "cold" */
	uint64_t total_ns;   /* all of it: */
	uint64_t warden_ns;  /* the request to the warden, of which it took */
	uint64_t shell_ns;   /*   to make a box (next to nothing from its pool) */
	uint64_t spawn_ns;   /*   to make a kernel in it (nothing when one was parked) */
	uint64_t ready_ns;   /* then until the kernel's first word */
	int kernel_pid;      /* as the warden sees it */
} reckon_opening;
RECKON_PUBLIC int reckon_session_opening(const reckon_session *session, reckon_opening *ret,
					 reckon_error *err);

/* Kills whatever runs in it and drops its workspace; artifacts stay. NULL is fine. From within an
 * event callback it does nothing: return RECKON_STOP first. */
RECKON_PUBLIC void reckon_session_close(reckon_session *session);

/* "se_…", valid as long as the session. */
RECKON_PUBLIC const char *reckon_session_id(const reckon_session *session);

/* The template it was made from; valid as long as the session. */
RECKON_PUBLIC const char *reckon_session_template(const reckon_session *session);

/*
 * RECKON_OK when the kernel lives. RECKON_EKERNEL_LOST with the reason when it is gone, with its
 * variables, while the session is there with its files: reckon_session_restart(), or the next
 * reckon_execute(), goes on with a fresh kernel. RECKON_ELOST when the session is gone.
 */
RECKON_PUBLIC int reckon_session_check(reckon_session *session, reckon_error *err);

/*
 * A fresh kernel in the same session: variables and running processes go; /mnt/data, /tmp, mounts,
 * limits and the environment stay, and so do other contexts with their processes. Also for a
 * session whose kernel is lost, and for a context. Not while it executes (see reckon_kill()). When
 * it fails with anything but RECKON_ELOST it can be tried again.
 */
RECKON_PUBLIC int reckon_session_restart(reckon_session *session, reckon_error *err);

/*
 * Asks a running execution to stop as Ctrl-C does; variables are kept where the language can.
 * May be called from an event callback, a signal handler or another thread.
 */
RECKON_PUBLIC void reckon_interrupt(reckon_session *session);

/* The same without asking: the kernel is ended, the record says "killed". When nothing runs, or
 * what ran has just ended, nothing happens. */
RECKON_PUBLIC void reckon_kill(reckon_session *session);

/* ---- contexts: several kernels in one session ------------------------------------------- */

typedef struct reckon_context_options {
	size_t size;
	const char *language;      /* NULL: that of the session */
	const char *template_name; /* NULL, or that of the session: there is no other in its box */
	const char *cwd;           /* NULL: /mnt/data; a diagnostic says so when there is no such */
	const char *const *env;    /* NULL-terminated "NAME=value", or NULL */
	unsigned flags;            /* RECKON_SESSION_NO_WARM, RECKON_SESSION_WAIT_WARM */
	const char *context_id;    /* of one that is opened again, or NULL */
	/* Of such a one: for the "kernel_lost" of its next record, or NULL. */
	const char *lost_why;
	const char *lost_variables; /* ["a","b"] */
} reckon_context_options;

/*
 * A further kernel in the session's box: variables and directory of its own; files, processes,
 * loopback and limits are the session's, shared by all. At most 8 kernels are in a session, then
 * RECKON_ELIMIT. *ret is a handle of the same kind, with which everything here works: executions,
 * questions, files, restart. reckon_session_close(*ret) ends this kernel and its processes alone;
 * closing the session ends all, and what is left of a context is RECKON_ELOST until it is closed.
 *
 * A context shares nothing with the session's handle that needs care: each may be used by a thread
 * of its own, at the same time. This call itself uses `session`'s handle, unless that was opened
 * with RECKON_SESSION_CONCURRENT; then it may come from any thread.
 *
 * Processor time, memory, processes and disk are measured for the box. When executions of two
 * contexts overlap, their records say so ("shared_measurement"), and a limit of CPU time counts
 * both. A file that changed meanwhile is in the record that ends first.
 */
RECKON_PUBLIC int reckon_context_open(reckon_session *session,
				      const reckon_context_options *options, reckon_session **ret,
				      reckon_error *err);

/* "ctx_…" of a context, NULL of the session itself. reckon_session_id() is the same for both. */
RECKON_PUBLIC const char *reckon_context_id(const reckon_session *session);

/* ---- executions ------------------------------------------------------------------------ */

/* Returned by the callback: go on, or interrupt the execution. */
#define RECKON_CONTINUE 0
#define RECKON_STOP 1

/*
 * Called for each event in order: `json` is one line (no newline), {"event":"stream", "seq":1,
 * "t":0.012, …}; names as in Jupyter, the last one is "done" and holds the record. For "stream"
 * events `text`/`text_len` are the decoded text and `stream` is 1 or 2; else text is NULL.
 * Nothing is kept after the call.
 */
typedef struct reckon_event {
	const char *name;
	const char *json;
	size_t json_len;
	int stream;
	const char *text;
	size_t text_len;
} reckon_event;

typedef int reckon_event_fn(const reckon_event *event, void *arg);

/*
 * Called, unless has_stdin, when the program asks for a line (input(), getpass(); `password`: do
 * not echo it); its event has gone out before. Set *ret_line to malloc()ed text, which becomes
 * libreckon's, or leave it NULL: end of input. RECKON_STOP interrupts the program instead. Nothing
 * else is looked at meanwhile, the time limit included: it is applied when this returns.
 */
typedef int reckon_input_fn(const char *prompt, size_t prompt_len, int password, char **ret_line,
			    size_t *ret_len, void *arg);

typedef struct reckon_execute_options {
	size_t size;
	uint64_t wall_ms;          /* overrides the session's limit when not 0 */
	uint64_t output_bytes;     /* likewise */
	reckon_event_fn *on_event; /* or NULL */
	void *on_event_arg;
	int stdin_fd;              /* with has_stdin: what the program reads; stays the caller's */
	int has_stdin;
	uint64_t text_bytes;       /* of the record's `text`; 0: 16 KiB; from 1 KiB to 1 MiB */
	reckon_input_fn *on_input; /* or NULL */
	void *on_input_arg;
	const char *execution_id;  /* NULL: a new one; else "ex_" and 26 of 0-9, A-Z; no other's */
	const struct reckon_questions *questions; /* of its code, or NULL: reckon_answers.h */
	const char *const *env; /* NAME=value…, NULL at the end: for this cell alone; or NULL */
} reckon_execute_options;

/*
 * Runs one cell and waits for it. Returns RECKON_OK whenever there is a record, also for code
 * that failed, timed out or died: look at reckon_execution_status(). *ret belongs to the caller.
 * When the kernel was lost before, a fresh one is begun first and the record's diagnostics say so:
 * "kernel_lost", with the reason and the names of the variables that are gone. RECKON_ELOST when
 * the session is gone.
 */
RECKON_PUBLIC int reckon_execute(reckon_session *session, const char *code, size_t code_len,
				 const reckon_execute_options *options, reckon_execution **ret,
				 reckon_error *err);

RECKON_PUBLIC void reckon_execution_free(reckon_execution *execution);

/* The record reckon.execution/1 as one line of JSON; valid as long as the execution. */
RECKON_PUBLIC const char *reckon_execution_record(const reckon_execution *execution);

/* "ok", "error", "timeout", "interrupted", "out_of_memory", "output_limit", "killed",
 * "kernel_died" or "infra_error". */
RECKON_PUBLIC const char *reckon_execution_status(const reckon_execution *execution);

/* What it cost, as its receipt says; sizes in bytes. Zero where nothing was measured. */
typedef struct reckon_cost {
	size_t size; /* sizeof(reckon_cost), set by the caller */
	uint64_t wall_ns;
	uint64_t cpu_ns;
	uint64_t memory_peak_bytes;
	uint64_t memory_bytes; /* of the whole box, at the end */
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t disk_bytes; /* of the workspace, at the end */
} reckon_cost;

RECKON_PUBLIC int reckon_execution_cost(const reckon_execution *execution, reckon_cost *ret,
					reckon_error *err);

/* The index-th artifact or output that it stored ("ar_…", "out_…"), NULL past the last one; valid
 * as long as the execution. What a record says besides may be a kernel's own words. */
RECKON_PUBLIC const char *reckon_execution_object(const reckon_execution *execution, size_t index,
						  uint64_t *ret_size);

/* A member of the record, "files" or "receipt", as JSON text within it: *ret_len bytes that no
 * program can have chosen the place of. NULL for any other name. */
RECKON_PUBLIC const char *reckon_execution_member(const reckon_execution *execution,
						  const char *name, size_t *ret_len);

/* Exit status a command line tool should end with: 0, 1, 124, 125 or 137. */
RECKON_PUBLIC int reckon_execution_exit_code(const reckon_execution *execution);

/* ---- variables, completion, inspection ------------------------------------------------- */

/*
 * [{"name","type","shape","size","preview","kind"}…]; *ret_json: free() it. `kind` is "data",
 * then "function" and "class" for those that cells defined; `size` is in bytes or null. After
 * 1,000 comes one last entry of kind "omitted", whose preview says how many more there are.
 * No method of an object that a cell's own class made is called.
 */
RECKON_PUBLIC int reckon_variables(reckon_session *session, char **ret_json, reckon_error *err);

/* {"cursor_start","cursor_end","matches":[…]}; cursor is a byte offset; free() the result.
 * A match replaces the code from cursor_start to cursor_end; both lie within it. */
RECKON_PUBLIC int reckon_complete(reckon_session *session, const char *code, size_t code_len,
				  size_t cursor, char **ret_json, reckon_error *err);

/*
 * What stands at the cursor (a byte offset): {"found":bool,"data":{"text/plain":"…"},
 * "metadata":{}}, as in Jupyter: signature, type, value and documentation; with detail_level 1
 * the source too. free() the result.
 */
RECKON_PUBLIC int reckon_inspect(reckon_session *session, const char *code, size_t code_len,
				 size_t cursor, int detail_level, char **ret_json,
				 reckon_error *err);

/*
 * Whether `code` is a whole cell, as Jupyter's is_complete_request: {"status","indent"} with status
 * "complete", "incomplete" (more lines are needed; `indent` is the white space the next one would
 * begin with), "invalid" (no further line can mend it) or "unknown". free() the result.
 */
RECKON_PUBLIC int reckon_is_complete(reckon_session *session, const char *code, size_t code_len,
				     char **ret_json, reckon_error *err);

/* ---- files ----------------------------------------------------------------------------- */

/*
 * `path` is relative to the workspace (/mnt/data). No symbolic link is ever followed, nothing but
 * regular files is opened. put reads source_fd to its end; get writes to target_fd.
 */
RECKON_PUBLIC int reckon_file_put(reckon_session *session, const char *path, int source_fd,
				  reckon_error *err);
RECKON_PUBLIC int reckon_file_get(reckon_session *session, const char *path, int target_fd,
				  reckon_error *err);
/* The same file opened for reading: *ret_fd is the caller's to close. The box may go on changing
 * what it holds, so fewer than *ret_size bytes may come. */
RECKON_PUBLIC int reckon_file_open(reckon_session *session, const char *path, int *ret_fd,
				   uint64_t *ret_size, reckon_error *err);
/* Removes a file, or a directory that is empty. */
RECKON_PUBLIC int reckon_file_delete(reckon_session *session, const char *path, reckon_error *err);
/* [{"path","size","mime","modified"}…]; free() the result. */
RECKON_PUBLIC int reckon_file_list(reckon_session *session, char **ret_json, reckon_error *err);
/* More about files, and archives: reckon_files.h. */

/*
 * What an earlier execution left behind, also when its session is gone: `id` is an artifact
 * ("ar_…") or the handle of cut output ("out_…"). Writes `length` bytes from `offset`
 * (length 0: to the end) to target_fd.
 */
RECKON_PUBLIC int reckon_artifact_get(reckon_engine *engine, const char *id, uint64_t offset,
				      uint64_t length, int target_fd, reckon_error *err);
/* The same object opened for reading, at its beginning: *ret_fd is the caller's to close. */
RECKON_PUBLIC int reckon_artifact_open(reckon_engine *engine, const char *id, int *ret_fd,
				       uint64_t *ret_size, reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
