/*
 * copy.h - a database as it is at one moment, while others write it; and what it needs of the store.
 */
#pragma once

#include "base/err.h"

struct db;

/* Makes the file `path`, which is not there yet. It is not part of a log: one file is all of it. */
int db_copy(struct db *db, const char *path, struct err *err);
/* ERR_INVALID, with the first thing that SQLite finds wrong. */
int db_check_whole(struct db *db, struct err *err);
/* Each content that a workspace or a stored file is made of, by SHA-256, once. */
typedef int db_content_fn(const char *sha256, void *arg, struct err *err);
int db_each_content(struct db *db, db_content_fn *fn, void *arg, struct err *err);
