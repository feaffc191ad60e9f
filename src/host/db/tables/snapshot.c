/*
 * snapshot.c - the rows of snapshots and of their files.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own tables, manifests of sessions.
 * Never:    names a column `session`: a snapshot outlives its session (db/retain.c).
 */
#include "host/db/tables/snapshot.h"

#include <string.h>

#include "base/cleanup.h"
#include "host/db/inner.h"
#include "host/db/tables/persist.h"

#define COLUMNS                                                                                 \
	"SELECT id, tenant, of_session, name, template, language, limits, policy, created_at,"    \
	" files, bytes, size, not_kept, not_kept_why, env FROM snapshot"
/* The digits of the object that holds a file's content. */
#define DIGITS "substr(CAST(content AS TEXT), 1, 32)"

void db_snapshot_init(struct db_snapshot *snapshot)
{
	memset(snapshot, 0, sizeof(*snapshot));
	snapshot->env = BUF_INIT((size_t)FRONT_ENV_MAX * FRONT_ENV_BYTES_MAX);
}

void db_snapshot_done(struct db_snapshot *snapshot)
{
	buf_done(&snapshot->env);
}

/* ---- one ------------------------------------------------------------------------------------ */

static int number_of(struct db *db, const char *sql, const char *one, const char *two,
		     uint64_t *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, sql, &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, one);
	if (sqlite3_bind_parameter_count(statement) > 1)
		db_bind_text(statement, 2, two);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	*ret = (uint64_t)sqlite3_column_int64(statement, 0);
	return 0;
}

static int run_with(struct db *db, const char *sql, const char *one, const char *two,
		    struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, sql, &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, one);
	if (sqlite3_bind_parameter_count(statement) > 1)
		db_bind_text(statement, 2, two);
	return db_step(db, statement, err);
}

static int rows_of(struct db *db, const char *session, uint64_t *ret, struct err *err)
{
	if (number_of(db,
		      "SELECT coalesce(sum(length(path) + length(content) + 64), 0) FROM file"
		      " WHERE session = ?",
		      session, NULL, ret, err) < 0)
		return (int)err->code;
	_Static_assert(DB_SNAPSHOT_FILE == 64, "as that statement has it");
	*ret += DB_SNAPSHOT_ROW;
	return 0;
}

int db_snapshot_weigh(struct db *db, const char *tenant, const char *session, uint64_t *ret,
		      struct err *err)
{
	uint64_t rows, fresh;

	if (rows_of(db, session, &rows, err) < 0 ||
	    number_of(db,
		      "SELECT coalesce(sum(s), 0) FROM (SELECT max(size) AS s FROM file"
		      " WHERE session = ?1 AND kind = 1 AND NOT EXISTS (SELECT 1 FROM object"
		      " WHERE tenant = ?2 AND digits = " DIGITS ") GROUP BY content)",
		      session, tenant, &fresh, err) < 0)
		return (int)err->code;
	*ret = rows + fresh;
	return 0;
}

/*
 * Makes the tenant an owner of the contents. Each content counts once, however many files have it.
 */
static int own_files(struct db *db, const struct db_snapshot *snapshot, uint64_t *ret,
		     struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	*ret = 0;
	if (db_prepare(db,
		       "INSERT OR IGNORE INTO object SELECT ?2, " DIGITS ", max(size)"
		       " FROM snapshot_file WHERE snapshot = ?1 AND kind = 1 GROUP BY content"
		       " RETURNING size",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, snapshot->id);
	db_bind_text(statement, 2, snapshot->tenant);
	while ((found = db_step(db, statement, err)) == 1)
		*ret += (uint64_t)sqlite3_column_int64(statement, 0);
	return found;
}

static int add_row(struct db *db, const struct db_snapshot *snapshot, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT INTO snapshot VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, snapshot->id);
	db_bind_text(statement, 2, snapshot->tenant);
	db_bind_text(statement, 3, snapshot->session);
	db_bind_text(statement, 4, snapshot->name[0] != '\0' ? snapshot->name : NULL);
	db_bind_text(statement, 5, snapshot->template_name);
	db_bind_text(statement, 6, snapshot->language);
	db_bind_bytes(statement, 7, &snapshot->limits, sizeof(snapshot->limits));
	(void)sqlite3_bind_int64(statement, 8, (sqlite3_int64)snapshot->policy);
	db_bind_text(statement, 9, snapshot->created_at);
	(void)sqlite3_bind_int64(statement, 10, (sqlite3_int64)snapshot->files);
	(void)sqlite3_bind_int64(statement, 11, (sqlite3_int64)snapshot->bytes);
	(void)sqlite3_bind_int64(statement, 12, (sqlite3_int64)snapshot->size);
	(void)sqlite3_bind_int64(statement, 13, (sqlite3_int64)snapshot->unsaved_count);
	db_bind_text(statement, 14,
		     snapshot->unsaved_why[0] != '\0' ? snapshot->unsaved_why : NULL);
	db_bind_bytes(statement, 15, snapshot->env.data, snapshot->env.len);
	(void)sqlite3_bind_int(statement, 16, snapshot->is_held ? 1 : 0);
	return db_step(db, statement, err);
}

