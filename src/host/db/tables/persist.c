/*
 * persist.c - the rows that restore sessions, and when commits are synced.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own tables; records, for the ids of objects in them.
 *
 * The database runs with synchronous=NORMAL, so a commit writes without waiting. db_sync() then
 * syncs the log once for all earlier commits. With synchronous=FULL, SQLite would sync each of
 * them.
 */
#include "host/db/tables/persist.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/db/inner.h"

#define DIGITS 32u
#define ENV_MAX ((size_t)FRONT_ENV_MAX * FRONT_ENV_BYTES_MAX)

/* ---- transactions --------------------------------------------------------------------------- */

void db_rollback(struct db *db)
{
	struct err ignored; /* SQLite may have rolled back itself */

	if (sqlite3_get_autocommit(db->sqlite) == 0)
		(void)db_run(db, "ROLLBACK", &ignored);
}

void db_relax(struct db *db)
{
	db->is_relaxed = true;
}

uint64_t db_sync_count(const struct db *db)
{
	return db->sync_count;
}

int db_sync(struct db *db, struct err *err)
{
	sqlite3_file *log = NULL;

	if (db_is_synced(db))
		return 0;
	if (sqlite3_file_control(db->sqlite, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log) !=
		    SQLITE_OK ||
	    log == NULL || log->pMethods == NULL)
		return 0; /* no log yet: nothing was written */
	db->sync_count++;
	if (log->pMethods->xSync(log, SQLITE_SYNC_NORMAL) != SQLITE_OK)
		return err_set(err, ERR_SYSTEM, "database: the log could not be synced");
	db->synced_changes = sqlite3_total_changes64(db->sqlite);
	return 0;
}

bool db_is_synced(const struct db *db)
{
	return db->is_relaxed || sqlite3_total_changes64(db->sqlite) == db->synced_changes;
}

int db_sync_fd(struct db *db)
{
	const char *path;

	/*
	 * SQLite has no lock on this file that a close would release, and the file is not replaced.
	 */
	if (db->log_fd < 0) {
		path = sqlite3_db_filename(db->sqlite, "main");
		db->log_fd = open(sqlite3_filename_wal(path), O_RDONLY | O_CLOEXEC);
	}
	if (db->log_fd < 0)
		return -1;
	db->sync_count++;
	db->synced_changes = sqlite3_total_changes64(db->sqlite);
	return db->log_fd;
}

void db_sync_failed(struct db *db)
{
	db->synced_changes = -1;
}

/* ---- state of live sessions ----------------------------------------------------------------- */

void db_persisted_init(struct db_persisted *persisted)
{
	memset(persisted, 0, sizeof(*persisted));
	persisted->env = BUF_INIT(ENV_MAX);
	(void)snprintf(persisted->kernel, sizeof(persisted->kernel), "ready");
}

void db_persisted_done(struct db_persisted *persisted)
{
	buf_done(&persisted->env);
	free(persisted->variables);
	persisted->variables = NULL;
}

static const char *or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

int db_persisted_put(struct db *db, const char *session, const struct db_persisted *persisted,
		     struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT OR REPLACE INTO kept VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_bytes(statement, 2, persisted->env.data, persisted->env.len);
	(void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)persisted->used_ms);
	(void)sqlite3_bind_int64(statement, 4, (sqlite3_int64)persisted->used_boot_ms);
	db_bind_text(statement, 5, persisted->boot);
	(void)sqlite3_bind_int64(statement, 6, (sqlite3_int64)persisted->expires_ms);
	db_bind_text(statement, 7, persisted->kernel);
	db_bind_text(statement, 8, or_null(persisted->lost_why));
	db_bind_text(statement, 9, persisted->variables);
	db_bind_text(statement, 10, or_null(persisted->restored_at));
	(void)sqlite3_bind_int64(statement, 11, (sqlite3_int64)persisted->unsaved_count);
	db_bind_text(statement, 12, or_null(persisted->unsaved_why));
	db_bind_text(statement, 13, or_null(persisted->grant));
	(void)sqlite3_bind_int64(statement, 14, (sqlite3_int64)persisted->paused_ms);
	(void)sqlite3_bind_int64(statement, 15, persisted->pauses);
	return db_step(db, statement, err);
}

