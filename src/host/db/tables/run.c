/*
 * run.c - the rows of runs: a question to a model, and its answer.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own table.
 * Never:    trims or retires a run that has not ended.
 *
 * Artifacts that an answer names stay in the store because the records of its executions name them.
 */
#include "host/db/tables/run.h"

#include <string.h>

#include "base/cleanup.h"
#include "host/db/inner.h"
#include "wire/front.h"

#define ANSWER_MAX ((size_t)64 * 1024 * 1024)
#define COLUMNS                                                                          \
	"SELECT id, tenant, asked_by, session_id, model, state, request_hash, failure, why," \
	" question, answer FROM run"

void db_run_init(struct db_run *run)
{
	memset(run, 0, sizeof(*run));
	run->question = BUF_INIT(FRONT_QUESTION_MAX);
	run->answer = BUF_INIT(ANSWER_MAX);
	run->conversation = BUF_INIT(AGENT_CONVERSATION_MAX);
}

void db_run_done(struct db_run *run)
{
	buf_done(&run->question);
	buf_done(&run->answer);
	buf_done(&run->conversation);
}

int db_run_add(struct db *db, const struct db_run *run, const char *idempotency, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char now[CLOCK_RFC3339_SIZE];

	if (db_prepare(db, "INSERT INTO run(id, tenant, asked_by, session_id, model, state,"
			   " idempotency, request_hash, question, created_at)"
			   " VALUES(?,?,?,?,?,'pending',?,?,?,?)", &statement, err) < 0)
		return (int)err->code;
	clock_rfc3339_now(now);
	db_bind_text(statement, 1, run->id);
	db_bind_text(statement, 2, run->tenant);
	db_bind_text(statement, 3, run->requester);
	db_bind_text(statement, 4, run->session);
	db_bind_text(statement, 5, run->model);
	db_bind_text(statement, 6, idempotency);
	db_bind_bytes(statement, 7, run->request_hash, sizeof(run->request_hash));
	db_bind_bytes(statement, 8, run->question.data, run->question.len);
	db_bind_text(statement, 9, now);
	return db_step(db, statement, err);
}

int db_run_drop(struct db *db, const char *id, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "DELETE FROM run WHERE id = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	return db_step(db, statement, err);
}

int db_run_in(struct db *db, const char *id, const char *session, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "UPDATE run SET session_id = ? WHERE id = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	db_bind_text(statement, 2, id);
	return db_step(db, statement, err);
}

int db_run_end(struct db *db, const struct db_run *run, bool has_called_model, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char now[CLOCK_RFC3339_SIZE];

	if (db_prepare(db,
		       "UPDATE run SET state = ?1, failure = ?2, why = ?3, answer = ?4, size = ?5,"
		       " ended_at = ?6, question = NULL,"
		       " idempotency = iif(?7, idempotency, NULL), conversation = ?9, usage = ?10"
		       " WHERE id = ?8",
		       &statement, err) < 0)
		return (int)err->code;
	clock_rfc3339_now(now);
	db_bind_text(statement, 1, run->state);
	(void)sqlite3_bind_int64(statement, 2, run->failure);
	db_bind_text(statement, 3, run->why);
	if (run->answer.len > 0)
		db_bind_bytes(statement, 4, run->answer.data, run->answer.len);
	(void)sqlite3_bind_int64(statement, 5,
				 (sqlite3_int64)run->answer.len +
					 (sqlite3_int64)run->conversation.len);
	db_bind_text(statement, 6, now);
	(void)sqlite3_bind_int(statement, 7, has_called_model);
	db_bind_text(statement, 8, run->id);
	if (run->conversation.len > 0)
		db_bind_bytes(statement, 9, run->conversation.data, run->conversation.len);
	db_bind_bytes(statement, 10, &run->usage, sizeof(run->usage));
	return db_step(db, statement, err);
}

static int take_bytes(sqlite3_stmt *row, int column, struct buf *ret, struct err *err)
{
	const int len = sqlite3_column_bytes(row, column);

	return len > 0 ? buf_add(ret, sqlite3_column_blob(row, column), (size_t)len, err) : 0;
}

