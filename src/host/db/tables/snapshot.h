/*
 * snapshot.h - the rows of snapshots: the files, environment and settings of a session at one
 * moment.
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

#define DB_SNAPSHOT_NAME_SIZE 129
#define DB_SNAPSHOT_ROW 512u /* bytes that count for a snapshot in addition to its contents */
#define DB_SNAPSHOT_FILE 64u /* bytes for each entry in addition to path and content id */

struct db_snapshot {
	char id[ID_SIZE], tenant[ID_SIZE];
	char session[ID_SIZE];		  /* its source, which may no longer exist */
	char name[DB_SNAPSHOT_NAME_SIZE]; /* or "" */
	char template_name[64], language[64];
	struct front_limits limits;
	uint64_t policy;
	char created_at[CLOCK_RFC3339_SIZE];
	uint64_t files, bytes; /* of regular files: number, contents; set by db_snapshot_add() */
	uint64_t size;	       /* of its rows, as it counts for its tenant; likewise */
	uint64_t unsaved_count;
	char unsaved_why[160];
	struct buf env; /* as in struct db_persisted */
	bool is_held; /* it goes with the request that made it; only written */
};
void db_snapshot_init(struct db_snapshot *snapshot);
void db_snapshot_done(struct db_snapshot *snapshot);
#define cleanup_snapshot __attribute__((cleanup(db_snapshot_done)))

/* How much a snapshot of this session would add to the tenant's storage: rows and new contents. */
int db_snapshot_weigh(struct db *db, const char *tenant, const char *session, uint64_t *ret,
		      struct err *err);
/*
 * Adds a snapshot of the files that the session's manifest lists now. *ret_new_bytes: bytes of
 * contents that are new to the tenant.
 */
int db_snapshot_add(struct db *db, struct db_snapshot *snapshot, uint64_t *ret_new_bytes,
		    struct err *err);
/* 1: found; 0: the tenant does not have it. */
int db_snapshot_find(struct db *db, const char *tenant, const char *id, struct db_snapshot *ret,
		     struct err *err);
int db_snapshot_count(struct db *db, const char *tenant, uint64_t *ret, struct err *err);
int db_snapshot_remove(struct db *db, const char *id, struct err *err);
int db_snapshot_drop(struct db *db, const char *tenant, struct err *err); /* all of them */
/* Those that are held: what an earlier run left of them. */
typedef void db_snapshot_held_fn(const char *id, const char *tenant, void *arg);
int db_snapshot_held(struct db *db, db_snapshot_held_fn *fn, void *arg, struct err *err);

int db_snapshot_files(struct db *db, const char *id, reckon_workspace **ret, struct err *err);
/*
 * Copies the files into the manifest of the session. ERR_NOT_FOUND: the snapshot was removed
 * meanwhile.
 */
int db_snapshot_give(struct db *db, const char *id, const char *session, struct err *err);

/* Newest first. NULL members do not restrict the list. */
struct db_snapshot_list {
	const char *tenant, *session, *name, *before;
	unsigned limit;
};
typedef int db_snapshot_fn(const struct db_snapshot *snapshot, void *arg, struct err *err);
int db_snapshot_list(struct db *db, const struct db_snapshot_list *list, db_snapshot_fn *fn,
		     void *arg, struct err *err);
