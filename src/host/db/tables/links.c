/*
 * links.c - the rows of links.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own tables.
 * Never:    builds a statement from text.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db/tables/files.h"
#include "host/db/inner.h"

#define COLUMNS                                                                       \
	"SELECT id, session, path, artifact, name, created_at, expires, max_downloads," \
	" downloads, tenant FROM link"

int db_link_add(struct db *db, const struct db_link *link, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT INTO link VALUES(?,?,?,?,?,?,?,?,0,?)", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, link->id);
	db_bind_text(statement, 2, link->session);
	db_bind_text(statement, 3, link->path[0] != '\0' ? link->path : NULL);
	db_bind_text(statement, 4, link->artifact[0] != '\0' ? link->artifact : NULL);
	db_bind_text(statement, 5, link->name);
	db_bind_text(statement, 6, link->created_at);
	(void)sqlite3_bind_int64(statement, 7, (sqlite3_int64)link->expires);
	(void)sqlite3_bind_int64(statement, 8, (sqlite3_int64)link->max_downloads);
	db_bind_text(statement, 9, link->tenant);
	return db_step(db, statement, err);
}

int db_link_remove(struct db *db, const char *session, const char *id, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "DELETE FROM link WHERE id = ? AND session = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	db_bind_text(statement, 2, session);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	return sqlite3_changes(db->sqlite) > 0;
}

static void read_link(sqlite3_stmt *row, struct db_link *ret)
{
	memset(ret, 0, sizeof(*ret));
	db_column_text(row, 0, ret->id, sizeof(ret->id));
	db_column_text(row, 1, ret->session, sizeof(ret->session));
	db_column_text(row, 2, ret->path, sizeof(ret->path));
	db_column_text(row, 3, ret->artifact, sizeof(ret->artifact));
	db_column_text(row, 4, ret->name, sizeof(ret->name));
	db_column_text(row, 5, ret->created_at, sizeof(ret->created_at));
	ret->expires = (uint64_t)sqlite3_column_int64(row, 6);
	ret->max_downloads = (uint64_t)sqlite3_column_int64(row, 7);
	ret->downloads = (uint64_t)sqlite3_column_int64(row, 8);
	db_column_text(row, 9, ret->tenant, sizeof(ret->tenant));
}

int db_link_find(struct db *db, const char *id, struct db_link *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, COLUMNS " WHERE id = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	found = db_step(db, statement, err);
	if (found == 1)
		read_link(statement, ret);
	return found;
}

int db_link_use(struct db *db, const char *id, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "UPDATE link SET downloads = downloads + 1 WHERE id = ?"
			   " AND (max_downloads = 0 OR downloads < max_downloads)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	return sqlite3_changes(db->sqlite) > 0;
}

int db_link_list(struct db *db, const char *session, const char *before, unsigned limit,
		 db_link_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	struct db_link row;
	int found;

	if (db_prepare(db, COLUMNS " WHERE session = ?1 AND (?2 IS NULL OR id < ?2)"
				   " ORDER BY id DESC LIMIT ?3",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, before);
	(void)sqlite3_bind_int64(statement, 3, limit);
	while ((found = db_step(db, statement, err)) == 1) {
		read_link(statement, &row);
		if (fn(&row, arg, err) < 0)
			return (int)err->code;
	}
	return found;
}
