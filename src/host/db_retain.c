/*
 * db_retain.c - removing what is too old.
 *
 * Runs in:  reckond's loop, within a transaction of its caller's.
 * Reads:    its own tables.
 * Never:    removes more than it is told to at once.
 */
#include <stdio.h>
#include <time.h>

#include "base/cleanup.h"
#include "host/db.h"
#include "host/db_inner.h"

#define OLD_ONES                                                                              \
	" IN (SELECT id FROM execution WHERE id < ?1 AND status <> 'pending' ORDER BY id LIMIT ?2)"

int db_retain_executions(struct db *db, const char *before, unsigned limit, unsigned *ret,
			 struct err *err)
{
	/* The executions last: the others go by them. */
	static const char *const tables[] = {
		"DELETE FROM receipt WHERE execution" OLD_ONES,
		"DELETE FROM version WHERE execution" OLD_ONES,
		"DELETE FROM execution WHERE id" OLD_ONES,
	};

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		cleanup_statement sqlite3_stmt *statement = NULL;

		if (db_prepare(db, tables[i], &statement, err) < 0)
			return (int)err->code;
		db_bind_text(statement, 1, before);
		(void)sqlite3_bind_int64(statement, 2, limit);
		if (db_step(db, statement, err) < 0)
			return (int)err->code;
		*ret = (unsigned)sqlite3_changes(db->sqlite);
	}
	return 0;
}

static int remove_session(struct db *db, const char *id, struct err *err)
{
	static const char *const tables[] = {
		"DELETE FROM execution WHERE session = ?",
		"DELETE FROM receipt WHERE session = ?",
		"DELETE FROM version WHERE session = ?",
		"DELETE FROM link WHERE session = ?",
		"DELETE FROM session_name WHERE session = ?",
		"DELETE FROM session WHERE id = ?",
	};

	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		cleanup_statement sqlite3_stmt *statement = NULL;

		if (db_prepare(db, tables[i], &statement, err) < 0)
			return (int)err->code;
		db_bind_text(statement, 1, id);
		if (db_step(db, statement, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int db_retain_sessions(struct db *db, const char *before, uint64_t ended_s, unsigned limit,
		       unsigned *ret, struct err *err)
{
	const time_t cutoff = time(NULL) - (time_t)ended_s;
	char ended[32], id[ID_SIZE];
	struct tm tm;

	if (gmtime_r(&cutoff, &tm) == NULL)
		return err_set(err, ERR_INVALID, "the clock is out of bounds");
	(void)strftime(ended, sizeof(ended), "%Y-%m-%dT%H:%M:%SZ", &tm);
	for (*ret = 0; *ret < limit; (*ret)++) {
		cleanup_statement sqlite3_stmt *statement = NULL;
		int found;

		if (db_prepare(db, "SELECT id FROM session WHERE ended_at < ?1 AND id < ?2"
				   " ORDER BY ended_at LIMIT 1", &statement, err) < 0)
			return (int)err->code;
		db_bind_text(statement, 1, ended);
		db_bind_text(statement, 2, before);
		found = db_step(db, statement, err);
		if (found <= 0)
			return found;
		db_column_text(statement, 0, id, sizeof(id));
		if (remove_session(db, id, err) < 0)
			return (int)err->code;
	}
	return 0;
}
