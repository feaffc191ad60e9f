/*
 * retain.c - removes executions and sessions that are too old, with all rows that refer to them.
 *
 * Runs in:  reckond's loop, within the caller's transaction.
 * Reads:    its own tables, and the list of tables.
 * Never:    removes more than `limit` at once, or leaves a row that refers to a removed one.
 *
 * Each table that has a column `session` or `execution` is cleared with it, so that a new table
 * cannot be forgotten here.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "host/db/db.h"
#include "host/db/inner.h"

#define TABLES_MAX 24
#define OLD_ONES                                                                              \
	" IN (SELECT id FROM execution WHERE id < ?1 AND status <> 'pending' ORDER BY id LIMIT ?2)"

struct tables {
	char name[TABLES_MAX][40];
	size_t count;
};

/* Finds the tables with this column. */
static int find_tables(struct db *db, const char *column, struct tables *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	ret->count = 0;
	if (db_prepare(db, "SELECT m.name FROM sqlite_master m, pragma_table_info(m.name) c"
			   " WHERE m.type = 'table' AND c.name = ?1",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, column);
	while ((found = db_step(db, statement, err)) == 1) {
		if (ret->count == TABLES_MAX)
			return err_set(err, ERR_LIMIT, "more tables than were expected");
		db_column_text(statement, 0, ret->name[ret->count++], sizeof(ret->name[0]));
	}
	return found;
}

static int run(struct db *db, const char *sql, const char *text, unsigned limit, unsigned *ret,
	       struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, sql, &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, text);
	if (sqlite3_bind_parameter_count(statement) > 1)
		(void)sqlite3_bind_int64(statement, 2, limit);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	*ret = (unsigned)sqlite3_changes(db->sqlite);
	return 0;
}

int db_retain_executions(struct db *db, const char *before, unsigned limit, unsigned *ret,
			 struct err *err)
{
	struct tables tables;
	char sql[256];

	if (find_tables(db, "execution", &tables, err) < 0)
		return (int)err->code;
	/* The execution rows go last, because the other tables are selected by them. */
	for (size_t i = 0; i < tables.count; i++) {
		(void)snprintf(sql, sizeof(sql), "DELETE FROM \"%s\" WHERE execution" OLD_ONES,
			       tables.name[i]);
		if (run(db, sql, before, limit, ret, err) < 0)
			return (int)err->code;
	}
	return run(db, "DELETE FROM execution WHERE id" OLD_ONES, before, limit, ret, err);
}

int db_remove_executions(struct db *db, const char *where, const char *one, const char *two,
			 uint64_t *ret, struct err *err)
{
	struct tables tables;
	char sql[512];

	if (find_tables(db, "execution", &tables, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i <= tables.count; i++) {
		cleanup_statement sqlite3_stmt *statement = NULL;
		const bool is_last = i == tables.count;

		if (is_last)
			(void)snprintf(sql, sizeof(sql),
				       "DELETE FROM execution WHERE status <> 'pending'"
				       " AND %s",
				       where);
		else
			(void)snprintf(sql, sizeof(sql),
				       "DELETE FROM \"%s\" WHERE execution IN (SELECT id"
				       " FROM execution WHERE status <> 'pending' AND %s)",
				       tables.name[i], where);
		if (db_prepare(db, sql, &statement, err) < 0)
			return (int)err->code;
		db_bind_text(statement, 1, one);
		db_bind_text(statement, 2, two);
		if (db_step(db, statement, err) < 0)
			return (int)err->code;
		if (is_last)
			*ret += (uint64_t)sqlite3_changes(db->sqlite);
	}
	return 0;
}

int db_remove_session(struct db *db, const char *id, struct err *err)
{
	struct tables tables, by_execution;
	unsigned ignored;
	char sql[256];

	if (find_tables(db, "session", &tables, err) < 0 ||
	    find_tables(db, "execution", &by_execution, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < by_execution.count; i++) {
		(void)snprintf(sql, sizeof(sql), "DELETE FROM \"%s\" WHERE execution IN"
			       " (SELECT id FROM execution WHERE session = ?1)",
			       by_execution.name[i]);
		if (run(db, sql, id, 0, &ignored, err) < 0)
			return (int)err->code;
	}
	for (size_t i = 0; i < tables.count; i++) {
		(void)snprintf(sql, sizeof(sql), "DELETE FROM \"%s\" WHERE session = ?1",
			       tables.name[i]);
		if (run(db, sql, id, 0, &ignored, err) < 0)
			return (int)err->code;
	}
	return run(db, "DELETE FROM session WHERE id = ?1", id, 0, &ignored, err);
}

int db_retain_sessions(struct db *db, const char *before, uint64_t ended_before_s, unsigned limit,
		       unsigned *ret, struct err *err)
{
	const time_t cutoff = (time_t)ended_before_s;
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
		if (db_remove_session(db, id, err) < 0)
			return (int)err->code;
	}
	return 0;
}