int db_snapshot_add(struct db *db, struct db_snapshot *snapshot, uint64_t *ret_new_bytes,
		    struct err *err)
{
	if (rows_of(db, snapshot->session, &snapshot->size, err) < 0 ||
	    number_of(db, "SELECT count(*) FROM file WHERE session = ? AND kind = 1",
		      snapshot->session, NULL, &snapshot->files, err) < 0 ||
	    number_of(db,
		      "SELECT coalesce(sum(size), 0) FROM file WHERE session = ? AND kind = 1",
		      snapshot->session, NULL, &snapshot->bytes, err) < 0)
		return (int)err->code;
	snapshot->size += snapshot->env.len;
	if (add_row(db, snapshot, err) < 0 ||
	    run_with(db,
		     "INSERT INTO snapshot_file SELECT ?1, path, kind, mode, mtime_ns, size,"
		     " content FROM file WHERE session = ?2",
		     snapshot->id, snapshot->session, err) < 0)
		return (int)err->code;
	return own_files(db, snapshot, ret_new_bytes, err);
}

static int read_row(sqlite3_stmt *row, struct db_snapshot *ret, struct err *err)
{
	db_column_text(row, 0, ret->id, sizeof(ret->id));
	db_column_text(row, 1, ret->tenant, sizeof(ret->tenant));
	db_column_text(row, 2, ret->session, sizeof(ret->session));
	db_column_text(row, 3, ret->name, sizeof(ret->name));
	db_column_text(row, 4, ret->template_name, sizeof(ret->template_name));
	db_column_text(row, 5, ret->language, sizeof(ret->language));
	if (sqlite3_column_bytes(row, 6) == (int)sizeof(ret->limits))
		memcpy(&ret->limits, sqlite3_column_blob(row, 6), sizeof(ret->limits));
	ret->policy = (uint64_t)sqlite3_column_int64(row, 7);
	db_column_text(row, 8, ret->created_at, sizeof(ret->created_at));
	ret->files = (uint64_t)sqlite3_column_int64(row, 9);
	ret->bytes = (uint64_t)sqlite3_column_int64(row, 10);
	ret->size = (uint64_t)sqlite3_column_int64(row, 11);
	ret->unsaved_count = (uint64_t)sqlite3_column_int64(row, 12);
	db_column_text(row, 13, ret->unsaved_why, sizeof(ret->unsaved_why));
	if (sqlite3_column_bytes(row, 14) == 0)
		return 0;
	return buf_add(&ret->env, sqlite3_column_blob(row, 14),
		       (size_t)sqlite3_column_bytes(row, 14), err);
}

int db_snapshot_find(struct db *db, const char *tenant, const char *id, struct db_snapshot *ret,
		     struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, COLUMNS " WHERE tenant = ? AND id = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, id);
	found = db_step(db, statement, err);
	if (found == 1 && read_row(statement, ret, err) < 0)
		return (int)err->code;
	return found;
}

int db_snapshot_count(struct db *db, const char *tenant, uint64_t *ret, struct err *err)
{
	return number_of(db, "SELECT count(*) FROM snapshot WHERE tenant = ?", tenant, NULL, ret,
			 err);
}

int db_snapshot_remove(struct db *db, const char *id, struct err *err)
{
	/* A trigger removes its files. */
	return run_with(db, "DELETE FROM snapshot WHERE id = ?", id, NULL, err);
}

int db_snapshot_drop(struct db *db, const char *tenant, struct err *err)
{
	return run_with(db, "DELETE FROM snapshot WHERE tenant = ?", tenant, NULL, err);
}

int db_snapshot_held(struct db *db, db_snapshot_held_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char id[ID_SIZE], tenant[ID_SIZE];
	int found;

	if (db_prepare(db, "SELECT id, tenant FROM snapshot WHERE held <> 0", &statement, err) < 0)
		return (int)err->code;
	while ((found = db_step(db, statement, err)) == 1) {
		db_column_text(statement, 0, id, sizeof(id));
		db_column_text(statement, 1, tenant, sizeof(tenant));
		fn(id, tenant, arg);
	}
	return found;
}

/* ---- files ---------------------------------------------------------------------------------- */

int db_snapshot_files(struct db *db, const char *id, reckon_workspace **ret, struct err *err)
{
	return db_files_read(db,
			     "SELECT path, kind, mode, mtime_ns, size, content FROM snapshot_file"
			     " WHERE snapshot = ? ORDER BY path",
			     id, ret, err);
}

int db_snapshot_give(struct db *db, const char *id, const char *session, struct err *err)
{
	uint64_t found;

	if (number_of(db, "SELECT count(*) FROM snapshot WHERE id = ?", id, NULL, &found, err) < 0)
		return (int)err->code;
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "the snapshot was removed meanwhile");
	return run_with(db,
			"INSERT INTO file SELECT ?2, path, kind, mode, mtime_ns, size, content"
			" FROM snapshot_file WHERE snapshot = ?1",
			id, session, err);
}

/* ---- lists ---------------------------------------------------------------------------------- */

int db_snapshot_list(struct db *db, const struct db_snapshot_list *list, db_snapshot_fn *fn,
		     void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db,
		       COLUMNS " WHERE tenant = ?1 AND (?2 IS NULL OR of_session = ?2)"
			       " AND (?3 IS NULL OR name = ?3) AND (?4 IS NULL OR id < ?4)"
			       " ORDER BY id DESC LIMIT ?5",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, list->tenant);
	db_bind_text(statement, 2, list->session);
	db_bind_text(statement, 3, list->name);
	db_bind_text(statement, 4, list->before);
	(void)sqlite3_bind_int64(statement, 5, list->limit);
	while ((found = db_step(db, statement, err)) == 1) {
		cleanup_snapshot struct db_snapshot row;

		db_snapshot_init(&row);
		if (read_row(statement, &row, err) < 0 || fn(&row, arg, err) < 0)
			return (int)err->code;
	}
	return found;
}
