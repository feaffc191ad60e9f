/*
 * reckon.h - libreckon: run model-written code in a walled, stateful kernel.
 *
 * The main public header; it can be included in C89 and C++. Every handle is opaque. Every function
 * that can fail returns 0 (or a count) on success and a negative RECKON_E… otherwise, and then
 * fills *err if err is not NULL. Handles are not thread-safe: use one engine per thread. (Contexts
 * of one session can be used by one thread each: see reckon_context_open().)
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
#define RECKON_EINVALID (-1)     /* the caller's input is invalid */
#define RECKON_ENOT_FOUND (-2)   /* a named object does not exist */
#define RECKON_EDENIED (-3)      /* policy or the kernel refused */
#define RECKON_ELIMIT (-4)       /* a configured limit was reached */
#define RECKON_ETIMEOUT (-5)     /* no reply within the time limit */
#define RECKON_ESYSTEM (-6)      /* a system call failed */
#define RECKON_EPROTOCOL (-7)    /* a peer violated the protocol */
#define RECKON_ELOST (-8)        /* the session and its variables are lost */
#define RECKON_EUNAVAILABLE (-9) /* this host lacks a wall or feature */
#define RECKON_EKERNEL_LOST (-10) /* the kernel and its variables are lost; the session remains */

typedef struct reckon_error {
	int code;          /* RECKON_E… or RECKON_OK */
	char message[320]; /* what failed, and the cause */
	char remedy[176];  /* what to do about it; may be empty */
} reckon_error;

typedef struct reckon_engine reckon_engine;
typedef struct reckon_session reckon_session;
typedef struct reckon_execution reckon_execution;

/* ---- engine ---------------------------------------------------------------------------- */

/*
 * Set `size` to sizeof(reckon_engine_options) and everything else to zero for defaults; later
 * versions add fields at the end.
 */
typedef struct reckon_engine_options {
	size_t size;
	/* Non-zero: a private warden, which ends with the engine. Zero: the user's shared warden,
	 * which is started if it does not run and ends by itself when it is idle for long. */
	int private_warden;
	/* Non-zero: refuse to open a session if any wall is missing (see `reckon doctor`). */
	int strict;
	/* The directory for artifacts and spooled output; NULL: $RECKON_STATE, else /var/lib/reckon
	 * for root, else $XDG_STATE_HOME/reckon, else ~/.local/state/reckon. Created if missing. */
	const char *state_dir;
	/* The directory of built templates; NULL: $RECKON_TEMPLATES, else STATE/templates; if a
	 * given `state_dir` has none, the default directories. */
	const char *template_dir;
} reckon_engine_options;

/* `options` may be NULL. The caller closes *ret with reckon_engine_close(). */
RECKON_PUBLIC int reckon_engine_open(const reckon_engine_options *options, reckon_engine **ret,
				     reckon_error *err);

/* Also ends the engine's sessions. NULL is fine. */
RECKON_PUBLIC void reckon_engine_close(reckon_engine *engine);

/* The state of all walls as JSON (docs/doctor.schema.json); free() *ret_json. */
RECKON_PUBLIC int reckon_engine_doctor(reckon_engine *engine, char **ret_json, reckon_error *err);

/* ---- sessions -------------------------------------------------------------------------- */

typedef struct reckon_mount {
	const char *source; /* host directory */
	const char *target; /* absolute path in the box, below /mnt; NULL: /mnt/<basename of source> */
	int writable;
} reckon_mount;

/* Zero means the default given here; sizes in bytes. */
typedef struct reckon_limits {
	uint64_t wall_ms;      /* of one execution; 30 s */
	uint64_t cpu_ms;       /* CPU time of one execution; none */
	uint64_t memory_bytes; /* 1 GiB */
	uint64_t disk_bytes;   /* workspace; 1 GiB */
	uint64_t inodes;       /* files in the workspace; 100000 */
	uint64_t file_bytes;   /* largest file; as disk_bytes */
	uint32_t pids;         /* processes and threads; 128 */
	uint32_t cpu_percent;  /* 100 = one core; no limit */
	uint64_t output_bytes; /* kept of stdout and of stderr each; 1 MiB */
	uint32_t displays;     /* rich results of one execution; 64 */
	uint32_t reserved;
} reckon_limits;

