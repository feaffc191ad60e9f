/*
 * process.c - the rows of processes that were started in sessions.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own table.
 * Never:    stores environment variables: they may contain secrets.
 */
#include "host/db/tables/process.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db/inner.h"

#define COLUMNS                                                                                \
	"id, session, asked_by, tag, cwd, created_at, ended_at, why, pid, flags, rows, cols, " \
	"state,"                                                                               \
	" cause, exit_code, signal, last_event, argv, usage, files, idempotency, request_hash"

void db_process_init(struct db_process *process)
{
	memset(process, 0, sizeof(*process));
	process->argv = BUF_INIT(DB_PROCESS_TEXT_MAX);
	process->usage = BUF_INIT(DB_PROCESS_TEXT_MAX);
	process->files = BUF_INIT(DB_PROCESS_TEXT_MAX);
}

void db_process_done(struct db_process *process)
{
	buf_done(&process->argv);
	buf_done(&process->usage);
	buf_done(&process->files);
}

static const char *or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static void bind_json(sqlite3_stmt *statement, int index, const struct buf *json)
{
	if (json->len > 0)
		(void)sqlite3_bind_text64(statement, index, json->data, json->len, SQLITE_STATIC,
					  SQLITE_UTF8);
	else
		(void)sqlite3_bind_null(statement, index);
}

int db_process_put(struct db *db, const struct db_process *process, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	const sqlite3_int64 numbers[] = { process->pid,	 process->flags,     process->rows,
					  process->cols, process->state,     process->cause,
					  process->exit_code, process->signal,
					  (sqlite3_int64)process->last_event };
	int index = 1;

	if (db_prepare(db,
		       "INSERT OR REPLACE INTO process(" COLUMNS ")"
		       " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, index++, process->id);
	db_bind_text(statement, index++, process->session);
	db_bind_text(statement, index++, process->requester);
	db_bind_text(statement, index++, or_null(process->tag));
	db_bind_text(statement, index++, process->cwd);
	db_bind_text(statement, index++, process->created_at);
	db_bind_text(statement, index++, or_null(process->ended_at));
	db_bind_text(statement, index++, or_null(process->why));
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		(void)sqlite3_bind_int64(statement, index++, numbers[i]);
	bind_json(statement, index++, &process->argv);
	bind_json(statement, index++, &process->usage);
	bind_json(statement, index++, &process->files);
	db_bind_text(statement, index, or_null(process->key));
	if (process->key[0] != '\0')
		db_bind_bytes(statement, index + 1, process->request_hash,
			      sizeof(process->request_hash));
	return db_step(db, statement, err);
}

static int take_json(sqlite3_stmt *row, int column, struct buf *ret, struct err *err)
{
	const unsigned char *text = sqlite3_column_text(row, column);

	return text != NULL ? buf_add(ret, text, (size_t)sqlite3_column_bytes(row, column), err)
			    : 0;
}

static int take(sqlite3_stmt *row, struct db_process *ret, struct err *err)
{
	int at = 0;

	db_column_text(row, at++, ret->id, sizeof(ret->id));
	db_column_text(row, at++, ret->session, sizeof(ret->session));
	db_column_text(row, at++, ret->requester, sizeof(ret->requester));
	db_column_text(row, at++, ret->tag, sizeof(ret->tag));
	db_column_text(row, at++, ret->cwd, sizeof(ret->cwd));
	db_column_text(row, at++, ret->created_at, sizeof(ret->created_at));
	db_column_text(row, at++, ret->ended_at, sizeof(ret->ended_at));
	db_column_text(row, at++, ret->why, sizeof(ret->why));
	ret->pid = sqlite3_column_int(row, at++);
	ret->flags = (unsigned)sqlite3_column_int(row, at++);
	ret->rows = (unsigned)sqlite3_column_int(row, at++);
	ret->cols = (unsigned)sqlite3_column_int(row, at++);
	ret->state = (unsigned)sqlite3_column_int(row, at++);
	ret->cause = (unsigned)sqlite3_column_int(row, at++);
	ret->exit_code = sqlite3_column_int(row, at++);
	ret->signal = sqlite3_column_int(row, at++);
	ret->last_event = (uint64_t)sqlite3_column_int64(row, at++);
	if (take_json(row, at++, &ret->argv, err) < 0 ||
	    take_json(row, at++, &ret->usage, err) < 0 ||
	    take_json(row, at++, &ret->files, err) < 0)
		return (int)err->code;
	db_column_text(row, at++, ret->key, sizeof(ret->key));
	if (sqlite3_column_bytes(row, at) == (int)sizeof(ret->request_hash))
		memcpy(ret->request_hash, sqlite3_column_blob(row, at), sizeof(ret->request_hash));
	return 1;
}

static int find(struct db *db, const char *sql, const char *name, const char *session,
		struct db_process *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, sql, &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, name);
	db_bind_text(statement, 2, session);
	found = db_step(db, statement, err);
	if (found != 1)
		return found;
	db_process_init(ret);
	found = take(statement, ret, err);
	if (found < 0)
		db_process_done(ret);
	return found;
}

int db_process_find(struct db *db, const char *session, const char *id, struct db_process *ret,
		    struct err *err)
{
	return find(db, "SELECT " COLUMNS " FROM process WHERE id = ? AND session = ?", id, session,
		    ret, err);
}

int db_process_by_key(struct db *db, const char *session, const char *key, struct db_process *ret,
		      struct err *err)
{
	return find(db, "SELECT " COLUMNS " FROM process WHERE idempotency = ? AND session = ?",
		    key, session, ret, err);
}

int db_process_remove(struct db *db, const char *id, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "DELETE FROM process WHERE id = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	return db_step(db, statement, err);
}

int db_process_list(struct db *db, const struct db_process_query *query, db_process_fn *fn,
		    void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT " COLUMNS " FROM process WHERE session = ?1"
			   " AND (?2 IS NULL OR id < ?2) AND (?3 IS NULL OR tag = ?3)"
			   " AND (?4 = 0 OR pid = ?4) AND (?5 = 0 OR state = ?5)"
			   " AND (state <> 1 OR pid > 0)" /* leaves out those that are starting */
			   " ORDER BY id DESC LIMIT ?6", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, query->session);
	db_bind_text(statement, 2, query->before);
	db_bind_text(statement, 3, query->tag);
	(void)sqlite3_bind_int(statement, 4, query->pid);
	(void)sqlite3_bind_int(statement, 5, (int)query->state);
	(void)sqlite3_bind_int(statement, 6, (int)query->limit);
	while ((found = db_step(db, statement, err)) == 1) {
		struct db_process process;
		int code;

		db_process_init(&process);
		code = take(statement, &process, err);
		if (code > 0)
			code = fn(&process, arg, err);
		db_process_done(&process);
		if (code < 0)
			return code;
	}
	return found;
}