static int take(struct db *db, sqlite3_stmt *row, struct db_run *ret, struct err *err)
{
	const int found = db_step(db, row, err);

	if (found != 1)
		return found;
	db_run_init(ret);
	db_column_text(row, 0, ret->id, sizeof(ret->id));
	db_column_text(row, 1, ret->tenant, sizeof(ret->tenant));
	db_column_text(row, 2, ret->requester, sizeof(ret->requester));
	db_column_text(row, 3, ret->session, sizeof(ret->session));
	db_column_text(row, 4, ret->model, sizeof(ret->model));
	db_column_text(row, 5, ret->state, sizeof(ret->state));
	if (sqlite3_column_bytes(row, 6) == (int)sizeof(ret->request_hash))
		memcpy(ret->request_hash, sqlite3_column_blob(row, 6), sizeof(ret->request_hash));
	ret->failure = (uint32_t)sqlite3_column_int64(row, 7);
	db_column_text(row, 8, ret->why, sizeof(ret->why));
	if (take_bytes(row, 9, &ret->question, err) == 0 &&
	    take_bytes(row, 10, &ret->answer, err) == 0)
		return 1;
	db_run_done(ret);
	return (int)err->code;
}

int db_run_find(struct db *db, const char *tenant, const char *id, struct db_run *ret,
		struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, COLUMNS " WHERE id = ? AND tenant = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	db_bind_text(statement, 2, tenant);
	return take(db, statement, ret, err);
}

int db_run_by_key(struct db *db, const char *tenant, const char *idempotency, struct db_run *ret,
		  struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, COLUMNS " WHERE tenant = ? AND idempotency = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, idempotency);
	return take(db, statement, ret, err);
}

int db_run_conversation(struct db *db, const char *tenant, const char *id, struct db_run *ret,
			struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT state, session_id, model, conversation, usage FROM run"
			   " WHERE id = ? AND tenant = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	db_bind_text(statement, 2, tenant);
	found = db_step(db, statement, err);
	if (found != 1)
		return found;
	db_run_init(ret);
	db_column_text(statement, 0, ret->state, sizeof(ret->state));
	db_column_text(statement, 1, ret->session, sizeof(ret->session));
	db_column_text(statement, 2, ret->model, sizeof(ret->model));
	if (sqlite3_column_bytes(statement, 4) == (int)sizeof(ret->usage))
		memcpy(&ret->usage, sqlite3_column_blob(statement, 4), sizeof(ret->usage));
	if (take_bytes(statement, 3, &ret->conversation, err) == 0)
		return 1;
	db_run_done(ret);
	return (int)err->code;
}

int db_run_asker(struct db *db, const char *tenant, const char *id, char ret[ID_SIZE],
		 struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT asked_by FROM run WHERE id = ? AND tenant = ?", &statement,
		       err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	db_bind_text(statement, 2, tenant);
	found = db_step(db, statement, err);
	if (found == 1)
		db_column_text(statement, 0, ret, ID_SIZE);
	return found;
}

int db_run_trim(struct db *db, const char *tenant, uint64_t bytes_max, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	/* The index contains the sizes, so this reads no answers. */
	if (db_prepare(db, "UPDATE run SET state = 'dropped', answer = NULL,"
			   " conversation = NULL, size = 0"
			   " WHERE tenant = ?1 AND size > 0 AND id <= (SELECT id FROM (SELECT id,"
			   " sum(size) OVER (ORDER BY id DESC) AS bytes FROM run WHERE tenant = ?1"
			   " AND size > 0) WHERE bytes > ?2 ORDER BY id DESC LIMIT 1)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	(void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)bytes_max);
	return db_step(db, statement, err);
}

int db_run_retain(struct db *db, const char *before, unsigned limit, unsigned *ret,
		  struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "DELETE FROM run WHERE id IN (SELECT id FROM run WHERE id < ?1 AND"
			   " state <> 'pending' ORDER BY id LIMIT ?2)", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, before);
	(void)sqlite3_bind_int64(statement, 2, limit);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	*ret = (unsigned)sqlite3_changes(db->sqlite);
	return 0;
}