typedef struct reckon_session_options {
	size_t size;
	const char *template_name; /* NULL: "data" if it is built, else "python" */
	const char *language;      /* NULL: "python"; a template's "languages" lists all */
	reckon_limits limits;
	const reckon_mount *mounts;
	size_t mount_count;        /* at most 8 */
	const char *const *env;    /* NULL-terminated "NAME=value", or NULL */
	unsigned flags;            /* RECKON_SESSION_… */
	/* NULL: a new id; else "se_" and 26 characters, which no other live session may have. */
	const char *session_id;
	/* For a reopened session: the reason of "kernel_lost" in the next record, or NULL. */
	const char *lost_why;
	const char *lost_variables; /* ["a","b"] */
	uint64_t sequence;          /* of its last execution */
	/* Sessions of one group share CPU time as if they were one session; NULL: none. At most 63
	 * bytes. The latest setting of a group applies; see also reckon_group_set(). */
	const char *group;
	uint32_t group_weight;      /* relative to other groups and sessions; 1 to 10000, 0: 100 */
	uint32_t group_cpu_percent; /* of the whole group; 100 = one core; 0: no limit */
} reckon_session_options;

#define RECKON_SESSION_NO_PARKED 1u /* fork on demand, for measurements */
#define RECKON_SESSION_NO_WARM 2u   /* interpreter without the template's preloaded modules */
#define RECKON_SESSION_WAIT_WARM 4u /* wait until the template's modules are preloaded */
/* Against side channels. If the host does not support one, the first record's diagnostics say so
 * ("wall_missing"); a strict engine refuses to open the session. */
#define RECKON_SESSION_CORE_SCHEDULING 8u /* no foreign task on the same core (SMT) */
#define RECKON_SESSION_NO_SPECULATION 16u /* store bypass and indirect branch prediction off */
/* reckon_context_open() may be called from other threads while the session executes. */
#define RECKON_SESSION_CONCURRENT 32u
/* The workspace is stored after each execution and each change by reckon_file_*(): see
 * reckon_keep.h. */
#define RECKON_SESSION_KEEP 256u
#define RECKON_SESSION_KEEP_RELAXED 512u /* with KEEP: nothing is synced to disk */

/* The caller closes *ret with reckon_session_close(). `options` may be NULL. */
RECKON_PUBLIC int reckon_session_open(reckon_engine *engine, const reckon_session_options *options,
				      reckon_session **ret, reckon_error *err);

/* How a session was opened. Set `size` to sizeof(reckon_opening); later versions add fields. */
typedef struct reckon_opening {
	size_t size;
	const char *warmth;  /* how its kernel was made: "parked", "warm" or "cold" */
	uint64_t total_ns;   /* the whole time, which includes: */
	uint64_t warden_ns;  /* the request to the warden, which includes: */
	uint64_t shell_ns;   /*   making a box (almost nothing if it is from the pool) */
	uint64_t spawn_ns;   /*   making a kernel in it (nothing if one was parked) */
	uint64_t ready_ns;   /* then until the kernel is ready */
	int kernel_pid;      /* in the warden's pid namespace */
} reckon_opening;
RECKON_PUBLIC int reckon_session_opening(const reckon_session *session, reckon_opening *ret,
					 reckon_error *err);

/* Kills everything in the session and deletes its workspace; artifacts remain. NULL is fine. Has no
 * effect inside an event callback: return RECKON_STOP first. */
RECKON_PUBLIC void reckon_session_close(reckon_session *session);

/* "se_…", valid as long as the session. */
RECKON_PUBLIC const char *reckon_session_id(const reckon_session *session);

/* The session's template; valid as long as the session. */
RECKON_PUBLIC const char *reckon_session_template(const reckon_session *session);

/*
 * RECKON_OK: the kernel lives. RECKON_EKERNEL_LOST, with the reason: the kernel and its variables
 * are lost, but the session and its files exist; reckon_session_restart(), or the next
 * reckon_execute(), starts a fresh kernel. RECKON_ELOST: the session is lost.
 */
RECKON_PUBLIC int reckon_session_check(reckon_session *session, reckon_error *err);

/*
 * Starts a fresh kernel in the same session. Variables and running processes are lost; /mnt/data,
 * /tmp, mounts, limits and the environment remain, and so do other contexts with their processes.
 * Also works for a session whose kernel is lost, and for a context. Not during an execution (see
 * reckon_kill()). After any error except RECKON_ELOST it can be tried again.
 */
RECKON_PUBLIC int reckon_session_restart(reckon_session *session, reckon_error *err);

