/*
 * rows.c - the rows of sessions and executions.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own tables.
 * Never:    builds a statement from text.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/db/db.h"
#include "host/db/inner.h"
#include "host/db/tables/persist.h"

#define RECORD_MAX ((size_t)512 * 1024 * 1024)
#define SESSION_COLUMNS                                                                        \
	"SELECT id, state, template, language, limits, metadata, idle_ms, created_at, ended_at," \
	" why, tenant, policy, tools, file_mounts, volumes FROM session"
#define EXECUTION_COLUMNS                                                             \
	"SELECT id, session, sequence, status, created_at, ended_at, why, request_hash," \
	" record FROM execution"
/* The same without the record, which can be long. */
#define EXECUTION_HEADS                                                               \
	"SELECT id, session, sequence, status, created_at, ended_at, why, request_hash," \
	" NULL FROM execution"

/* ---- sessions ------------------------------------------------------------------------------- */

void db_session_done(struct db_session *session)
{
	free(session->metadata);
	session->metadata = NULL;
	free(session->tools);
	session->tools = NULL;
	free(session->volumes);
	session->volumes = NULL;
}

int db_session_add(struct db *db, const struct db_session *session, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT INTO session(id, state, template, language, limits, metadata,"
			   " idle_ms, created_at, tenant, policy, tools, file_mounts, volumes)"
			   " VALUES(?,'live',?,?,?,?,?,?,?,?,?,?,?)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session->id);
	db_bind_text(statement, 2, session->template_name);
	db_bind_text(statement, 3, session->language);
	db_bind_bytes(statement, 4, &session->limits, sizeof(session->limits));
	db_bind_text(statement, 5, session->metadata);
	(void)sqlite3_bind_int64(statement, 6, (sqlite3_int64)session->idle_ms);
	db_bind_text(statement, 7, session->created_at);
	db_bind_text(statement, 8, session->tenant);
	(void)sqlite3_bind_int64(statement, 9, (sqlite3_int64)session->policy);
	db_bind_text(statement, 10, session->tools);
	db_bind_text(statement, 11, session->file_mounts[0] != '\0' ? session->file_mounts : NULL);
	db_bind_text(statement, 12, session->volumes);
	return db_step(db, statement, err);
}

int db_session_change(struct db *db, const struct db_session *session, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "UPDATE session SET metadata = ?, idle_ms = ?, limits = ?, policy = ?,"
			   " tools = ? WHERE id = ?",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session->metadata);
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)session->idle_ms);
	db_bind_bytes(statement, 3, &session->limits, sizeof(session->limits));
	(void)sqlite3_bind_int64(statement, 4, (sqlite3_int64)session->policy);
	db_bind_text(statement, 5, session->tools);
	db_bind_text(statement, 6, session->id);
	return db_step(db, statement, err);
}

int db_session_undo(struct db *db, const char *id, struct err *err)
{
	cleanup_statement sqlite3_stmt *name = NULL, *row = NULL;

	if (db_prepare(db, "DELETE FROM session_name WHERE session = ?", &name, err) < 0)
		return (int)err->code;
	db_bind_text(name, 1, id);
	if (db_step(db, name, err) < 0 ||
	    db_prepare(db, "DELETE FROM session WHERE id = ?", &row, err) < 0)
		return (int)err->code;
	db_bind_text(row, 1, id);
	return db_step(db, row, err);
}

int db_session_end(struct db *db, const char *id, const char *state, const char *why,
		   struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char now[CLOCK_RFC3339_SIZE];

	if (db_prepare(db, "UPDATE session SET state = ?, why = ?, ended_at = ?"
			   " WHERE id = ? AND state = 'live'", &statement, err) < 0)
		return (int)err->code;
	clock_rfc3339_now(now);
	db_bind_text(statement, 1, state);
	db_bind_text(statement, 2, why);
	db_bind_text(statement, 3, now);
	db_bind_text(statement, 4, id);
	return db_step(db, statement, err);
}

