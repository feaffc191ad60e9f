/*
 * statement.c - keeps statements prepared between their uses.
 *
 * Runs in:  reckond's loop; a process that opens a state directory offline.
 * Reads:    nothing.
 * Never:    gives one statement to two users at once.
 *
 * Each cell needs a dozen statements, and compiling them cost more than running them. So a
 * statement whose scope ends is reset and stays in one of the places that a hash of its text
 * selects. If other statements have these places, or while the statement is in use (a callback of a
 * list runs the same query), it is prepared for one use only.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db/inner.h"

#define PLACES 512u
#define TRIES 8u /* places to try, from the hash of the text on */

static struct place {
	sqlite3_stmt *statement;
	bool is_taken;
} places[PLACES + TRIES]; /* of all databases of the process; only the loop's thread uses it */

static struct place *place_of(const sqlite3 *sqlite, const char *sql)
{
	uint32_t sum = 2166136261u ^ (uint32_t)((uintptr_t)sqlite >> 4);

	for (; *sql != '\0'; sql++)
		sum = (sum ^ (unsigned char)*sql) * 16777619u;
	return &places[(sum ^ sum >> 16) % PLACES];
}

static bool is_of(const struct place *place, const sqlite3 *sqlite, const char *sql)
{
	return place->statement != NULL && sqlite3_db_handle(place->statement) == sqlite &&
	       strcmp(sqlite3_sql(place->statement), sql) == 0;
}

/* The place of this text, else a free one, else NULL. */
static struct place *find(const sqlite3 *sqlite, const char *sql)
{
	struct place *first = place_of(sqlite, sql), *empty = NULL;

	for (struct place *at = first; at < first + TRIES; at++) {
		if (is_of(at, sqlite, sql))
			return at;
		if (empty == NULL && at->statement == NULL)
			empty = at;
	}
	return empty;
}

int db_failed(struct db *db, const char *what, struct err *err)
{
	const int code = sqlite3_errcode(db->sqlite), os = sqlite3_system_errno(db->sqlite);
	const bool is_full = code == SQLITE_FULL ||
			     (code == SQLITE_IOERR && (os == ENOSPC || os == EDQUOT));

	(void)err_set(err, is_full ? ERR_LIMIT : ERR_SYSTEM, "database: %s: %s", what,
		      sqlite3_errmsg(db->sqlite));
	err->errnum = is_full ? ENOSPC : code == SQLITE_BUSY ? EBUSY : 0;
	if (is_full)
		(void)err_remedy(err, "free some space where the state directory is");
	else if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		(void)err_remedy(
			err, "put back a copy of reckond.db, or move it away with -wal and -shm "
			     "to begin with new keys and no history");
	else if (code == SQLITE_BUSY || code == SQLITE_LOCKED)
		(void)err_remedy(err, "end the program that holds reckond.db");
	return (int)err->code;
}

int db_prepare(struct db *db, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	struct place *place = find(db->sqlite, sql);

	if (place != NULL && place->statement != NULL && !place->is_taken) {
		place->is_taken = true;
		*ret = place->statement;
		return 0;
	}
	if (sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) !=
	    SQLITE_OK)
		return db_failed(db, "prepare", err);
	if (place != NULL && place->statement == NULL && strcmp(sqlite3_sql(*ret), sql) == 0)
		*place = (struct place){ *ret, true };
	return 0;
}

void db_statement_done(sqlite3_stmt **statement)
{
	struct place *place;

	if (*statement == NULL)
		return;
	place = find(sqlite3_db_handle(*statement), sqlite3_sql(*statement));
	if (place == NULL || place->statement != *statement) {
		(void)sqlite3_finalize(*statement);
		return;
	}
	/* Bound values belong to the caller, whose scope ends. */
	(void)sqlite3_reset(*statement);
	(void)sqlite3_clear_bindings(*statement);
	place->is_taken = false;
}

int db_step(struct db *db, sqlite3_stmt *statement, struct err *err)
{
	const int code = sqlite3_step(statement);

	if (code == SQLITE_ROW)
		return 1;
	return code == SQLITE_DONE ? 0 : db_failed(db, "step", err);
}

int db_run(struct db *db, const char *sql, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, sql, &statement, err) < 0)
		return (int)err->code;
	return db_step(db, statement, err) < 0 ? (int)err->code : 0;
}

void db_statements_drop(struct db *db)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		if (places[i].statement == NULL ||
		    sqlite3_db_handle(places[i].statement) != db->sqlite)
			continue;
		(void)sqlite3_finalize(places[i].statement);
		places[i].statement = NULL;
	}
}
