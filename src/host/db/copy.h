/*
 * copy.h - copies the database at one moment, while others write it; lists the contents it refers
 * to.
 */
#pragma once

#include "base/err.h"

struct db;

/* Writes a copy into the new file `path`. The copy has no log: one file is all of it. */
int db_copy(struct db *db, const char *path, struct err *err);
/* ERR_INVALID, with the first problem that SQLite finds. */
int db_check_whole(struct db *db, struct err *err);
/*
 * Calls `fn` once for the SHA-256 of each content that workspaces, snapshots and documents refer
 * to.
 */
typedef int db_content_fn(const char *sha256, void *arg, struct err *err);
int db_each_content(struct db *db, db_content_fn *fn, void *arg, struct err *err);