static void read_session(sqlite3_stmt *row, struct db_session *ret)
{
	const char *metadata = (const char *)sqlite3_column_text(row, 5);
	const char *tools = (const char *)sqlite3_column_text(row, 12);
	const char *volumes = (const char *)sqlite3_column_text(row, 14);

	memset(ret, 0, sizeof(*ret));
	db_column_text(row, 0, ret->id, sizeof(ret->id));
	db_column_text(row, 1, ret->state, sizeof(ret->state));
	db_column_text(row, 2, ret->template_name, sizeof(ret->template_name));
	db_column_text(row, 3, ret->language, sizeof(ret->language));
	if (sqlite3_column_bytes(row, 4) == (int)sizeof(ret->limits))
		memcpy(&ret->limits, sqlite3_column_blob(row, 4), sizeof(ret->limits));
	ret->metadata = metadata != NULL ? mem_strdup(metadata) : NULL;
	ret->tools = tools != NULL ? mem_strdup(tools) : NULL;
	ret->volumes = volumes != NULL ? mem_strdup(volumes) : NULL;
	ret->idle_ms = (uint64_t)sqlite3_column_int64(row, 6);
	db_column_text(row, 7, ret->created_at, sizeof(ret->created_at));
	db_column_text(row, 8, ret->ended_at, sizeof(ret->ended_at));
	db_column_text(row, 9, ret->why, sizeof(ret->why));
	db_column_text(row, 10, ret->tenant, sizeof(ret->tenant));
	ret->policy = (uint64_t)sqlite3_column_int64(row, 11);
	db_column_text(row, 13, ret->file_mounts, sizeof(ret->file_mounts));
}

int db_session_find(struct db *db, const char *tenant, const char *id, struct db_session *ret,
		    struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, SESSION_COLUMNS " WHERE id = ?1 AND (?2 IS NULL OR tenant = ?2)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	db_bind_text(statement, 2, tenant);
	found = db_step(db, statement, err);
	if (found == 1)
		read_session(statement, ret);
	return found;
}

static int each_session(struct db *db, sqlite3_stmt *statement, db_session_fn *fn, void *arg,
			struct err *err)
{
	int found;

	while ((found = db_step(db, statement, err)) == 1) {
		struct db_session session;
		int code;

		read_session(statement, &session);
		code = fn(&session, arg, err);
		db_session_done(&session);
		if (code < 0)
			return code;
	}
	return found;
}

int db_live_list(struct db *db, db_session_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, SESSION_COLUMNS " WHERE state = 'live' ORDER BY id", &statement, err) <
	    0)
		return (int)err->code;
	return each_session(db, statement, fn, arg, err);
}

int db_session_list(struct db *db, const char *tenant, const char *before, bool live_only,
		    unsigned limit, db_session_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	/* Ids begin with their time, so they sort by creation. */
	if (db_prepare(db, SESSION_COLUMNS " WHERE tenant = ?3 AND (?1 IS NULL OR id < ?1)"
				       " AND (?4 = 0 OR state = 'live') ORDER BY id DESC LIMIT ?2",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, before);
	(void)sqlite3_bind_int64(statement, 2, limit);
	db_bind_text(statement, 3, tenant);
	(void)sqlite3_bind_int(statement, 4, live_only);
	return each_session(db, statement, fn, arg, err);
}

/* ---- executions ----------------------------------------------------------------------------- */

void db_execution_done(struct db_execution *execution)
{
	buf_done(&execution->record);
}

static int bind_json(struct db *db, sqlite3_stmt *statement, int index, const char *json,
		     size_t len, struct err *err)
{
	/*
	 * Fails if the text cannot be bound: the column would be NULL, as if there were no record.
	 */
	if (json != NULL && sqlite3_bind_text64(statement, index, json, len, SQLITE_STATIC,
						SQLITE_UTF8) != SQLITE_OK)
		return db_failed(db, "keep a record", err);
	return 0;
}

/* Binds status, ended_at, why, record and receipt, from `index` on. */
static int bind_end(struct db *db, sqlite3_stmt *statement, int index, const struct db_end *end,
		    struct err *err)
{
	char now[CLOCK_RFC3339_SIZE];

	clock_rfc3339_now(now);
	db_bind_text(statement, index, end->status);
	db_bind_text(statement, index + 1, now);
	db_bind_text(statement, index + 2, end->why);
	if (bind_json(db, statement, index + 3, end->record, end->record_len, err) < 0)
		return (int)err->code;
	return bind_json(db, statement, index + 4, end->receipt, end->receipt_len, err);
}

int db_execution_add(struct db *db, const struct db_execution *execution, const char *idempotency,
		     const struct buf *code, const struct db_end *end, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT INTO execution(id, session, sequence, created_at, idempotency,"
			   " request_hash, code, status, ended_at, why, record, receipt,"
			   " asked_by, key_tenant) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, execution->id);
	db_bind_text(statement, 2, execution->session);
	(void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)execution->sequence);
	db_bind_text(statement, 4, execution->created_at);
	db_bind_text(statement, 5, idempotency);
	db_bind_bytes(statement, 6, execution->request_hash, sizeof(execution->request_hash));
	db_bind_bytes(statement, 7, code->data, code->len);
	db_bind_text(statement, 13, execution->requester);
	db_bind_text(statement, 14,
		     execution->key_tenant[0] != '\0' ? execution->key_tenant : NULL);
	if (end == NULL)
		db_bind_text(statement, 8, "pending");
	else if (bind_end(db, statement, 8, end, err) < 0)
		return (int)err->code;
	return db_step(db, statement, err);
}

int db_execution_finish(struct db *db, const char *id, const struct db_end *end, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "UPDATE execution SET status = ?, ended_at = ?, why = ?, record = ?,"
			   " receipt = ? WHERE id = ?", &statement, err) < 0 ||
	    bind_end(db, statement, 1, end, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 6, id);
	return db_step(db, statement, err);
}