int db_persisted_use(struct db *db, const char *session, const struct db_persisted *persisted,
		     struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "UPDATE kept SET used_ms = ?, used_boot_ms = ?, boot = ?"
			   " WHERE session = ?", &statement, err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)persisted->used_ms);
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)persisted->used_boot_ms);
	db_bind_text(statement, 3, persisted->boot);
	db_bind_text(statement, 4, session);
	return db_step(db, statement, err);
}

static int read_persisted(sqlite3_stmt *row, struct db_persisted *ret, struct err *err)
{
	const char *variables = (const char *)sqlite3_column_text(row, 7);

	db_persisted_init(ret);
	ret->used_ms = (uint64_t)sqlite3_column_int64(row, 1);
	ret->used_boot_ms = (uint64_t)sqlite3_column_int64(row, 2);
	db_column_text(row, 3, ret->boot, sizeof(ret->boot));
	ret->expires_ms = (uint64_t)sqlite3_column_int64(row, 4);
	db_column_text(row, 5, ret->kernel, sizeof(ret->kernel));
	db_column_text(row, 6, ret->lost_why, sizeof(ret->lost_why));
	ret->variables = variables != NULL ? mem_strdup(variables) : NULL;
	db_column_text(row, 8, ret->restored_at, sizeof(ret->restored_at));
	ret->unsaved_count = (uint64_t)sqlite3_column_int64(row, 9);
	db_column_text(row, 10, ret->unsaved_why, sizeof(ret->unsaved_why));
	db_column_text(row, 11, ret->grant, sizeof(ret->grant));
	ret->paused_ms = (uint64_t)sqlite3_column_int64(row, 12);
	ret->pauses = (uint32_t)sqlite3_column_int64(row, 13);
	if (sqlite3_column_bytes(row, 0) > 0 &&
	    buf_add(&ret->env, sqlite3_column_blob(row, 0), (size_t)sqlite3_column_bytes(row, 0),
		    err) < 0) {
		db_persisted_done(ret);
		return (int)err->code;
	}
	return 1;
}

int db_persisted_find(struct db *db, const char *session, struct db_persisted *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT env, used_ms, used_boot_ms, boot, expires_ms, kernel, lost_why,"
			   " variables, restored_at, not_kept, not_kept_why, host_grant, paused_ms,"
			   " pauses FROM kept"
			   " WHERE session = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	found = db_step(db, statement, err);
	return found == 1 ? read_persisted(statement, ret, err) : found;
}

static int run_with(struct db *db, const char *sql, const char *text, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, sql, &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, text);
	return db_step(db, statement, err);
}

int db_persisted_drop(struct db *db, const char *session, struct err *err)
{
	if (run_with(db, "DELETE FROM file WHERE session = ?", session, err) < 0 ||
	    run_with(db, "DELETE FROM context WHERE session = ?", session, err) < 0)
		return (int)err->code;
	return run_with(db, "DELETE FROM kept WHERE session = ?", session, err);
}

/* ---- files ---------------------------------------------------------------------------------- */

static int change_one(struct db *db, sqlite3_stmt *put, sqlite3_stmt *drop, const char *session,
		      const reckon_workspace_entry *entry, struct err *err)
{
	sqlite3_stmt *statement = entry->kind == RECKON_ENTRY_GONE ? drop : put;
	const char *content = entry->content != NULL ? entry->content : "";

	(void)sqlite3_reset(statement);
	db_bind_text(statement, 1, session);
	db_bind_bytes(statement, 2, entry->path, strlen(entry->path));
	if (statement == put) {
		(void)sqlite3_bind_int64(statement, 3, entry->kind);
		(void)sqlite3_bind_int64(statement, 4, entry->mode);
		(void)sqlite3_bind_int64(statement, 5, entry->mtime_ns);
		(void)sqlite3_bind_int64(statement, 6, (sqlite3_int64)entry->size);
		db_bind_bytes(statement, 7, content, strlen(content));
	}
	return db_step(db, statement, err);
}

