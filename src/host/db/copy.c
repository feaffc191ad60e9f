/*
 * copy.c - copies the database at one moment, while others write it; lists the contents it refers
 * to.
 *
 * Runs in:  a separate reckond, for `reckon backup` and `reckon restore`.
 * Reads:    STATE/reckond.db, or a copy of it.
 * Never:    writes the database that it copies, or blocks its writers.
 */
#include "host/db/copy.h"

#include <stdio.h>
#include <string.h>

#include "host/db/inner.h"

static int run_backup(struct db *db, sqlite3 *to, struct err *err)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", db->sqlite, "main");
	int code;

	if (backup == NULL)
		return err_set(err, ERR_SYSTEM, "copy the database: %s", sqlite3_errmsg(to));
	/* Copies everything in one read transaction, which in WAL mode does not block writers. */
	code = sqlite3_backup_step(backup, -1);
	(void)sqlite3_backup_finish(backup);
	if (code != SQLITE_DONE)
		return err_set(err, ERR_SYSTEM, "copy the database: %s", sqlite3_errstr(code));
	if (sqlite3_exec(to, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL) != SQLITE_OK)
		return err_set(err, ERR_SYSTEM, "copy the database: %s", sqlite3_errmsg(to));
	return 0;
}

int db_copy(struct db *db, const char *path, struct err *err)
{
	sqlite3 *to = NULL;
	int code;

	if (sqlite3_open_v2(path, &to, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
	    SQLITE_OK)
		code = err_set(err, ERR_SYSTEM, "make %.200s: %s", path, sqlite3_errmsg(to));
	else
		code = run_backup(db, to, err);
	(void)sqlite3_close(to);
	return code;
}

int db_check_whole(struct db *db, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char found[200];

	if (db_prepare(db, "PRAGMA integrity_check(1)", &statement, err) < 0)
		return (int)err->code;
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	db_column_text(statement, 0, found, sizeof(found));
	return strcmp(found, "ok") == 0
		       ? 0
		       : err_set(err, ERR_INVALID, "the database is damaged: %s", found);
}

int db_each_content(struct db *db, db_content_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char content[72];
	int code;

	if (db_prepare(db, "SELECT content FROM file WHERE kind = 1 UNION"
			   " SELECT content FROM snapshot_file WHERE kind = 1 UNION"
			   " SELECT CAST(content AS BLOB) FROM document WHERE length(content) = 64",
		       &statement, err) < 0)
		return (int)err->code;
	while ((code = db_step(db, statement, err)) == 1) {
		db_column_text(statement, 0, content, sizeof(content));
		if (fn(content, arg, err) < 0)
			return (int)err->code;
	}
	return code;
}
