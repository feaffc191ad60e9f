/*
 * test_host_db.c - what the database preserves over a restart; migration of the first version.
 *
 * Runs in:  the unit suite.
 * Reads:    its own temporary directory.
 * Never:    writes what an old version would not have written.
 */
#include "unit.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/db/tables/persist.h"
#include "host/db/log.h"

#define SESSION "se_00000000000000000000000001"
#define EXECUTION "ex_00000000000000000000000001"
#define ENDED "ex_00000000000000000000000002"
#define DIGITS "0123456789abcdef0123456789abcdef"

static struct db *open_db(const struct unit_dir *fixture)
{
	struct db *db;
	struct err err;

	assert_ok(&err, db_open(fixture->dir_fd, fixture->path, &db, &err));
	return db;
}

/* The schema of the first version, with one session and two executions. */
static const char first_version[] =
	"PRAGMA journal_mode=WAL;"
	"CREATE TABLE meta(name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;"
	"CREATE TABLE key(hash BLOB PRIMARY KEY, created_at TEXT NOT NULL) STRICT;"
	"CREATE TABLE session(id TEXT PRIMARY KEY, state TEXT NOT NULL, template TEXT NOT NULL,"
	" language TEXT NOT NULL, limits BLOB NOT NULL, metadata TEXT, idle_ms INTEGER NOT NULL,"
	" created_at TEXT NOT NULL, ended_at TEXT, why TEXT) STRICT;"
	"CREATE TABLE execution(id TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES session(id),"
	" sequence INTEGER NOT NULL, status TEXT NOT NULL, created_at TEXT NOT NULL,"
	" ended_at TEXT, why TEXT, idempotency TEXT, request_hash BLOB NOT NULL,"
	" code BLOB NOT NULL, record TEXT) STRICT;"
	"CREATE INDEX execution_by_session ON execution(session, sequence);"
	"CREATE UNIQUE INDEX execution_by_key ON execution(session, idempotency)"
	" WHERE idempotency IS NOT NULL;"
	"PRAGMA user_version = 1;"
	"INSERT INTO session VALUES('" SESSION "','live','python','python',x'','{}',1000,"
	" '2026-01-01T00:00:00.000Z',NULL,NULL);"
	"INSERT INTO execution VALUES('" EXECUTION "','" SESSION "',1,'ok',"
	" '2026-01-01T00:00:00.000Z','2026-01-01T00:00:01.000Z',NULL,NULL,x'',x'',"
	" '{\"files\":[{\"path\":\"a\",\"size\":1,\"artifact\":\"ar_" DIGITS "\"}]}');"
	"INSERT INTO execution VALUES('ex_00000000000000000000000002','" SESSION "',2,'pending',"
	" '2026-01-01T00:00:02.000Z',NULL,NULL,NULL,x'',x'',NULL);";

static void make_first_version(const struct unit_dir *fixture)
{
	char path[100];
	sqlite3 *sqlite;

	(void)snprintf(path, sizeof(path), "%s/reckond.db", fixture->path);
	assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sqlite, first_version, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(sqlite), SQLITE_OK);
}

static void forget_history(const struct unit_dir *fixture)
{
	char path[100];
	sqlite3 *sqlite;

	(void)snprintf(path, sizeof(path), "%s/reckond.db", fixture->path);
	assert_int_equal(sqlite3_open(path, &sqlite), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sqlite, "DELETE FROM execution; DELETE FROM version", NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_close(sqlite), SQLITE_OK);
}

static int count_lost(const char *session, const char *tenant, const char *why, void *arg,
		      struct err *err)
{
	(void)err;
	assert_string_equal(session, SESSION);
	assert_string_equal(tenant, DB_TENANT_FIRST);
	assert_true(why[0] != '\0');
	++*(int *)arg;
	return 0;
}