int db_files_change(struct db *db, const char *session, const reckon_workspace *changes,
		    struct err *err)
{
	cleanup_statement sqlite3_stmt *put = NULL, *drop = NULL;

	if (changes->is_whole &&
	    run_with(db, "DELETE FROM file WHERE session = ?", session, err) < 0)
		return (int)err->code;
	if (changes->count == 0)
		return 0;
	if (db_prepare(db, "INSERT OR REPLACE INTO file VALUES(?,?,?,?,?,?,?)", &put, err) < 0 ||
	    db_prepare(db, "DELETE FROM file WHERE session = ? AND path = ?", &drop, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < changes->count; i++)
		if (change_one(db, put, drop, session, &changes->entries[i], err) < 0)
			return (int)err->code;
	return 0;
}

static char *column_bytes(sqlite3_stmt *row, int column)
{
	const int len = sqlite3_column_bytes(row, column);
	char *bytes = mem_new0((size_t)len + 1, 1);

	if (len > 0)
		memcpy(bytes, sqlite3_column_blob(row, column), (size_t)len);
	return bytes;
}

int db_files_load(struct db *db, const char *session, reckon_workspace **ret, struct err *err)
{
	return db_files_read(db,
			     "SELECT path, kind, mode, mtime_ns, size, content FROM file"
			     " WHERE session = ? ORDER BY path",
			     session, ret, err);
}

int db_files_read(struct db *db, const char *sql, const char *owner, reckon_workspace **ret,
		  struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	reckon_workspace *files;
	size_t capacity = 0;
	int found;

	if (db_prepare(db, sql, &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, owner);
	files = mem_new0(1, sizeof(*files));
	files->is_whole = 1;
	while ((found = db_step(db, statement, err)) == 1) {
		if (files->count == capacity) {
			capacity = capacity > 0 ? capacity * 2 : 64;
			files->entries = mem_grow(files->entries, capacity,
						  sizeof(*files->entries));
		}
		files->entries[files->count++] = (reckon_workspace_entry){
			.path = column_bytes(statement, 0),
			.kind = (unsigned)sqlite3_column_int(statement, 1),
			.mode = (unsigned)sqlite3_column_int64(statement, 2),
			.mtime_ns = sqlite3_column_int64(statement, 3),
			.size = (uint64_t)sqlite3_column_int64(statement, 4),
			.content = column_bytes(statement, 5),
		};
	}
	if (found < 0) {
		reckon_workspace_free(files);
		return found;
	}
	*ret = files;
	return 0;
}

/* ---- objects -------------------------------------------------------------------------------- */

static bool is_digits(const char *text, size_t len)
{
	return len >= DIGITS && strspn(text, "0123456789abcdef") >= DIGITS;
}

/*
 * The record is ours, but it contains output of programs. An id in that output only keeps its
 * object in the store a little longer.
 */
static int add_found(struct db *db, const char *execution, const char *record, size_t len,
		     const char *prefix, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	const char *at = record, *end = record + len;

	if (db_prepare(db, "INSERT OR IGNORE INTO named VALUES(?, ?)", &statement, err) < 0)
		return (int)err->code;
	while ((at = memmem(at, (size_t)(end - at), prefix, strlen(prefix))) != NULL) {
		at += strlen(prefix);
		if (!is_digits(at, (size_t)(end - at)))
			continue;
		(void)sqlite3_reset(statement);
		(void)sqlite3_bind_text(statement, 1, at, (int)DIGITS, SQLITE_TRANSIENT);
		db_bind_text(statement, 2, execution);
		if (db_step(db, statement, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int db_objects_add(struct db *db, const char *execution, const char *record, size_t len,
		   struct err *err)
{
	if (add_found(db, execution, record, len, "ar_", err) < 0)
		return (int)err->code;
	return add_found(db, execution, record, len, "out_", err);
}

int db_object_disown(struct db *db, const char *tenant, const char *digits, uint64_t *ret_size,
		     struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "DELETE FROM object WHERE tenant = ? AND digits = ? RETURNING size",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, digits);
	found = db_step(db, statement, err);
	if (found == 1)
		*ret_size = (uint64_t)sqlite3_column_int64(statement, 0);
	return found;
}

int db_tombstone_add(struct db *db, const char *tenant, const char *digits, struct err *err)
{
	cleanup_statement sqlite3_stmt *add = NULL, *drop = NULL;
	char now[CLOCK_RFC3339_SIZE];

	clock_rfc3339_now(now);
	if (db_prepare(db, "INSERT INTO tombstone(tenant, digits, removed_at) VALUES(?, ?, ?)",
		       &add, err) < 0)
		return (int)err->code;
	db_bind_text(add, 1, tenant);
	db_bind_text(add, 2, digits);
	db_bind_text(add, 3, now);
	if (db_step(db, add, err) < 0 ||
	    db_prepare(db, "DELETE FROM tombstone WHERE number <="
			   " (SELECT max(number) FROM tombstone) - ?", &drop, err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(drop, 1, DB_TOMBSTONES);
	return db_step(db, drop, err);
}

int db_tombstone_find(struct db *db, const char *tenant, const char *digits,
		      char removed_at[CLOCK_RFC3339_SIZE], struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT removed_at FROM tombstone WHERE tenant = ? AND digits = ?"
			   " ORDER BY number DESC LIMIT 1", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, digits);
	found = db_step(db, statement, err);
	if (found == 1)
		db_column_text(statement, 0, removed_at, CLOCK_RFC3339_SIZE);
	return found;
}

int db_open_other(const char *state_dir, bool is_private, struct db **ret, struct err *err)
{
	char path[4200];
	struct db *db;

	*ret = NULL;
	(void)snprintf(path, sizeof(path), "%s%s/reckond.db", state_dir,
		       is_private ? "/private" : "");
	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	db = mem_new0(1, sizeof(*db));
	if (sqlite3_open_v2(path, &db->sqlite, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK) {
		(void)db_failed(db, "open the other daemon's", err);
		db_close(db);
		return (int)err->code;
	}
	*ret = db;
	return 0;
}

bool db_object_is_needed(struct db *db, const char *sha256)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	struct err ignored;

	if (db_prepare(db, "SELECT 1 FROM file WHERE kind = 1 AND content = ?1 UNION ALL"
			   " SELECT 1 FROM snapshot_file WHERE kind = 1 AND content = ?1 UNION ALL"
			   " SELECT 1 FROM named WHERE digits = ?2 UNION ALL"
			   " SELECT 1 FROM version WHERE artifact = 'ar_' || ?2 UNION ALL"
			   " SELECT 1 FROM link WHERE artifact = 'ar_' || ?2 UNION ALL"
			   " SELECT 1 FROM document WHERE content = ?2 LIMIT 1", &statement,
		       &ignored) < 0)
		return true;
	db_bind_bytes(statement, 1, sha256, strlen(sha256));
	(void)sqlite3_bind_text(statement, 2, sha256, (int)DIGITS, SQLITE_STATIC);
	return db_step(db, statement, &ignored) != 0;
}

/* ---- notes ---------------------------------------------------------------------------------- */

int db_note(struct db *db, const char *name, const char *value, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT OR REPLACE INTO meta VALUES(?, ?)", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, name);
	db_bind_bytes(statement, 2, value, strlen(value));
	return db_step(db, statement, err);
}

void db_note_read(struct db *db, const char *name, char *ret, size_t size)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	struct err ignored;

	ret[0] = '\0';
	if (db_prepare(db, "SELECT value FROM meta WHERE name = ?", &statement, &ignored) < 0)
		return;
	db_bind_text(statement, 1, name);
	if (db_step(db, statement, &ignored) == 1)
		(void)snprintf(ret, size, "%.*s", sqlite3_column_bytes(statement, 0),
			       (const char *)sqlite3_column_blob(statement, 0));
}