/*
 * Interrupts a running execution like Ctrl-C; variables are kept if the language supports it. Can
 * be called in an event callback, a signal handler or another thread.
 */
RECKON_PUBLIC void reckon_interrupt(reckon_session *session);

/* The same by force: ends the kernel, and the record says "killed". Has no effect if nothing runs
 * or the execution has just ended. */
RECKON_PUBLIC void reckon_kill(reckon_session *session);

/* ---- contexts: several kernels in one session ------------------------------------------- */

typedef struct reckon_context_options {
	size_t size;
	const char *language;      /* NULL: the session's */
	const char *template_name; /* NULL, or the session's: its box has no other */
	const char *cwd;           /* NULL: /mnt/data; a diagnostic reports a missing directory */
	const char *const *env;    /* NULL-terminated "NAME=value", or NULL */
	unsigned flags;            /* RECKON_SESSION_NO_WARM, RECKON_SESSION_WAIT_WARM */
	const char *context_id;    /* of a context that is opened again, or NULL */
	/* For such a context: used for "kernel_lost" in its next record, or NULL. */
	const char *lost_why;
	const char *lost_variables; /* ["a","b"] */
} reckon_context_options;

/*
 * A further kernel in the session's box, with its own variables and directory; files, processes,
 * loopback and limits are shared with the session. A session has at most 8 kernels, then
 * RECKON_ELIMIT. *ret is a session handle, which works with all functions: executions, questions,
 * files, restart. reckon_session_close(*ret) only ends this kernel and its processes; closing the
 * session ends all, and then a context is RECKON_ELOST until it is closed.
 *
 * The handles of a context and of its session can be used by different threads at the same time.
 * This call itself uses the handle `session`; only if that was opened with
 * RECKON_SESSION_CONCURRENT can it be made from any thread.
 *
 * CPU time, memory, processes and disk are measured for the box. If executions of two contexts
 * overlap, their records say so ("shared_measurement"), and a limit of CPU time counts both. A file
 * that changed meanwhile is in the record of the execution that ends first.
 */
RECKON_PUBLIC int reckon_context_open(reckon_session *session,
				      const reckon_context_options *options, reckon_session **ret,
				      reckon_error *err);

/* "ctx_…" for a context, NULL for the session itself. reckon_session_id() is the same for both. */
RECKON_PUBLIC const char *reckon_context_id(const reckon_session *session);

/* ---- executions ------------------------------------------------------------------------ */

/* Returned by the callback: continue, or interrupt the execution. */
#define RECKON_CONTINUE 0
#define RECKON_STOP 1

/*
 * Called for each event in order: `json` is one line (no newline), {"event":"stream", "seq":1,
 * "t":0.012, …}, with names as in Jupyter; the last one is "done" and has the record. For "stream"
 * events `text`/`text_len` are the decoded text and `stream` is 1 or 2; else text is NULL. All
 * pointers are only valid during the call.
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
 * not echo it), after the event for it. Set *ret_line to malloc()ed text, which libreckon frees, or
 * leave it NULL for end of input. RECKON_STOP interrupts the program instead. The session does
 * nothing else during the call; a time limit is applied after it.
 */
typedef int reckon_input_fn(const char *prompt, size_t prompt_len, int password, char **ret_line,
			    size_t *ret_len, void *arg);

typedef struct reckon_execute_options {
	size_t size;
	uint64_t wall_ms;          /* if not 0, overrides the session's limit */
	uint64_t output_bytes;     /* likewise */
	reckon_event_fn *on_event; /* or NULL */
	void *on_event_arg;
	int stdin_fd;              /* with has_stdin: the program's stdin; the caller closes it */
	int has_stdin;
	uint64_t text_bytes;       /* limit of the record's `text`: 1 KiB to 1 MiB; 0: 16 KiB */
	reckon_input_fn *on_input; /* or NULL */
	void *on_input_arg;
	const char *execution_id;  /* NULL: a new one; else "ex_" and 26 of 0-9, A-Z; unique */
	const struct reckon_questions *questions; /* of the code, or NULL: reckon_answers.h */
	const char *const *env; /* for this cell only: NAME=value…, NULL-terminated; or NULL */
} reckon_execute_options;