UNIT_TEST_WITH(a_database_of_the_first_version_is_migrated, unit_dir_make, unit_dir_drop)
{
	const char sha256[] = DIGITS "fedcba9876543210fedcba9876543210";
	const char other[] = "f" DIGITS "fedcba9876543210fedcba987654321";
	struct db_recovered recovered = { 0 };
	int reported = 0;
	struct db_execution execution;
	struct db_session session;
	struct db *db;
	struct err err;

	make_first_version(*state);
	db = open_db(*state);
	assert_ok(&err, db_recover(db, "a test", count_lost, &reported, &recovered, &err));
	assert_int_equal(recovered.lost, 1);
	assert_int_equal(reported, 1);
	assert_int_equal(recovered.executions, 1);
	/* The first version stored no workspaces: a live session is lost, with the cause. */
	assert_int_equal(db_session_find(db, DB_TENANT_FIRST, SESSION, &session,
					     &err), 1);
	assert_string_equal(session.state, "lost");
	assert_non_null(strstr(session.why, "kept no workspaces"));
	db_session_done(&session);
	assert_int_equal(db_execution_find(db, SESSION, EXECUTION, &execution, &err), 1);
	assert_string_equal(execution.status, "ok");
	assert_non_null(strstr(buf_text(&execution.record), DIGITS));
	db_execution_done(&execution);
	/* An object that a record names is needed, so it is not collected. */
	assert_true(db_object_is_needed(db, sha256));
	assert_false(db_object_is_needed(db, other));
	db_close(db);
	forget_history(*state);
	db = open_db(*state);
	assert_false(db_object_is_needed(db, sha256));
	db_close(db);
}

static void add_live(struct db *db, const char *id, struct db_persisted *persisted)
{
	struct db_session session = { .idle_ms = 1000 };
	struct err err;

	(void)snprintf(session.id, sizeof(session.id), "%s", id);
	(void)snprintf(session.template_name, sizeof(session.template_name), "python");
	(void)snprintf(session.language, sizeof(session.language), "python");
	(void)snprintf(session.tenant, sizeof(session.tenant), "%s", DB_TENANT_FIRST);
	clock_rfc3339_now(session.created_at);
	db_persisted_init(persisted);
	assert_ok(&err, buf_add(&persisted->env, "A=b\0C=d\0", 8, &err));
	persisted->used_ms = 12345;
	persisted->expires_ms = 67890;
	persisted->variables = mem_strdup("[\"x\"]");
	assert_ok(&err, db_session_add(db, &session, &err));
	assert_ok(&err, db_persisted_put(db, id, persisted, &err));
}

UNIT_TEST_WITH(live_sessions_survive_a_restart, unit_dir_make, unit_dir_drop)
{
	struct db_execution execution = { .id = EXECUTION, .session = SESSION, .sequence = 1 };
	struct db_recovered recovered = { 0 };
	int reported = 0;
	struct db *db = open_db(*state);
	const struct buf code = { .data = (char[]){ "1" }, .len = 1, .cap = 2, .max = 2 };
	const struct db_end end = { .status = "ok", .record = "{}", .record_len = 2,
				    .receipt = "{}", .receipt_len = 2 };
	struct db_persisted persisted, found;
	struct err err;

	add_live(db, SESSION, &persisted);
	db_persisted_done(&persisted);
	clock_rfc3339_now(execution.created_at);
	assert_ok(&err, db_execution_add(db, &execution, "key", &code, NULL, &err));
	(void)snprintf(execution.id, sizeof(execution.id), "%s", ENDED);
	assert_ok(&err, db_execution_add(db, &execution, NULL, &code, &end, &err));
	db_close(db);
	db = open_db(*state);
	assert_ok(&err, db_recover(db, "a test", count_lost, &reported, &recovered, &err));
	assert_int_equal(recovered.lost, 0);
	assert_int_equal(reported, 0);
	assert_int_equal(recovered.executions, 1);
	assert_int_equal(db_persisted_find(db, SESSION, &found, &err), 1);
	assert_string_equal(found.kernel, "lost");
	assert_string_equal(found.lost_why, "a test");
	assert_string_equal(found.variables, "[\"x\"]");
	assert_int_equal(found.env.len, 8);
	assert_memory_equal(found.env.data, "A=b\0C=d\0", 8);
	assert_int_equal(found.used_ms, 12345);
	assert_int_equal(found.expires_ms, 67890);
	db_persisted_done(&found);
	assert_int_equal(db_execution_by_key(db, SESSION, "key", &execution, &err), 1);
	assert_string_equal(execution.status, "lost");
	db_execution_done(&execution);
	/* The execution that was added together with its end. */
	assert_int_equal(db_execution_find(db, SESSION, ENDED, &execution, &err), 1);
	assert_string_equal(execution.status, "ok");
	assert_string_equal(buf_text(&execution.record), "{}");
	assert_true(execution.ended_at[0] != '\0');
	db_execution_done(&execution);
	db_close(db);
}

