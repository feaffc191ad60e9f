/*
 * recover.c - repairs the rows that an earlier run of the daemon left in the database.
 *
 * Runs in:  reckond's start.
 * Reads:    its own tables.
 * Never:    leaves a session live that cannot be restored.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/db/inner.h"
#include "host/db/tables/persist.h"

#define LOST_WHY "an earlier version of Reckon kept no workspaces, and the daemon was restarted"

static int run(struct db *db, const char *sql, const char *now, const char *why, int *ret_count,
	       struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, sql, &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, now);
	db_bind_text(statement, 2, why);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	*ret_count = sqlite3_changes(db->sqlite);
	return 0;
}

/* Looks up, once, the objects that records of an earlier version refer to. */
static int know_objects(struct db *db, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char known[4];
	int found;

	db_note_read(db, "objects_known", known, sizeof(known));
	if (known[0] != '\0')
		return 0;
	if (db_prepare(db, "SELECT id, record FROM execution WHERE record IS NOT NULL", &statement,
		       err) < 0)
		return (int)err->code;
	while ((found = db_step(db, statement, err)) == 1)
		if (db_objects_add(db, (const char *)sqlite3_column_text(statement, 0),
				   (const char *)sqlite3_column_text(statement, 1),
				   (size_t)sqlite3_column_bytes(statement, 1), err) < 0)
			return (int)err->code;
	return found < 0 ? found : db_note(db, "objects_known", "1", err);
}

/*
 * Reports the sessions whose workspaces an earlier version did not persist, before they become
 * lost.
 */
static int tell_lost(struct db *db, db_lost_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT id, tenant FROM session WHERE state = 'live'"
			   " AND id NOT IN (SELECT session FROM kept)", &statement, err) < 0)
		return (int)err->code;
	while ((found = db_step(db, statement, err)) == 1)
		if (fn((const char *)sqlite3_column_text(statement, 0),
		       (const char *)sqlite3_column_text(statement, 1), LOST_WHY, arg, err) < 0)
			return (int)err->code;
	return found;
}

static int recover(struct db *db, const char *why, db_lost_fn *fn, void *arg,
		   struct db_recovered *ret, struct err *err)
{
	char now[CLOCK_RFC3339_SIZE];
	int ignored;

	clock_rfc3339_now(now);
	if (tell_lost(db, fn, arg, err) < 0 ||
	    run(db,
		"UPDATE execution SET status = 'lost', ended_at = ?1, why = ?2"
		" WHERE status = 'pending'",
		now, why, &ret->executions, err) < 0 ||
	    run(db,
		"UPDATE run SET state = 'lost', ended_at = ?1, why = ?2"
		" WHERE state = 'pending'",
		now, why, &ret->runs, err) < 0 ||
	    run(db, "UPDATE process SET state = 3, ended_at = ?1, why = ?2 WHERE state = 1", now,
		why, &ret->processes, err) < 0 ||
	    run(db,
		"UPDATE session SET state = 'lost', ended_at = ?1, why = ?2 WHERE state = 'live'"
		" AND id NOT IN (SELECT session FROM kept)",
		now, LOST_WHY, &ret->lost, err) < 0 ||
	    /* Only a session that ran something has lost variables. */
	    run(db,
		"UPDATE kept SET kernel = 'lost', lost_why = ?2 WHERE kernel = 'ready'"
		" AND session IN (SELECT session FROM execution)",
		now, why, &ignored, err) < 0 ||
	    run(db,
		"UPDATE context SET kernel = 'lost', lost_why = ?2 WHERE kernel = 'ready'"
		" AND has_run = 1",
		now, why, &ignored, err) < 0 ||
	    run(db,
		"DELETE FROM context WHERE session NOT IN (SELECT id FROM session"
		" WHERE state = 'live')",
		now, why, &ignored, err) < 0 ||
	    run(db,
		"DELETE FROM file WHERE session NOT IN (SELECT id FROM session"
		" WHERE state = 'live')",
		now, why, &ignored, err) < 0 ||
	    run(db,
		"DELETE FROM kept WHERE session NOT IN (SELECT id FROM session"
		" WHERE state = 'live')",
		now, why, &ignored, err) < 0)
		return (int)err->code;
	return know_objects(db, err);
}

int db_recover(struct db *db, const char *why, db_lost_fn *fn, void *arg, struct db_recovered *ret,
	       struct err *err)
{
	if (db_begin(db, err) < 0)
		return (int)err->code;
	if (recover(db, why, fn, arg, ret, err) < 0) {
		db_rollback(db);
		return (int)err->code;
	}
	return db_commit(db, err);
}

int db_last_sequence(struct db *db, const char *session, uint64_t *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "SELECT max(sequence) FROM execution WHERE session = ?", &statement,
		       err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	*ret = (uint64_t)sqlite3_column_int64(statement, 0);
	return 0;
}

int db_recorded(struct db *db, const char *session, char ***ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char **ids, *text;
	size_t count = 0;
	int found;

	if (db_prepare(db, "SELECT id FROM execution WHERE session = ?"
			   " AND status NOT IN ('pending', 'lost')"
			   " ORDER BY sequence DESC LIMIT ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	(void)sqlite3_bind_int64(statement, 2, DB_RECORDED_MAX);
	/* One allocation: the pointers, then the ids that they point to. */
	ids = mem_new0(1, (DB_RECORDED_MAX + 1) * sizeof(*ids) + DB_RECORDED_MAX * ID_SIZE);
	text = (char *)(ids + DB_RECORDED_MAX + 1);
	while ((found = db_step(db, statement, err)) == 1 && count < DB_RECORDED_MAX) {
		ids[count] = text + count * ID_SIZE;
		db_column_text(statement, 0, ids[count++], ID_SIZE);
	}
	if (found < 0) {
		free(ids);
		return found;
	}
	*ret = ids;
	return 0;
}
