/*
 * total.c - counters that survive restarts of the daemon, and the check of the database.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own table.
 * Never:    counts: it stores what others counted.
 */
#include <string.h>

#include "base/cleanup.h"
#include "host/db/db.h"
#include "host/db/inner.h"

int db_total(struct db *db, const char *name, uint64_t *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT value FROM total WHERE name = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, name);
	found = db_step(db, statement, err);
	if (found < 0)
		return found;
	*ret = found == 1 ? (uint64_t)sqlite3_column_int64(statement, 0) : 0;
	return 0;
}

int db_check(struct db *db, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char text[200];

	if (db_prepare(db, "PRAGMA quick_check(1)", &statement, err) < 0 ||
	    db_step(db, statement, err) < 0)
		return (int)err->code;
	db_column_text(statement, 0, text, sizeof(text));
	return strcmp(text, "ok") == 0 ? 0 : err_set(err, ERR_INVALID, "damaged: %s", text);
}

int db_total_set(struct db *db, const char *name, uint64_t value, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT INTO total VALUES(?1, ?2)"
			   " ON CONFLICT(name) DO UPDATE SET value = ?2", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, name);
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)value);
	return db_step(db, statement, err);
}
