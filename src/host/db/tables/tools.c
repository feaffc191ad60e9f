/*
 * tools.c - reads the tools in a session's row.
 *
 * Runs in:  reckond's loop.
 * Reads:    JSON that executions/asking.c wrote, with SQLite's functions.
 */
#include "host/db/inner.h"

int db_tools_each(struct db *db, const char *tools, db_tool_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db,
		       "SELECT json_extract(value, '$.name'), json_extract(value, '$.description'),"
		       " json_extract(value, '$.parameters') FROM json_each(?1)",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tools);
	while ((found = db_step(db, statement, err)) == 1)
		fn((const char *)sqlite3_column_text(statement, 0),
		   (const char *)sqlite3_column_text(statement, 1),
		   (const char *)sqlite3_column_text(statement, 2), arg);
	return found;
}
