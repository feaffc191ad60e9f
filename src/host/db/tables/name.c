/*
 * name.c - names of sessions; code and keys of executions.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own tables.
 * Never:    decides whether a name is free: ended sessions keep theirs, so several may share one.
 */
#include "base/cleanup.h"
#include "base/utf8.h"
#include "host/db/db.h"
#include "host/db/inner.h"

int db_name_add(struct db *db, const char *session, const char *name, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT INTO session_name VALUES(?, ?)", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, name);
	return db_step(db, statement, err);
}

void db_name_of(struct db *db, const char *session, char ret[ID_NAME_MAX + 1])
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	struct err ignored;

	ret[0] = '\0';
	if (db_prepare(db, "SELECT name FROM session_name WHERE session = ?", &statement,
		       &ignored) < 0)
		return;
	db_bind_text(statement, 1, session);
	if (db_step(db, statement, &ignored) == 1)
		db_column_text(statement, 0, ret, ID_NAME_MAX + 1);
}

int db_name_list(struct db *db, const char *tenant, const char *name, const char *before,
		 unsigned limit, db_session_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT session FROM session_name JOIN session ON session.id ="
			   " session_name.session WHERE name = ?1 AND tenant = ?4 AND"
			   " (?2 IS NULL OR session < ?2) ORDER BY session DESC LIMIT ?3",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, name);
	db_bind_text(statement, 2, before);
	(void)sqlite3_bind_int64(statement, 3, limit);
	db_bind_text(statement, 4, tenant);
	while ((found = db_step(db, statement, err)) == 1) {
		struct db_session session;
		char id[ID_SIZE];
		int code;

		db_column_text(statement, 0, id, sizeof(id));
		code = db_session_find(db, tenant, id, &session, err);
		if (code == 1) {
			code = fn(&session, arg, err);
			db_session_done(&session);
		}
		if (code < 0)
			return code;
	}
	return found;
}

int db_code_head(struct db *db, const char *execution, size_t max, struct buf *ret,
		 uint64_t *ret_len, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	const char *head;
	size_t len;
	int found;

	*ret_len = 0;
	if (db_prepare(db, "SELECT substr(code, 1, ?2), length(code) FROM execution WHERE id = ?1",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, execution);
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)max);
	found = db_step(db, statement, err);
	if (found <= 0)
		return found;
	head = sqlite3_column_blob(statement, 0);
	len = (size_t)sqlite3_column_bytes(statement, 0);
	*ret_len = (uint64_t)sqlite3_column_int64(statement, 1);
	return buf_add(ret, head, len - utf8_incomplete_tail(head, len), err);
}

int db_execution_asker(struct db *db, const char *session, const char *id, char ret[ID_SIZE],
		       struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	ret[0] = '\0';
	if (db_prepare(db, "SELECT asked_by FROM execution WHERE id = ? AND session = ?",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	db_bind_text(statement, 2, session);
	found = db_step(db, statement, err);
	if (found == 1)
		db_column_text(statement, 0, ret, ID_SIZE);
	return found;
}
