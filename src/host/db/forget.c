/*
 * forget.c - removes a tenant's conversations, and what ran in them.
 *
 * Runs in:  reckond's loop, within the caller's transaction.
 * Reads:    its own tables.
 * Never:    removes runs or executions that have not ended.
 */
#include "host/db/forget.h"

#include "base/cleanup.h"
#include "host/db/inner.h"

#define OF_RUNS " FROM run WHERE tenant = ?1 AND (?2 IS NULL OR asked_by = ?2)"

static int prepare(struct db *db, const struct db_forget *forget, const char *sql,
		   sqlite3_stmt **ret, struct err *err)
{
	if (db_prepare(db, sql, ret, err) < 0)
		return (int)err->code;
	db_bind_text(*ret, 1, forget->tenant);
	db_bind_text(*ret, 2, forget->key);
	return 0;
}

static int change(struct db *db, const struct db_forget *forget, const char *sql, uint64_t *ret,
		  struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (prepare(db, forget, sql, &statement, err) < 0 || db_step(db, statement, err) < 0)
		return (int)err->code;
	*ret += (uint64_t)sqlite3_changes(db->sqlite);
	return 0;
}

int db_forget_is_in(struct db *db, const struct db_forget *forget, const char *session,
		    struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (prepare(db, forget, "SELECT 1" OF_RUNS " AND session_id = ?3 LIMIT 1", &statement,
		    err) < 0)
		return (int)err->code;
	db_bind_text(statement, 3, session);
	return db_step(db, statement, err);
}

static int forget_ended(struct db *db, struct db_forget *forget, struct err *err)
{
	char id[ID_SIZE];

	for (;;) {
		cleanup_statement sqlite3_stmt *statement = NULL;
		int found;

		if (prepare(db, forget,
			    "SELECT id FROM session WHERE ended_at IS NOT NULL AND id IN"
			    " (SELECT session_id" OF_RUNS ") LIMIT 1", &statement, err) < 0)
			return (int)err->code;
		found = db_step(db, statement, err);
		if (found <= 0)
			return found;
		db_column_text(statement, 0, id, sizeof(id));
		if (db_remove_session(db, id, err) < 0)
			return (int)err->code;
		forget->sessions++;
	}
}

int db_forget_runs(struct db *db, struct db_forget *forget, bool keeps_live, struct err *err)
{
	/* Also removes rows of other tables that refer to these executions (retain.c). */
	if (forget_ended(db, forget, err) < 0 ||
	    db_remove_executions(db, "session IN (SELECT session_id" OF_RUNS ")", forget->tenant,
				 forget->key, &forget->executions, err) < 0)
		return (int)err->code;
	return change(db, forget,
		      keeps_live ? "DELETE" OF_RUNS " AND state <> 'pending' AND session_id NOT IN"
				   " (SELECT id FROM session WHERE ended_at IS NULL)"
				 : "DELETE" OF_RUNS " AND state <> 'pending'",
		      &forget->runs, err);
}

int db_forget_documents(struct db *db, const char *tenant, const char *prefix, unsigned limit,
			uint64_t *ret_count, uint64_t *ret_bytes, struct err *err)
{
	static const char which[] =
		"SELECT coalesce(sum(size), 0), count(*), max(number) FROM (SELECT number, size "
		"FROM"
		" document WHERE tenant = ?1 AND substr(collection, 1, length(?2)) = ?2"
		" ORDER BY number LIMIT ?3)";
	cleanup_statement sqlite3_stmt *sums = NULL, *remove = NULL;

	if (db_prepare(db, which, &sums, err) < 0)
		return (int)err->code;
	db_bind_text(sums, 1, tenant);
	db_bind_text(sums, 2, prefix);
	(void)sqlite3_bind_int64(sums, 3, limit);
	if (db_step(db, sums, err) < 0)
		return (int)err->code;
	*ret_bytes = (uint64_t)sqlite3_column_int64(sums, 0);
	*ret_count = (uint64_t)sqlite3_column_int64(sums, 1);
	if (*ret_count == 0)
		return 0;
	if (db_prepare(db,
		       "DELETE FROM document WHERE tenant = ?1 AND"
		       " substr(collection, 1, length(?2)) = ?2 AND number <= ?3",
		       &remove, err) < 0)
		return (int)err->code;
	db_bind_text(remove, 1, tenant);
	db_bind_text(remove, 2, prefix);
	(void)sqlite3_bind_int64(remove, 3, sqlite3_column_int64(sums, 2));
	return db_step(db, remove, err);
}
