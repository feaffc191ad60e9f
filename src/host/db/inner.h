/* inner.h - what the files of db/ use to access SQLite. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "host/db/db.h"

struct db {
	bool is_relaxed;
	uint64_t sync_count;
	sqlite3_int64 synced_changes; /* at the last sync that was done or requested */
	int log_fd; /* for threads that sync the log, or -1 */
	bool never_waits; /* for another process that writes; see db_try_begin() */
	uint64_t gave_up_ns; /* when waiting for another process was last given up; 0: never */
	sqlite3 *sqlite;
	struct db_log *log; /* or NULL */
};

int db_failed(struct db *db, const char *what, struct err *err);
int db_exec(struct db *db, const char *sql, struct err *err); /* any number of statements */

/* ---- retain.c ---- */
/* Removes the session and all rows that refer to it. */
int db_remove_session(struct db *db, const char *id, struct err *err);
/* Removes ended executions that match `where`, in which ?1 and ?2 are bound to `one` and `two`. */
int db_remove_executions(struct db *db, const char *where, const char *one, const char *two,
			 uint64_t *ret, struct err *err);

/* ---- statement.c ---- */
/* A statement for one use; the end of its scope releases it. */
void db_statement_done(sqlite3_stmt **statement);
#define cleanup_statement __attribute__((cleanup(db_statement_done)))
int db_prepare(struct db *db, const char *sql, sqlite3_stmt **ret, struct err *err);
/* Runs one statement that has no parameters and no result rows. */
int db_run(struct db *db, const char *sql, struct err *err);
void db_statements_drop(struct db *db); /* before db_close() closes the connection */

/* `index` counts from 1. A NULL text is bound as NULL. */
void db_bind_text(sqlite3_stmt *statement, int index, const char *text);
void db_bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, size_t len);
void db_column_text(sqlite3_stmt *statement, int column, char *ret, size_t size);

/* 1: a row; 0: done. */
int db_step(struct db *db, sqlite3_stmt *statement, struct err *err);