UNIT_TEST_WITH(a_manifest_changes_in_part, unit_dir_make, unit_dir_drop)
{
	static const char sha256[] = DIGITS "fedcba9876543210fedcba9876543210";
	char a[] = "a", b[] = "\xff", content[sizeof(sha256)];
	reckon_workspace_entry entries[2] = {
		{ .path = a, .kind = RECKON_ENTRY_FILE, .mode = 0644, .mtime_ns = -5, .size = 3,
		  .content = content },
		{ .path = b, .kind = RECKON_ENTRY_DIRECTORY, .mode = 0755 },
	};
	reckon_workspace whole = { .entries = entries, .count = 2, .is_whole = 1 };
	reckon_workspace part = { .entries = entries, .count = 1 };
	struct db *db = open_db(*state);
	reckon_workspace *found;
	struct db_persisted persisted;
	struct err err;

	memcpy(content, sha256, sizeof(sha256));
	add_live(db, SESSION, &persisted);
	db_persisted_done(&persisted);
	assert_ok(&err, db_begin(db, &err));
	assert_ok(&err, db_files_change(db, SESSION, &whole, &err));
	assert_ok(&err, db_commit(db, &err));
	assert_ok(&err, db_sync(db, &err));
	assert_true(db_object_is_needed(db, sha256));
	assert_ok(&err, db_files_load(db, SESSION, &found, &err));
	assert_int_equal(found->count, 2);
	assert_string_equal(found->entries[0].path, "a");
	assert_string_equal(found->entries[0].content, sha256);
	assert_int_equal(found->entries[0].mtime_ns, -5);
	assert_string_equal(found->entries[1].path, "\xff");
	reckon_workspace_free(found);
	entries[0].kind = RECKON_ENTRY_GONE;
	assert_ok(&err, db_begin(db, &err));
	assert_ok(&err, db_files_change(db, SESSION, &part, &err));
	db_rollback(db);
	assert_true(db_object_is_needed(db, sha256));
	assert_ok(&err, db_files_change(db, SESSION, &part, &err));
	assert_false(db_object_is_needed(db, sha256));
	assert_ok(&err, db_persisted_drop(db, SESSION, &err));
	assert_ok(&err, db_files_load(db, SESSION, &found, &err));
	assert_int_equal(found->count, 0);
	reckon_workspace_free(found);
	db_close(db);
}

UNIT_TEST_WITH(only_a_change_makes_a_sync, unit_dir_make, unit_dir_drop)
{
	struct db *db = open_db(*state);
	struct err err;

	assert_ok(&err, db_note(db, "name", "value", &err));
	assert_ok(&err, db_sync(db, &err));
	assert_int_equal(db_sync_count(db), 1);
	assert_ok(&err, db_sync(db, &err));
	assert_int_equal(db_sync_count(db), 1);
	db_relax(db);
	assert_ok(&err, db_note(db, "name", "other", &err));
	assert_ok(&err, db_sync(db, &err));
	assert_int_equal(db_sync_count(db), 1);
	db_close(db);
}

static void copy_file(const struct unit_dir *fixture, const char *from, const char *to)
{
	cleanup_fd int in = openat(fixture->dir_fd, from, O_RDONLY | O_CLOEXEC);
	cleanup_fd int out = openat(fixture->dir_fd, to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char bytes[65536];
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(out, bytes, (size_t)n), n);
	assert_int_equal(n, 0);
}

static off_t size_of(const struct unit_dir *fixture, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(fixture->dir_fd, name, &st, 0), 0);
	return st.st_size;
}

/* Each commit changes about five pages, as a cell does. */
static void commit_often(struct db *db, unsigned count)
{
	struct db_session session = { .idle_ms = 1000 };
	static unsigned number;
	struct err err;

	(void)snprintf(session.tenant, sizeof(session.tenant), "%s", DB_TENANT_FIRST);
	clock_rfc3339_now(session.created_at);
	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(session.id, sizeof(session.id), "se_%026u", ++number);
		assert_ok(&err, db_session_add(db, &session, &err));
		assert_ok(&err, db_sync(db, &err));
	}
}

