/*
 * db_statement.c - statements that stay prepared between their uses.
 *
 * Runs in:  reckond's loop; an offline look at a state directory.
 * Reads:    nothing.
 * Never:    gives one statement to two users at once.
 *
 * What one cell writes takes a dozen statements, and compiling them cost more than running them.
 * So a statement whose scope ends is reset and stays, in the place that its text names. Another
 * text in that place, or the same one while it is in use (a list whose entries ask again), is
 * prepared for one use, as if there were no places.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db_inner.h"

#define PLACES 512u

static struct place {
	sqlite3_stmt *statement;
	bool is_taken;
} places[PLACES]; /* of all databases of the process; the loop's thread alone comes here */

static struct place *place_of(const sqlite3 *sqlite, const char *sql)
{
	uint32_t sum = 2166136261u ^ (uint32_t)((uintptr_t)sqlite >> 4);

	for (; *sql != '\0'; sql++)
		sum = (sum ^ (unsigned char)*sql) * 16777619u;
	return &places[(sum ^ sum >> 16) % PLACES];
}

static bool is_of(const struct place *place, const sqlite3 *sqlite, const char *sql)
{
	return sqlite3_db_handle(place->statement) == sqlite &&
	       strcmp(sqlite3_sql(place->statement), sql) == 0;
}

int db_prepare(struct db *db, const char *sql, sqlite3_stmt **ret, struct err *err)
{
	struct place *place = place_of(db->sqlite, sql);
	const bool is_known = place->statement != NULL && is_of(place, db->sqlite, sql);

	if (is_known && !place->is_taken) {
		place->is_taken = true;
		*ret = place->statement;
		return 0;
	}
	if (sqlite3_prepare_v3(db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) !=
	    SQLITE_OK)
		return db_failed(db, "prepare", err);
	if (place->statement == NULL && strcmp(sqlite3_sql(*ret), sql) == 0)
		*place = (struct place){ *ret, true };
	return 0;
}

void db_statement_done(sqlite3_stmt **statement)
{
	struct place *place;

	if (*statement == NULL)
		return;
	place = place_of(sqlite3_db_handle(*statement), sqlite3_sql(*statement));
	if (place->statement != *statement) {
		(void)sqlite3_finalize(*statement);
		return;
	}
	/* What was bound belongs to whoever is leaving. */
	(void)sqlite3_reset(*statement);
	(void)sqlite3_clear_bindings(*statement);
	place->is_taken = false;
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
	for (size_t i = 0; i < PLACES; i++) {
		if (places[i].statement == NULL ||
		    sqlite3_db_handle(places[i].statement) != db->sqlite)
			continue;
		(void)sqlite3_finalize(places[i].statement);
		places[i].statement = NULL;
	}
}
