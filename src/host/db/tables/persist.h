/*
 * persist.h - the rows that sessions are made again from, and transactions over several of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "host/db/db.h"
#include "reckon_keep.h"

#define DB_KERNEL_SIZE 8
#define DB_BOOT_SIZE 40
#define DB_PAUSES_AT_END 1u /* when its time is over, instead of ending */
#define DB_PAUSES_WITHOUT_MEMORY 4u /* … and then its files alone stay */
#define DB_PAUSES_UNTIL_ASKED 2u /* a request that needs its box resumes it */

/* What is known of a live session beside its row. */
struct db_persisted {
	struct buf env;	       /* "NAME=value" and a NUL, one after the other; may be secrets */
	uint64_t used_ms;      /* of the wall clock */
	uint64_t used_boot_ms; /* of CLOCK_BOOTTIME in boot `boot`, which no one sets */
	char boot[DB_BOOT_SIZE];
	uint64_t expires_ms; /* of the wall clock; 0: never */
	char kernel[DB_KERNEL_SIZE]; /* "ready" or "lost" */
	char lost_why[DB_WHY_SIZE];
	char *variables; /* names that are known, ["a","b"], or NULL */
	char restored_at[CLOCK_RFC3339_SIZE];
	uint64_t not_kept;
	char not_kept_why[160];
	char grant[ID_SIZE]; /* of folders of the host, base/process/grant.h; or "" */
	uint64_t paused_ms; /* since when it is paused, of the wall clock; 0: it is not */
	uint32_t pauses;    /* DB_PAUSES_… */
};
void db_persisted_init(struct db_persisted *kept);
void db_persisted_done(struct db_persisted *kept);

/* Added or replaced. */
int db_persisted_put(struct db *db, const char *session, const struct db_persisted *kept,
		     struct err *err);
int db_persisted_find(struct db *db, const char *session, struct db_persisted *ret,
		      struct err *err);
/* Only the clock of the last use. */
int db_persisted_use(struct db *db, const char *session, const struct db_persisted *kept,
		     struct err *err);

/* The manifest of a workspace: what changed, all of it, none of it any more. */
int db_files_change(struct db *db, const char *session, const reckon_workspace *changes,
		    struct err *err);
int db_files_load(struct db *db, const char *session, reckon_workspace **ret, struct err *err);
/* Of what that statement selects for `owner`: path, kind, mode, mtime_ns, size, content. */
int db_files_read(struct db *db, const char *sql, const char *owner, reckon_workspace **ret,
		  struct err *err);
/* Of a session that is no more: its manifest and its environment. */
int db_persisted_drop(struct db *db, const char *session, struct err *err);

/* The objects that a record names ("ar_…", "out_…"): they are needed as long as its row is there. */
int db_objects_add(struct db *db, const char *execution, const char *record, size_t len,
		   struct err *err);
/*
 * The database of the other daemon that shares the store, to ask db_object_is_needed() of: a
 * private one's, or that of `reckon serve`. NULL when there is none; one that is too old needs all.
 */
int db_open_other(const char *state_dir, bool is_private, struct db **ret, struct err *err);
/* A tenant has it no longer. 1: it had, and *ret_size bytes. */
int db_object_disown(struct db *db, const char *tenant, const char *digits, uint64_t *ret_size,
		     struct err *err);
/*
 * What was collected, of those that had it: the last DB_TOMBSTONES of all tenants. 1: it is one, and
 * when.
 */
#define DB_TOMBSTONES 100000u
int db_tombstone_add(struct db *db, const char *tenant, const char *digits, struct err *err);
int db_tombstone_find(struct db *db, const char *tenant, const char *digits,
		      char removed_at[CLOCK_RFC3339_SIZE], struct err *err);
/* Whether a manifest, a snapshot or a record names the object. On doubt it does. */
bool db_object_is_needed(struct db *db, const char *sha256);

/*
 * What an earlier run left: executions that had not ended are lost; live sessions stay, their
 * kernels are lost; those of a version that kept no workspaces are lost. How many.
 */
struct db_recovered {
	int executions, processes, runs, lost;
};
/* Called in the transaction for each session that is lost. */
typedef int db_lost_fn(const char *session, const char *tenant, const char *why, void *arg,
		       struct err *err);
int db_recover(struct db *db, const char *why, db_lost_fn *fn, void *arg, struct db_recovered *ret,
	       struct err *err);
/* The sessions that are live, oldest first. */
int db_live_list(struct db *db, db_session_fn *fn, void *arg, struct err *err);
/* The number of a session's last execution, or 0. */
int db_last_sequence(struct db *db, const char *session, uint64_t *ret, struct err *err);

/*
 * The ids of the session's last executions (no more than DB_RECORDED_MAX) that have ended and whose
 * end is kept, NULL behind them; one block, to be freed.
 */
#define DB_RECORDED_MAX 256u
int db_recorded(struct db *db, const char *session, char ***ret, struct err *err);

/* A line of the daemon's own, by its name: "" when there is none. */
int db_note(struct db *db, const char *name, const char *value, struct err *err);
void db_note_read(struct db *db, const char *name, char *ret, size_t size);

void db_rollback(struct db *db);
/* What was committed is on the disk when this returns; not when the database is relaxed. */
int db_sync(struct db *db, struct err *err);
/* The same in two steps, so that another thread can wait: what is to be synced, or -1. From then on
 * all that is committed counts as synced; who could not do it says so. */
int db_sync_fd(struct db *db);
void db_sync_failed(struct db *db);
bool db_is_synced(const struct db *db); /* nothing was written since */
void db_relax(struct db *db);
uint64_t db_sync_count(const struct db *db);
