/*
 * context.c - the rows of contexts of live sessions, which restore them after a restart.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own table.
 * Never:    keeps a row longer than its session: whatever ends the session removes its rows.
 */
#include "host/db/tables/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/db/inner.h"

#define ENV_MAX ((size_t)FRONT_ENV_MAX * FRONT_ENV_BYTES_MAX)

void db_context_init(struct db_context *context)
{
	memset(context, 0, sizeof(*context));
	context->env = BUF_INIT(ENV_MAX);
	(void)snprintf(context->kernel, sizeof(context->kernel), "ready");
}

void db_context_done(struct db_context *context)
{
	buf_done(&context->env);
	free(context->variables);
	context->variables = NULL;
}

int db_context_put(struct db *db, const char *session, const struct db_context *context,
		   struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT OR REPLACE INTO context VALUES(?,?,?,?,?,?,?,?,?,?,?)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, context->id);
	db_bind_text(statement, 2, session);
	db_bind_text(statement, 3, context->language);
	db_bind_text(statement, 4, context->template_name);
	db_bind_text(statement, 5, context->cwd);
	db_bind_bytes(statement, 6, context->env.data, context->env.len);
	db_bind_text(statement, 7, context->created_at);
	db_bind_text(statement, 8, context->kernel);
	(void)sqlite3_bind_int(statement, 9, context->has_run);
	db_bind_text(statement, 10, context->lost_why[0] != '\0' ? context->lost_why : NULL);
	db_bind_text(statement, 11, context->variables);
	return db_step(db, statement, err);
}

int db_context_drop(struct db *db, const char *id, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "DELETE FROM context WHERE id = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, id);
	return db_step(db, statement, err);
}

static int take(sqlite3_stmt *row, struct db_context *ret, struct err *err)
{
	const char *variables = (const char *)sqlite3_column_text(row, 9);

	db_context_init(ret);
	db_column_text(row, 0, ret->id, sizeof(ret->id));
	db_column_text(row, 1, ret->language, sizeof(ret->language));
	db_column_text(row, 2, ret->template_name, sizeof(ret->template_name));
	db_column_text(row, 3, ret->cwd, sizeof(ret->cwd));
	db_column_text(row, 5, ret->created_at, sizeof(ret->created_at));
	db_column_text(row, 6, ret->kernel, sizeof(ret->kernel));
	ret->has_run = sqlite3_column_int(row, 7) != 0;
	db_column_text(row, 8, ret->lost_why, sizeof(ret->lost_why));
	ret->variables = variables != NULL ? mem_strdup(variables) : NULL;
	if (sqlite3_column_bytes(row, 4) == 0)
		return 0;
	return buf_add(&ret->env, sqlite3_column_blob(row, 4), (size_t)sqlite3_column_bytes(row, 4),
		       err);
}

int db_context_list(struct db *db, const char *session, db_context_fn *fn, void *arg,
		    struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT id, language, template, cwd, env, created_at, kernel, has_run,"
			   " lost_why, variables FROM context WHERE session = ? ORDER BY id",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, session);
	while ((found = db_step(db, statement, err)) == 1) {
		struct db_context context;

		if (take(statement, &context, err) < 0) {
			db_context_done(&context);
			return (int)err->code;
		}
		fn(&context, arg);
	}
	return found;
}
