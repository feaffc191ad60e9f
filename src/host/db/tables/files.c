/*
 * files.c - the rows of versions and receipts.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own tables; records that libreckon wrote.
 * Never:    builds a statement from text.
 */
#include "host/db/tables/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db/inner.h"

static int in_one(struct db *db, int code, struct err *err)
{
	struct err ignored;

	if (code == 0)
		return db_run(db, "RELEASE part", err);
	(void)db_run(db, "ROLLBACK TO part", &ignored);
	(void)db_run(db, "RELEASE part", &ignored);
	return code;
}

static int add_one(struct db *db, const char *session, const struct file_version *file,
		   struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char now[CLOCK_RFC3339_SIZE];

	if (db_prepare(db,
		       "INSERT INTO version(session, path, artifact, sha256, size, mime, source,"
		       " created_at) VALUES(?,?,?,?,?,?,?,?)",
		       &statement, err) < 0)
		return (int)err->code;
	clock_rfc3339_now(now);
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, file->path);
	db_bind_text(statement, 3, file->info.artifact);
	db_bind_text(statement, 4, file->info.sha256[0] != '\0' ? file->info.sha256 : NULL);
	(void)sqlite3_bind_int64(statement, 5, (sqlite3_int64)file->info.size);
	db_bind_text(statement, 6, file->info.mime[0] != '\0' ? file->info.mime : NULL);
	db_bind_text(statement, 7, file->source);
	db_bind_text(statement, 8, now);
	return db_step(db, statement, err);
}

/*
 * Whether the path's last version is this artifact. Then it was stored when it appeared, and needs
 * no second row when it is replaced.
 */
static int is_last(struct db *db, const char *session, const struct file_version *file,
		   struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char artifact[48];
	int found;

	if (db_prepare(db, "SELECT artifact FROM version WHERE session = ? AND path = ?"
			   " ORDER BY id DESC LIMIT 1", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, file->path);
	found = db_step(db, statement, err);
	if (found <= 0)
		return found;
	db_column_text(statement, 0, artifact, sizeof(artifact));
	return strcmp(artifact, file->info.artifact) == 0;
}

static int add_all(struct db *db, const char *session, const struct file_version *files,
		   size_t count, struct err *err)
{
	for (size_t i = 0; i < count; i++) {
		const int known = strcmp(files[i].source, "replaced") == 0
					  ? is_last(db, session, &files[i], err)
					  : 0;

		if (known < 0 || (known == 0 && add_one(db, session, &files[i], err) < 0))
			return (int)err->code;
	}
	return 0;
}

int db_version_add(struct db *db, const char *session, const struct file_version *files,
		   size_t count, struct err *err)
{
	if (count == 0)
		return 0;
	if (db_run(db, "SAVEPOINT part", err) < 0)
		return (int)err->code;
	return in_one(db, add_all(db, session, files, count, err), err);
}

static int add_listed(struct db *db, const char *session, const char *execution,
		      const char *files, size_t len, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char now[CLOCK_RFC3339_SIZE];

	if (db_prepare(db, "INSERT INTO version(session, path, artifact, sha256, size, mime,"
			   " source, execution, created_at)"
			   " SELECT ?1, value->>'path', value->>'artifact', value->>'sha256',"
			   " value->>'size', value->>'mime', 'execution', ?2, ?3"
			   " FROM json_each(?4) WHERE value->>'artifact' IS NOT NULL",
		       &statement, err) < 0)
		return (int)err->code;
	clock_rfc3339_now(now);
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, execution);
	db_bind_text(statement, 3, now);
	if (sqlite3_bind_text64(statement, 4, files, len, SQLITE_STATIC, SQLITE_UTF8) != SQLITE_OK)
		return db_failed(db, "read a record", err);
	return db_step(db, statement, err);
}

int db_version_add_listed(struct db *db, const char *session, const char *execution,
			  const char *files, size_t len, struct err *err)
{
	/* "[]": most cells change no file. */
	if (len <= 2)
		return 0;
	if (db_run(db, "SAVEPOINT part", err) < 0)
		return (int)err->code;
	return in_one(db, add_listed(db, session, execution, files, len, err), err);
}

int db_artifact_find(struct db *db, const char *session, const char *artifact, char *ret_path,
		     size_t size, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT path FROM version WHERE session = ? AND artifact = ?"
			   " ORDER BY id DESC LIMIT 1", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, artifact);
	found = db_step(db, statement, err);
	if (found == 1)
		db_column_text(statement, 0, ret_path, size);
	return found;
}

int db_artifact_forget(struct db *db, const char *session, const char *artifact, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "DELETE FROM version WHERE session = ? AND artifact = ?", &statement,
		       err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, artifact);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	return sqlite3_changes(db->sqlite) > 0;
}

int db_version_list(struct db *db, const char *session, const char *path, const char *before,
		    unsigned limit, db_version_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	/* Without a path, lists each artifact's newest row, which has its last path. */
	if (db_prepare(db, "SELECT id, path, artifact, sha256, size, mime, source, execution,"
			   " created_at FROM version v WHERE session = ?1"
			   " AND (?3 IS NULL OR id < CAST(?3 AS INTEGER))"
			   " AND CASE WHEN ?2 IS NOT NULL THEN path = ?2 ELSE NOT EXISTS"
			   " (SELECT 1 FROM version w WHERE w.session = ?1"
			   " AND w.artifact = v.artifact AND w.id > v.id) END"
			   " ORDER BY id DESC LIMIT ?4",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, path);
	db_bind_text(statement, 3, before);
	(void)sqlite3_bind_int64(statement, 4, limit);
	while ((found = db_step(db, statement, err)) == 1) {
		struct db_version row = { .size = (uint64_t)sqlite3_column_int64(statement, 4) };

		db_column_text(statement, 0, row.id, sizeof(row.id));
		db_column_text(statement, 1, row.path, sizeof(row.path));
		db_column_text(statement, 2, row.artifact, sizeof(row.artifact));
		db_column_text(statement, 3, row.sha256, sizeof(row.sha256));
		db_column_text(statement, 5, row.mime, sizeof(row.mime));
		db_column_text(statement, 6, row.source, sizeof(row.source));
		db_column_text(statement, 7, row.execution, sizeof(row.execution));
		db_column_text(statement, 8, row.created_at, sizeof(row.created_at));
		if (fn(&row, arg, err) < 0)
			return (int)err->code;
	}
	return found;
}

int db_receipt_list(struct db *db, const char *session, const char *before, unsigned limit,
		    db_receipt_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT id, status, ended_at, receipt FROM execution"
			   " WHERE session = ?1 AND receipt IS NOT NULL"
			   " AND (?2 IS NULL OR sequence < (SELECT sequence FROM execution"
			   " WHERE id = ?2 AND session = ?1)) ORDER BY sequence DESC LIMIT ?3",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, before);
	(void)sqlite3_bind_int64(statement, 3, limit);
	while ((found = db_step(db, statement, err)) == 1) {
		struct db_receipt row = { 0 };

		db_column_text(statement, 0, row.execution, sizeof(row.execution));
		db_column_text(statement, 1, row.status, sizeof(row.status));
		db_column_text(statement, 2, row.created_at, sizeof(row.created_at));
		row.receipt = (const char *)sqlite3_column_text(statement, 3);
		row.receipt_len = (size_t)sqlite3_column_bytes(statement, 3);
		if (row.receipt != NULL && fn(&row, arg, err) < 0)
			return (int)err->code;
	}
	return found;
}
