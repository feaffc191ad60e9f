/*
 * usage.c - which objects (artifacts and outputs, by their digits) tenants own, and their usage.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own tables.
 * Never:    tells which other tenant owns an object.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db/db.h"
#include "host/db/inner.h"

int db_object_add(struct db *db, const char *tenant, const char *digits, uint64_t size,
		  struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT OR IGNORE INTO object VALUES(?, ?, ?)", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, digits);
	(void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)size);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	return sqlite3_changes(db->sqlite) > 0 ? 1 : 0;
}

bool db_object_has(struct db *db, const char *tenant, const char *digits)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	struct err ignored;

	if (db_prepare(db, "SELECT 1 FROM object WHERE tenant = ? AND digits = ?", &statement,
		       &ignored) < 0)
		return false;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, digits);
	return db_step(db, statement, &ignored) == 1;
}

int db_usage_add(struct db *db, const char *tenant, const char *day,
		 const struct front_usage *usage, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	const uint64_t numbers[] = { usage->executions,	  usage->wall_ms,   usage->cpu_ms,
				     usage->memory_mib_s, usage->bytes_in,  usage->bytes_out,
				     usage->disk_bytes,	  usage->sessions };

	if (db_prepare(db, "INSERT INTO usage VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)"
			   " ON CONFLICT DO UPDATE SET executions = executions + ?3,"
			   " wall_ms = wall_ms + ?4, cpu_ms = cpu_ms + ?5,"
			   " memory_mib_s = memory_mib_s + ?6, bytes_in = bytes_in + ?7,"
			   " bytes_out = bytes_out + ?8, disk_bytes = max(disk_bytes, ?9),"
			   " sessions = sessions + ?10", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, day);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		(void)sqlite3_bind_int64(statement, (int)i + 3, (sqlite3_int64)numbers[i]);
	return db_step(db, statement, err);
}

static void read_usage(sqlite3_stmt *row, struct front_usage *ret)
{
	uint64_t *const numbers[] = { &ret->executions,	  &ret->wall_ms,   &ret->cpu_ms,
				      &ret->memory_mib_s, &ret->bytes_in,  &ret->bytes_out,
				      &ret->disk_bytes,	  &ret->sessions };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i] = (uint64_t)sqlite3_column_int64(row, (int)i + 2);
}

int db_usage_list(struct db *db, const char *tenant, const char *from, const char *to,
		  db_usage_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT tenant, day, executions, wall_ms, cpu_ms, memory_mib_s,"
			   " bytes_in, bytes_out, disk_bytes, sessions FROM usage"
			   " WHERE (?1 IS NULL OR tenant = ?1) AND day >= ?2 AND day <= ?3"
			   " ORDER BY day, tenant", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant);
	db_bind_text(statement, 2, from);
	db_bind_text(statement, 3, to);
	while ((found = db_step(db, statement, err)) == 1) {
		struct front_usage usage;
		char whose[ID_SIZE], day[16];

		db_column_text(statement, 0, whose, sizeof(whose));
		db_column_text(statement, 1, day, sizeof(day));
		read_usage(statement, &usage);
		if (fn(whose, day, &usage, arg, err) < 0)
			return (int)err->code;
	}
	return found;
}