/*
 * Runs one cell and waits for it. Returns RECKON_OK whenever there is a record, also for code that
 * failed, timed out or died: see reckon_execution_status(). The caller frees *ret. If the kernel
 * was lost before, starts a fresh one first, and the record's diagnostics have "kernel_lost", with
 * the reason and the names of the lost variables. RECKON_ELOST: the session is lost.
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

/* What the execution used, as in its receipt; sizes in bytes. Zero: not measured. */
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
 * as long as the execution. Unlike this, ids in a record's text may be written by a kernel. */
RECKON_PUBLIC const char *reckon_execution_object(const reckon_execution *execution, size_t index,
						  uint64_t *ret_size);

/* The member "files" or "receipt" of the record, as JSON text inside it, *ret_len bytes long. It is
 * located safely: code cannot fake its position. NULL for any other name. */
RECKON_PUBLIC const char *reckon_execution_member(const reckon_execution *execution,
						  const char *name, size_t *ret_len);

/* Exit status for a command line tool: 0, 1, 124, 125 or 137. */
RECKON_PUBLIC int reckon_execution_exit_code(const reckon_execution *execution);

/* ---- variables, completion, inspection ------------------------------------------------- */

/*
 * [{"name","type","shape","size","preview","kind"}…]; free() *ret_json. `kind` is "data", then
 * "function" and "class" for those that cells defined; `size` is in bytes or null. After 1,000
 * entries a last one of kind "omitted" says in its preview how many more there are. Calls no method
 * of an object whose class a cell defined.
 */
RECKON_PUBLIC int reckon_variables(reckon_session *session, char **ret_json, reckon_error *err);

/* {"cursor_start","cursor_end","matches":[…]}; cursor is a byte offset; free() the result.
 * A match replaces the code from cursor_start to cursor_end; both lie within it. */
RECKON_PUBLIC int reckon_complete(reckon_session *session, const char *code, size_t code_len,
				  size_t cursor, char **ret_json, reckon_error *err);

/*
 * Inspects the name at the cursor (a byte offset): {"found":bool,"data":{"text/plain":"…"},
 * "metadata":{}}, as in Jupyter: signature, type, value and documentation; with detail_level 1 also
 * the source. free() the result.
 */
RECKON_PUBLIC int reckon_inspect(reckon_session *session, const char *code, size_t code_len,
				 size_t cursor, int detail_level, char **ret_json,
				 reckon_error *err);

/*
 * Whether `code` is a complete cell, as Jupyter's is_complete_request: {"status","indent"} with
 * status "complete", "incomplete" (more lines are needed; `indent` is the white space for the next
 * one), "invalid" (no further line can complete it) or "unknown". free() the result.
 */
RECKON_PUBLIC int reckon_is_complete(reckon_session *session, const char *code, size_t code_len,
				     char **ret_json, reckon_error *err);

/* ---- files ----------------------------------------------------------------------------- */

/*
 * `path` is relative to the workspace (/mnt/data). Symbolic links are never followed, and only
 * regular files are opened. put reads source_fd to its end; get writes to target_fd.
 */
RECKON_PUBLIC int reckon_file_put(reckon_session *session, const char *path, int source_fd,
				  reckon_error *err);
RECKON_PUBLIC int reckon_file_get(reckon_session *session, const char *path, int target_fd,
				  reckon_error *err);
/* Opens the file for reading; the caller closes *ret_fd. Code in the box may still change it, so it
 * may have fewer than *ret_size bytes. */
RECKON_PUBLIC int reckon_file_open(reckon_session *session, const char *path, int *ret_fd,
				   uint64_t *ret_size, reckon_error *err);
/* Deletes a file or an empty directory. */
RECKON_PUBLIC int reckon_file_delete(reckon_session *session, const char *path, reckon_error *err);
/* [{"path","size","mime","modified"}…]; free() the result. */
RECKON_PUBLIC int reckon_file_list(reckon_session *session, char **ret_json, reckon_error *err);
/* More about files, and archives: reckon_files.h. */

/*
 * Reads an object that an earlier execution stored, even if its session is closed: `id` is an
 * artifact ("ar_…") or the handle of truncated output ("out_…"). Writes `length` bytes from
 * `offset` (length 0: to the end) to target_fd.
 */
RECKON_PUBLIC int reckon_artifact_get(reckon_engine *engine, const char *id, uint64_t offset,
				      uint64_t length, int target_fd, reckon_error *err);
/* Opens the same object for reading, at its beginning; the caller closes *ret_fd. */
RECKON_PUBLIC int reckon_artifact_open(reckon_engine *engine, const char *id, int *ret_fd,
				       uint64_t *ret_size, reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
