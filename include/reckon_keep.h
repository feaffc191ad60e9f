/*
 * reckon_keep.h - sessions that outlive their box: for daemons that keep them in a database.
 *
 * After reckon.h; the same rules. A session opened with RECKON_SESSION_KEEP has its workspace kept
 * in the store: take what changed with each execution, commit it together with the record, and a
 * new session with the same id can be made what the old one was.
 */
#ifndef RECKON_KEEP_H
#define RECKON_KEEP_H

#include "reckon.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { /* content is */
	RECKON_ENTRY_FILE = 1,  /* SHA-256 in hex, in the engine's store */
	RECKON_ENTRY_DIRECTORY,
	RECKON_ENTRY_SYMLINK,   /* where it leads to */
	RECKON_ENTRY_HARD_LINK, /* path of the entry that is the same file */
	RECKON_ENTRY_FIFO, RECKON_ENTRY_NOT_KEPT,
	RECKON_ENTRY_GONE       /* the name is not there any more */
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
	int is_whole;    /* the entries are all there are; else they are what changed, in order */
	size_t not_kept; /* names whose content is not in the store, the first because of: */
	char why[160];
	char *variables; /* their names, as far as they are known: ["a","b"]; NULL: of no kernel */
	uint64_t number; /* counts what was taken of a session, from 1: to be committed in order */
} reckon_workspace;

/* What changed since the last call, of a session with RECKON_SESSION_KEEP; contents are on the disk.
 * To be committed before anybody is told that the execution has ended. reckon_workspace_free(). */
RECKON_PUBLIC int reckon_workspace_take(reckon_session *session, reckon_workspace **ret,
					reckon_error *err);
RECKON_PUBLIC void reckon_workspace_free(reckon_workspace *workspace); /* NULL is fine */
/* What was taken could not be committed: the next one that is taken is whole. */
RECKON_PUBLIC void reckon_workspace_forget(reckon_session *session);
/* Looks at the workspace now. `thorough`: at all bytes, for what an open mapping changed. */
RECKON_PUBLIC int reckon_workspace_keep(reckon_session *session, int thorough, reckon_error *err);
/* Makes the workspace of a new session what an earlier one's was. RECKON_ELOST when content is
 * missing or damaged, RECKON_ELIMIT when the session may not hold as much; then close it. */
RECKON_PUBLIC int reckon_workspace_restore(reckon_session *session,
					   const reckon_workspace *manifest, reckon_error *err);
/* The same, of all whose content is there: each that is missing or damaged is told, with its path
 * as it may be shown. Whether the session is to be used is the caller's to say. */
typedef void reckon_missing_fn(const char *path, const char *why, void *arg);
RECKON_PUBLIC int reckon_workspace_restore_intact(reckon_session *session,
						  const reckon_workspace *manifest,
						  reckon_missing_fn *tell, void *arg,
						  reckon_error *err);

/*
 * Everything in the session's box stands still, kernels, contexts and processes, and keeps its
 * memory; limits of processes wait with it. While nothing executes. Until it is thawed, files can
 * be used, anything else fails; closing it is fine.
 */
RECKON_PUBLIC int reckon_session_freeze(reckon_session *session, reckon_error *err);
RECKON_PUBLIC int reckon_session_thaw(reckon_session *session, reckon_error *err);

/*
 * A lease lets the box of a session outlive its connection to the warden, and so the process: what
 * has the lease can adopt it for `seconds` (at most 3600; 0 takes the lease back) after that. Nothing
 * runs in it meanwhile. Whoever knows the lease gets all that is in the box: derive it from a secret
 * and the session's id. It holds when the session's kernel is idle and none of its contexts executes.
 * A context has a lease of its own, which keeps its kernel when that of its session keeps the box.
 * Call it after each use of the session. It does nothing while variables were lost and no record has
 * said so yet. Restarting a kernel ends the lease.
 */
#define RECKON_LEASE_SIZE 32
RECKON_PUBLIC int reckon_session_lease(reckon_session *session,
				       const unsigned char lease[RECKON_LEASE_SIZE],
				       unsigned seconds, reckon_error *err);
/*
 * The session that an earlier process opened with these options and leased so; it need not look for
 * lost variables, `lost_variables` names those that there are. `recorded` are the ids of the last
 * executions whose records are kept, NULL behind them: RECKON_ENOT_FOUND when no box waits for the
 * lease, RECKON_ELOST when something else ran in it, or it does not answer; then it has ended, and the
 * session is to be restored. Its workspace is as unknown as a new session's: the first
 * reckon_workspace_take() after a look at it is whole.
 */
RECKON_PUBLIC int reckon_session_adopt(reckon_engine *engine, const reckon_session_options *options,
				       const unsigned char lease[RECKON_LEASE_SIZE],
				       const char *const *recorded, reckon_session **ret,
				       reckon_error *err);
/* A context of an adopted session, within half a minute of that; `lost_why` is not looked at.
 * RECKON_ENOT_FOUND when there is none with this lease. */
RECKON_PUBLIC int reckon_context_adopt(reckon_session *session,
				       const reckon_context_options *options,
				       const unsigned char lease[RECKON_LEASE_SIZE],
				       reckon_session **ret, reckon_error *err);
/* As reckon_session_close(), but a box with a lease stays as when the process had ended. */
RECKON_PUBLIC void reckon_session_hand_over(reckon_session *session);

/* Both texts stay as long as the program. */
typedef struct reckon_reason { const char *code, *message; } reckon_reason;
/* As reckon_interrupt(); the record says why, as a diagnostic. */
RECKON_PUBLIC void reckon_interrupt_for(reckon_session *session, const reckon_reason *reason);

/*
 * What a group of live sessions may have of the processors from now on (reckon_session_options).
 * Where the host does not let the warden divide them nothing happens; `reckon doctor` says so.
 */
RECKON_PUBLIC int reckon_group_set(reckon_engine *engine, const char *group, uint32_t weight,
				   uint32_t cpu_percent, reckon_error *err);

/* Finds or starts the warden now, not with the first session. */
RECKON_PUBLIC int reckon_engine_connect(reckon_engine *engine, reckon_error *err);

/* Removes objects of one of the store's 256 directories, older than `age_s`, that nobody needs. */
typedef struct reckon_collected { uint64_t objects, bytes, kept, kept_bytes; } reckon_collected;
typedef int reckon_needed_fn(const char *sha256, void *arg);
RECKON_PUBLIC int reckon_store_collect(reckon_engine *engine, unsigned directory, uint64_t age_s,
				       reckon_needed_fn *is_needed, void *arg,
				       reckon_collected *add, reckon_error *err);

#ifdef __cplusplus
}
#endif

#endif
