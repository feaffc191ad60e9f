/*
 * persist.h - the rows that restore sessions; what sessions share in the store; recovery, sync.
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
#define DB_PAUSES_AT_END 1u /* when the session expires, instead of ending */
#define DB_PAUSES_WITHOUT_MEMORY 4u /* … and keeps only its files */
#define DB_PAUSES_UNTIL_REQUEST 2u  /* a request that needs the box resumes it */

/* The state of a live session, in addition to its row. */
struct db_persisted {
	struct buf env;	       /* "NAME=value" and a NUL, repeated; may contain secrets */
	uint64_t used_ms;      /* last use, by the wall clock */
	uint64_t used_boot_ms; /* last use, by CLOCK_BOOTTIME of boot `boot` */
	char boot[DB_BOOT_SIZE];
	uint64_t expires_ms; /* by the wall clock; 0: never */
	char kernel[DB_KERNEL_SIZE]; /* "ready" or "lost" */
	char lost_why[DB_WHY_SIZE];
	char *variables; /* names of variables, ["a","b"], or NULL */
	char restored_at[CLOCK_RFC3339_SIZE];
	uint64_t unsaved_count;
	char unsaved_why[160];
	char grant[ID_SIZE]; /* for folders of the host, base/process/grant.h; or "" */
	uint64_t paused_ms; /* when it was paused, by the wall clock; 0: not paused */
	uint32_t pauses;    /* DB_PAUSES_… */
};
void db_persisted_init(struct db_persisted *persisted);
void db_persisted_done(struct db_persisted *persisted);

/* Adds the row or replaces it. */
int db_persisted_put(struct db *db, const char *session, const struct db_persisted *persisted,
		     struct err *err);
int db_persisted_find(struct db *db, const char *session, struct db_persisted *ret,
		      struct err *err);
/* Updates only the time of last use. */
int db_persisted_use(struct db *db, const char *session, const struct db_persisted *persisted,
		     struct err *err);

/* Stores changes of a workspace's manifest; if changes->is_whole, replaces all of it. */
int db_files_change(struct db *db, const char *session, const reckon_workspace *changes,
		    struct err *err);
int db_files_load(struct db *db, const char *session, reckon_workspace **ret, struct err *err);
/* Reads the rows that `sql` selects for `owner`: path, kind, mode, mtime_ns, size, content. */
int db_files_read(struct db *db, const char *sql, const char *owner, reckon_workspace **ret,
		  struct err *err);
/* Removes an ended session's state, manifest and contexts. */
int db_persisted_drop(struct db *db, const char *session, struct err *err);

/*
 * Stores which objects ("ar_…", "out_…") a record names: they are needed while the record exists.
 */
int db_objects_add(struct db *db, const char *execution, const char *record, size_t len,
		   struct err *err);
/*
 * Opens the database of the other daemon that shares the store (the private one, or `reckon
 * serve`), for db_object_is_needed(). NULL if there is none. If its version is too old, all objects
 * count as needed.
 */
int db_open_other(const char *state_dir, bool is_private, struct db **ret, struct err *err);
/* Removes an object from a tenant. 1: the tenant had it, *ret_size is its size in bytes. */
int db_object_disown(struct db *db, const char *tenant, const char *digits, uint64_t *ret_size,
		     struct err *err);
/*
 * Objects that were removed from the store: the last DB_TOMBSTONES of all tenants. find() returns 1
 * and the time if the object is one of them.
 */
#define DB_TOMBSTONES 100000u
int db_tombstone_add(struct db *db, const char *tenant, const char *digits, struct err *err);
int db_tombstone_find(struct db *db, const char *tenant, const char *digits,
		      char removed_at[CLOCK_RFC3339_SIZE], struct err *err);
/* Whether any row names the object; also true if the database cannot be read. */
bool db_object_is_needed(struct db *db, const char *sha256);

/*
 * How many rows db_recover() changed. Executions, processes and runs that had not ended become
 * lost. Live sessions stay live, but their kernels are lost; sessions of a version that did not
 * persist workspaces become lost.
 */
struct db_recovered {
	int executions, processes, runs, lost;
};
/* Called in the transaction for each lost session. */
typedef int db_lost_fn(const char *session, const char *tenant, const char *why, void *arg,
		       struct err *err);
int db_recover(struct db *db, const char *why, db_lost_fn *fn, void *arg, struct db_recovered *ret,
	       struct err *err);
/* Live sessions, oldest first. */
int db_live_list(struct db *db, db_session_fn *fn, void *arg, struct err *err);
/* The sequence number of a session's last execution, or 0. */
int db_last_sequence(struct db *db, const char *session, uint64_t *ret, struct err *err);

/*
 * The ids of the session's last executions that have ended and are not lost, newest first, at most
 * DB_RECORDED_MAX, then NULL. One block, which the caller frees.
 */
#define DB_RECORDED_MAX 256u
int db_recorded(struct db *db, const char *session, char ***ret, struct err *err);

/* A text that the daemon stores under a name; "" if there is none. */
int db_note(struct db *db, const char *name, const char *value, struct err *err);
void db_note_read(struct db *db, const char *name, char *ret, size_t size);

void db_rollback(struct db *db);
/* When this returns, all commits are on the disk; if the database is relaxed, it does nothing. */
int db_sync(struct db *db, struct err *err);
/*
 * db_sync() in two steps, so that another thread can wait: returns the descriptor to sync, or -1.
 * From then on all commits count as synced; if the sync fails, call db_sync_failed().
 */
int db_sync_fd(struct db *db);
void db_sync_failed(struct db *db);
bool db_is_synced(const struct db *db); /* nothing was written since the last sync */
void db_relax(struct db *db);
uint64_t db_sync_count(const struct db *db);