UNIT_TEST_WITH(a_thread_checkpoints_the_log, unit_dir_make, unit_dir_drop)
{
	const struct unit_dir *fixture = *state;
	struct db *db = open_db(fixture);
	const off_t before = size_of(fixture, "reckond.db");
	struct db_session session;
	struct err err;
	off_t full;

	db_relax(db);
	db_log_begin(db);
	/* Past the length at which a checkpoint is due, short of where the loop does it itself. */
	while (size_of(fixture, "reckond.db-wal") < 1200 * 4120)
		commit_often(db, 10);
	for (int i = 0; i < 500 && size_of(fixture, "reckond.db") == before; i++)
		(void)usleep(20000);
	assert_true(size_of(fixture, "reckond.db") > before);
	/* Without a pause the log grows until the loop itself does the checkpoint. */
	commit_often(db, 6000);
	full = size_of(fixture, "reckond.db-wal");
	assert_true(full < 17100 * 4120);
	commit_often(db, 2000);
	assert_true(size_of(fixture, "reckond.db-wal") < 17100 * 4120);
	db_close(db);
	db = open_db(fixture);
	assert_int_equal(db_session_find(db, DB_TENANT_FIRST, "se_00000000000000000000000001",
					 &session, &err), 1);
	db_session_done(&session);
	db_close(db);
}

UNIT_TEST_WITH(the_log_is_filled_in_advance, unit_dir_make, unit_dir_drop)
{
	const struct unit_dir *fixture = *state;
	struct db *db = open_db(fixture);
	struct db_session session;
	struct db_persisted persisted;
	struct err err;
	off_t full;

	db_log_begin(db);
	full = size_of(fixture, "reckond.db-wal");
	assert_true(full >= 1000 * 4120);
	add_live(db, SESSION, &persisted);
	db_persisted_done(&persisted);
	assert_ok(&err, db_sync(db, &err));
	assert_int_equal(size_of(fixture, "reckond.db-wal"), full);
	/* A copy of the state after a power cut: zeros behind the last commit are ignored. */
	copy_file(fixture, "reckond.db", "copy.db");
	copy_file(fixture, "reckond.db-wal", "copy.db-wal");
	db_close(db);
	assert_int_equal(renameat(fixture->dir_fd, "copy.db", fixture->dir_fd, "reckond.db"), 0);
	assert_int_equal(renameat(fixture->dir_fd, "copy.db-wal", fixture->dir_fd,
				  "reckond.db-wal"), 0);
	db = open_db(fixture);
	assert_int_equal(db_session_find(db, DB_TENANT_FIRST, SESSION, &session, &err), 1);
	db_session_done(&session);
	db_close(db);
}

UNIT_TEST_WITH(a_tombstone_is_found_only_by_its_tenant, unit_dir_make, unit_dir_drop)
{
	struct db *db = open_db(*state);
	char at[CLOCK_RFC3339_SIZE];
	struct err err;

	assert_int_equal(db_tombstone_find(db, DB_TENANT_FIRST, DIGITS, at, &err), 0);
	assert_ok(&err, db_tombstone_add(db, DB_TENANT_FIRST, DIGITS, &err));
	assert_int_equal(db_tombstone_find(db, DB_TENANT_FIRST, DIGITS, at, &err), 1);
	assert_true(at[0] == '2');
	/* Another tenant has no tombstone for it. */
	assert_int_equal(db_tombstone_find(db, "te_OTHER", DIGITS, at, &err), 0);
	db_close(db);
}

UNIT_TEST_WITH(an_idempotency_key_can_be_released, unit_dir_make, unit_dir_drop)
{
	struct db_execution execution = { .id = EXECUTION, .session = SESSION, .sequence = 1 };
	struct db *db = open_db(*state);
	cleanup_buf struct buf code = BUF_INIT(16);
	struct db_execution found;
	struct db_persisted persisted;
	struct err err;

	add_live(db, SESSION, &persisted);
	db_persisted_done(&persisted);
	clock_rfc3339_now(execution.created_at);
	assert_ok(&err, buf_adds(&code, "1", &err));
	assert_ok(&err, db_execution_add(db, &execution, "key", &code, NULL, &err));
	assert_int_equal(db_execution_by_key(db, SESSION, "key", &found, &err), 1);
	db_execution_done(&found);
	assert_ok(&err, db_execution_unkey(db, EXECUTION, &err));
	assert_int_equal(db_execution_by_key(db, SESSION, "key", &found, &err), 0);
	db_close(db);
}