static int read_execution(sqlite3_stmt *row, struct db_execution *ret, struct err *err)
{
	const char *record = (const char *)sqlite3_column_text(row, 8);

	memset(ret, 0, sizeof(*ret));
	db_column_text(row, 0, ret->id, sizeof(ret->id));
	db_column_text(row, 1, ret->session, sizeof(ret->session));
	ret->sequence = (uint64_t)sqlite3_column_int64(row, 2);
	db_column_text(row, 3, ret->status, sizeof(ret->status));
	db_column_text(row, 4, ret->created_at, sizeof(ret->created_at));
	db_column_text(row, 5, ret->ended_at, sizeof(ret->ended_at));
	db_column_text(row, 6, ret->why, sizeof(ret->why));
	if (sqlite3_column_bytes(row, 7) == (int)sizeof(ret->request_hash))
		memcpy(ret->request_hash, sqlite3_column_blob(row, 7), sizeof(ret->request_hash));
	ret->record = BUF_INIT(RECORD_MAX);
	if (record != NULL)
		return buf_add(&ret->record, record, (size_t)sqlite3_column_bytes(row, 8), err);
	return 0;
}

static int find_one(struct db *db, sqlite3_stmt *statement, struct db_execution *ret,
		    struct err *err)
{
	int found = db_step(db, statement, err);

	if (found == 1 && read_execution(statement, ret, err) < 0) {
		db_execution_done(ret);
		return (int)err->code;
	}
	return found;
}

int db_execution_find(struct db *db, const char *session, const char *id,
		      struct db_execution *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, EXECUTION_COLUMNS " WHERE id = ? AND session = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	db_bind_text(statement, 2, session);
	return find_one(db, statement, ret, err);
}

static int find_by_key(struct db *db, const char *sql, const char *whose, const char *idempotency,
		       struct db_execution *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, sql, &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, whose);
	db_bind_text(statement, 2, idempotency);
	return find_one(db, statement, ret, err);
}

int db_execution_by_key(struct db *db, const char *session, const char *idempotency,
			struct db_execution *ret, struct err *err)
{
	return find_by_key(db, EXECUTION_COLUMNS " WHERE session = ? AND idempotency = ?"
						 " AND key_tenant IS NULL",
			   session, idempotency, ret, err);
}

int db_execution_by_tenant_key(struct db *db, const char *tenant, const char *idempotency,
			       struct db_execution *ret, struct err *err)
{
	return find_by_key(db, EXECUTION_COLUMNS " WHERE key_tenant = ? AND idempotency = ?",
			   tenant, idempotency, ret, err);
}

int db_execution_unkey(struct db *db, const char *id, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "UPDATE execution SET idempotency = NULL WHERE id = ?", &statement,
		       err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	return db_step(db, statement, err);
}

int db_execution_list(struct db *db, const char *session, const char *before, unsigned limit,
		      db_execution_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, EXECUTION_HEADS " WHERE session = ?1 AND (?2 IS NULL OR sequence <"
					   " (SELECT sequence FROM execution WHERE id = ?2"
					   " AND session = ?1))"
					   " ORDER BY sequence DESC LIMIT ?3",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, before);
	(void)sqlite3_bind_int64(statement, 3, limit);
	while ((found = db_step(db, statement, err)) == 1) {
		struct db_execution execution;
		int code = read_execution(statement, &execution, err);

		if (code == 0)
			code = fn(&execution, arg, err);
		db_execution_done(&execution);
		if (code < 0)
			return code;
	}
	return found;
}
