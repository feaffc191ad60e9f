/*
 * reckon_keep.h - sessions that outlive their box, for daemons that store them in a database.
 *
 * An addition to reckon.h, with the same rules. A session opened with RECKON_SESSION_KEEP has its
 * workspace in the store: take the changes of each execution and commit them together with the
 * record. Then a new session with the same id can be restored to the state of the old one.
 */
#ifndef RECKON_KEEP_H
#define RECKON_KEEP_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { /* for each, what `content` is */
	RECKON_ENTRY_FILE = 1,  /* SHA-256 in hex, in the engine's store */
	RECKON_ENTRY_DIRECTORY,
	RECKON_ENTRY_SYMLINK,   /* the target of the link */
	RECKON_ENTRY_HARD_LINK, /* the path of another entry for the same file */
	RECKON_ENTRY_FIFO, RECKON_ENTRY_NOT_KEPT,
	RECKON_ENTRY_GONE       /* the name does not exist any more */
};

typedef struct reckon_workspace_entry {
	char *path; /* relative to the workspace; bytes as in the file system */
	char *content;
	unsigned kind, mode;
	int64_t mtime_ns;
	uint64_t size;
} reckon_workspace_entry;

typedef struct reckon_workspace {
	reckon_workspace_entry *entries; /* sorted by path */
	size_t count;
	int is_whole;    /* non-zero: all entries of the workspace; else the changes, in order */
	/* number of names whose content is not in the store; the first reason is: */
	size_t not_kept;
	char why[160];
	char *variables; /* known names of variables: ["a","b"]; NULL: no kernel */
	uint64_t number; /* counts the calls for a session, from 1: commit in this order */
} reckon_workspace;

/* Takes the changes since the last call, for a session with RECKON_SESSION_KEEP; their contents are
 * on disk. Commit them before you report that the execution has ended. Free with
 * reckon_workspace_free(). */
RECKON_PUBLIC int reckon_workspace_take(reckon_session *session, reckon_workspace **ret,
					reckon_error *err);
RECKON_PUBLIC void reckon_workspace_free(reckon_workspace *workspace); /* NULL is fine */
/* Call if a commit failed: the next call of reckon_workspace_take() returns the whole workspace. */
RECKON_PUBLIC void reckon_workspace_forget(reckon_session *session);
/* Scans the workspace now. `thorough`: compares all bytes, to find changes by an open mapping. */
RECKON_PUBLIC int reckon_workspace_keep(reckon_session *session, int thorough, reckon_error *err);
/* Restores the workspace of an earlier session in a new one. RECKON_ELOST: content is missing or
 * damaged; RECKON_ELIMIT: it exceeds the session's limits. Then close the session. */
RECKON_PUBLIC int reckon_workspace_restore(reckon_session *session,
					   const reckon_workspace *manifest, reckon_error *err);
/* The same, but restores all intact content and reports each file that is missing or damaged, with
 * a printable path. The caller decides whether to use the session. */
typedef void reckon_missing_fn(const char *path, const char *why, void *arg);
RECKON_PUBLIC int reckon_workspace_restore_intact(reckon_session *session,
						  const reckon_workspace *manifest,
						  reckon_missing_fn *tell, void *arg,
						  reckon_error *err);

/*
 * Freezes everything in the session's box (kernels, contexts and processes); memory is kept, and
 * time limits of processes are paused. Only while nothing executes. Until it is thawed, files can
 * be used and it can be closed; all else fails.
 */
RECKON_PUBLIC int reckon_session_freeze(reckon_session *session, reckon_error *err);
RECKON_PUBLIC int reckon_session_thaw(reckon_session *session, reckon_error *err);

/*
 * With a lease, the box of a session outlives its connection to the warden, and so the process: for
 * `seconds` after that (at most 3600; 0 cancels the lease), a process that has the lease can adopt
 * it. Nothing runs in it meanwhile. The lease gives access to everything in the box: derive it from a
 * secret and the session's id. It works if the session's kernel is idle and no context executes. A
 * context has its own lease, which keeps its kernel if the session's lease keeps the box. Call it
 * after each use of the session. It has no effect while variables were lost and no record has said
 * so yet. Restarting a kernel cancels the lease.
 */
#define RECKON_LEASE_SIZE 32
RECKON_PUBLIC int reckon_session_lease(reckon_session *session,
				       const unsigned char lease[RECKON_LEASE_SIZE],
				       unsigned seconds, reckon_error *err);
/*
 * Adopts a session that an earlier process opened with these options and leased; here
 * `lost_variables` names its existing variables, and `lost_why` is ignored. `recorded` are the ids
 * of the last executions whose records are stored, NULL-terminated. RECKON_ENOT_FOUND: no box has
 * this lease. RECKON_ELOST: something else was executed in it, or it does not respond; then it has
 * been ended, and the session has to be restored. The state of its workspace is unknown, as for a
 * new session: the first reckon_workspace_take() after a scan returns the whole workspace.
 */
RECKON_PUBLIC int reckon_session_adopt(reckon_engine *engine, const reckon_session_options *options,
				       const unsigned char lease[RECKON_LEASE_SIZE],
				       const char *const *recorded, reckon_session **ret,
				       reckon_error *err);
/* Adopts a context of an adopted session, within half a minute after that; `lost_why` is ignored.
 * RECKON_ENOT_FOUND: there is none with this lease. */
RECKON_PUBLIC int reckon_context_adopt(reckon_session *session,
				       const reckon_context_options *options,
				       const unsigned char lease[RECKON_LEASE_SIZE],
				       reckon_session **ret, reckon_error *err);
/* As reckon_session_close(), but a box with a lease remains, as if the process had ended. */
RECKON_PUBLIC void reckon_session_hand_over(reckon_session *session);

/* Both strings must be valid until the program ends. */
typedef struct reckon_reason { const char *code, *message; } reckon_reason;
/* As reckon_interrupt(); the record has the reason as a diagnostic. */
RECKON_PUBLIC void reckon_interrupt_for(reckon_session *session, const reckon_reason *reason);

/*
 * Changes the CPU share of a group of live sessions (see reckon_session_options). Has no effect if
 * the warden cannot set shares on this host; `reckon doctor` says so.
 */
RECKON_PUBLIC int reckon_group_set(reckon_engine *engine, const char *group, uint32_t weight,
				   uint32_t cpu_percent, reckon_error *err);

/* Finds or starts the warden now, instead of with the first session. */
RECKON_PUBLIC int reckon_engine_connect(reckon_engine *engine, reckon_error *err);

/* Deletes unneeded objects older than `age_s` from one of the store's 256 directories. */
typedef struct reckon_collected { uint64_t objects, bytes, kept, kept_bytes; } reckon_collected;
typedef int reckon_needed_fn(const char *sha256, void *arg);
RECKON_PUBLIC int reckon_store_collect(reckon_engine *engine, unsigned directory, uint64_t age_s,
				       reckon_needed_fn *is_needed, void *arg,
				       reckon_collected *add, reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
