/*
 * db.c - the database: opens it, creates its tables and secrets.
 *
 * Runs in:  reckond's loop.
 * Reads:    STATE/reckond.db, which only our user can access.
 * Never:    uses a database of a newer version.
 */
#include "host/db/db.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/db/inner.h"
#include "host/db/log.h"

#define BUSY_STEP_MS 10
#define BUSY_STEPS 50
#define BUSY_AGAIN_NS (5ull * 1000000000u)

/* The statements of each database version; a version's number is its position, counted from 1. */
static const char *const versions[] = {
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
	" WHERE idempotency IS NOT NULL;",

	/* name.c */
	"CREATE TABLE session_name(session TEXT PRIMARY KEY REFERENCES session(id),"
	" name TEXT NOT NULL) STRICT;"
	"CREATE INDEX session_name_by_name ON session_name(name);",

	"CREATE TABLE total(name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;",

	/* Existing sessions go to one tenant, and existing keys keep all their rights. */
	"CREATE TABLE tenant(id TEXT PRIMARY KEY, name TEXT NOT NULL, state TEXT NOT NULL,"
	" created_at TEXT NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX tenant_by_name ON tenant(name) WHERE state <> 'deleted';"
	"INSERT INTO tenant VALUES('" DB_TENANT_FIRST "', 'default', 'active',"
	" strftime('%Y-%m-%dT%H:%M:%fZ'));"
	"CREATE TABLE quota(tenant TEXT NOT NULL REFERENCES tenant(id), name TEXT NOT NULL,"
	" value INTEGER NOT NULL, PRIMARY KEY(tenant, name)) STRICT;"
	"ALTER TABLE key RENAME TO old_key;"
	"CREATE TABLE key(id TEXT PRIMARY KEY, tenant TEXT NOT NULL REFERENCES tenant(id),"
	" name TEXT NOT NULL, hash BLOB NOT NULL UNIQUE, scopes INTEGER NOT NULL,"
	" created_at TEXT NOT NULL, expires_ms INTEGER NOT NULL,"
	" lifetime_ms INTEGER NOT NULL, used_at TEXT, revoked_at TEXT) STRICT;"
	"INSERT INTO key SELECT 'key_00' || hex(randomblob(12)),"
	" '" DB_TENANT_FIRST "', 'first', hash, 31, created_at, 0, 0, NULL, NULL FROM old_key;"
	"DROP TABLE old_key;"
	"ALTER TABLE session ADD COLUMN tenant TEXT NOT NULL DEFAULT '" DB_TENANT_FIRST "';"
	"CREATE INDEX session_by_tenant ON session(tenant, id);"
	"CREATE TABLE object(tenant TEXT NOT NULL, digits TEXT NOT NULL, size INTEGER NOT NULL,"
	" PRIMARY KEY(tenant, digits)) STRICT, WITHOUT ROWID;"
	"INSERT OR IGNORE INTO object SELECT '" DB_TENANT_FIRST "',"
	" substr(atom, instr(atom, '_') + 1), 0 FROM execution, json_tree(execution.record)"
	" WHERE json_valid(record) AND key IN ('artifact', 'handle') AND"
	" (atom GLOB 'ar_*' OR atom GLOB 'out_*');"
	"CREATE TABLE usage(tenant TEXT NOT NULL, day TEXT NOT NULL, executions INTEGER NOT NULL,"
	" wall_ms INTEGER NOT NULL, cpu_ms INTEGER NOT NULL, memory_mib_s INTEGER NOT NULL,"
	" bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, disk_bytes INTEGER NOT NULL,"
	" sessions INTEGER NOT NULL, PRIMARY KEY(tenant, day)) STRICT, WITHOUT ROWID;",
	/*
	 * Versions of files, costs of executions, links. Filled from the records of earlier
	 * versions.
	 */
	"CREATE TABLE version(id INTEGER PRIMARY KEY, session TEXT NOT NULL, path TEXT NOT NULL,"
	" artifact TEXT NOT NULL, sha256 TEXT, size INTEGER NOT NULL, mime TEXT,"
	" source TEXT NOT NULL, execution TEXT, created_at TEXT NOT NULL) STRICT;"
	"CREATE INDEX version_by_path ON version(session, path, id);"
	"CREATE INDEX version_by_artifact ON version(session, artifact);"
	"CREATE TABLE receipt(execution TEXT PRIMARY KEY, session TEXT NOT NULL,"
	" status TEXT NOT NULL, created_at TEXT NOT NULL, receipt TEXT NOT NULL) STRICT;"
	"CREATE INDEX receipt_by_session ON receipt(session, execution);"
	"CREATE TABLE link(id TEXT PRIMARY KEY, session TEXT NOT NULL, path TEXT, artifact TEXT,"
	" name TEXT NOT NULL, created_at TEXT NOT NULL, expires INTEGER NOT NULL,"
	" max_downloads INTEGER NOT NULL, downloads INTEGER NOT NULL,"
	" tenant TEXT NOT NULL) STRICT;"
	"CREATE INDEX link_by_session ON link(session, id);"
	"INSERT INTO version(session, path, artifact, sha256, size, mime, source, execution,"
	" created_at) SELECT e.session, f.value->>'path', f.value->>'artifact',"
	" f.value->>'sha256', f.value->>'size', f.value->>'mime', 'execution', e.id,"
	" coalesce(e.ended_at, e.created_at) FROM execution e, json_each(e.record, '$.files') f"
	" WHERE e.record IS NOT NULL AND f.value->>'artifact' IS NOT NULL;"
	"INSERT INTO receipt SELECT id, session, status, coalesce(ended_at, created_at),"
	" record->'$.receipt' FROM execution WHERE record->'$.receipt' IS NOT NULL;",

	/* audit/audit.c, operations/retain.c */
	"CREATE TABLE audit(sequence INTEGER PRIMARY KEY, at TEXT NOT NULL, actor TEXT NOT NULL,"
	" tenant TEXT NOT NULL, request TEXT NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL,"
	" outcome TEXT NOT NULL, detail TEXT NOT NULL, hash BLOB NOT NULL) STRICT;"
	"CREATE INDEX session_by_end ON session(ended_at) WHERE ended_at IS NOT NULL;"
	"CREATE INDEX version_by_execution ON version(execution) WHERE execution IS NOT NULL;",
	/* What restores a session, and what the store's garbage collection must not remove. */
	"CREATE TABLE kept(session TEXT PRIMARY KEY REFERENCES session(id), env BLOB NOT NULL,"
	" used_ms INTEGER NOT NULL, used_boot_ms INTEGER NOT NULL, boot TEXT NOT NULL,"
	" expires_ms INTEGER NOT NULL, kernel TEXT NOT NULL, lost_why TEXT, variables TEXT,"
	" restored_at TEXT, not_kept INTEGER NOT NULL, not_kept_why TEXT) STRICT;"
	"CREATE TABLE file(session TEXT NOT NULL REFERENCES session(id), path BLOB NOT NULL,"
	" kind INTEGER NOT NULL, mode INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,"
	" size INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY(session, path))"
	" STRICT, WITHOUT ROWID;"
	"CREATE INDEX file_by_content ON file(content) WHERE kind = 1;"
	"CREATE TABLE named(digits TEXT NOT NULL, execution TEXT NOT NULL,"
	" PRIMARY KEY(digits, execution)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX named_by_execution ON named(execution);"
	"CREATE INDEX version_by_content ON version(artifact);"
	"CREATE TRIGGER execution_gone AFTER DELETE ON execution"
	" BEGIN DELETE FROM named WHERE execution = OLD.id; END;",

	/* sessions/context.c */
	"CREATE TABLE context(id TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES session(id),"
	" language TEXT NOT NULL, template TEXT NOT NULL, cwd TEXT NOT NULL, env BLOB NOT NULL,"
	" created_at TEXT NOT NULL, kernel TEXT NOT NULL, has_run INTEGER NOT NULL,"
	" lost_why TEXT, variables TEXT) STRICT;"
	"CREATE INDEX context_by_session ON context(session, id);"
	/*
	 * restart/persist.c: objects that were removed; the oldest rows go when there are too many
	 */
	"CREATE TABLE tombstone(number INTEGER PRIMARY KEY, tenant TEXT NOT NULL,"
	" digits TEXT NOT NULL, removed_at TEXT NOT NULL) STRICT;"
	"CREATE INDEX tombstone_by_digits ON tombstone(tenant, digits);",

	/*
	 * The receipt moves into its execution's row: a separate table cost three pages for each
	 * cell.
	 */
	"ALTER TABLE execution ADD COLUMN receipt TEXT;"
	"UPDATE execution SET receipt ="
	" (SELECT receipt FROM receipt r WHERE r.execution = execution.id);"
	"DROP TABLE receipt;",

	"ALTER TABLE session ADD COLUMN policy INTEGER NOT NULL DEFAULT 0;",
	/* name.c: the key that started the execution; NULL for existing rows. */
	"ALTER TABLE execution ADD COLUMN asked_by TEXT;",
	/*
	 * run.c. The row outlives its session, so no column is named `session`
	 * (operations/retain.c).
	 */
	"CREATE TABLE run(id TEXT PRIMARY KEY, tenant TEXT NOT NULL, asked_by TEXT NOT NULL,"
	" session_id TEXT NOT NULL, model TEXT NOT NULL, state TEXT NOT NULL, idempotency TEXT,"
	" request_hash BLOB NOT NULL, created_at TEXT NOT NULL, ended_at TEXT,"
	" failure INTEGER NOT NULL DEFAULT 0, why TEXT, size INTEGER NOT NULL DEFAULT 0,"
	" question BLOB, answer BLOB) STRICT;"
	"CREATE INDEX run_by_tenant ON run(tenant, id, size);"
	"CREATE UNIQUE INDEX run_by_key ON run(tenant, idempotency)"
	" WHERE idempotency IS NOT NULL;",
	/* calls/once.c: Idempotency-Keys of code that ran without naming a session. */
	"ALTER TABLE execution ADD COLUMN key_tenant TEXT;"
	"DROP INDEX execution_by_key;"
	"CREATE UNIQUE INDEX execution_by_key ON execution(session, idempotency)"
	" WHERE idempotency IS NOT NULL AND key_tenant IS NULL;"
	"CREATE UNIQUE INDEX execution_by_tenant_key ON execution(key_tenant, idempotency)"
	" WHERE key_tenant IS NOT NULL;",

	/* processes/process.c */
	"CREATE TABLE process(id TEXT PRIMARY KEY, session TEXT NOT NULL REFERENCES session(id),"
	" asked_by TEXT NOT NULL, tag TEXT, cwd TEXT NOT NULL, created_at TEXT NOT NULL,"
	" ended_at TEXT, why TEXT, pid INTEGER NOT NULL, flags INTEGER NOT NULL,"
	" rows INTEGER NOT NULL, cols INTEGER NOT NULL, state INTEGER NOT NULL,"
	" cause INTEGER NOT NULL, exit_code INTEGER NOT NULL, signal INTEGER NOT NULL,"
	" last_event INTEGER NOT NULL, argv TEXT, usage TEXT, files TEXT) STRICT;"
	"CREATE INDEX process_by_session ON process(session, id);",

	/*
	 * document.c. The value is the last column, so that lists without it do not read its pages.
	 */
	"CREATE TABLE document(number INTEGER PRIMARY KEY AUTOINCREMENT, tenant TEXT NOT NULL,"
	" collection TEXT NOT NULL, id TEXT NOT NULL, etag TEXT NOT NULL, created_at TEXT NOT NULL,"
	" changed_at TEXT NOT NULL, expires_ms INTEGER NOT NULL, size INTEGER NOT NULL,"
	" metadata TEXT NOT NULL, content TEXT, value TEXT NOT NULL) STRICT;"
	"CREATE UNIQUE INDEX document_by_id ON document(tenant, collection, id);"
	"CREATE INDEX document_by_number ON document(tenant, collection, number);"
	"CREATE INDEX document_by_expiry ON document(expires_ms) WHERE expires_ms > 0;"
	"CREATE INDEX document_by_content ON document(content) WHERE content IS NOT NULL;"
	"CREATE INDEX document_by_size ON document(tenant, size);"
	"CREATE TABLE document_label(document INTEGER NOT NULL, tenant TEXT NOT NULL,"
	" collection TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
	" PRIMARY KEY(document, name)) STRICT, WITHOUT ROWID;"
	"CREATE INDEX document_by_label ON document_label(tenant, collection, name, value,"
	" document);"
	"CREATE TRIGGER document_gone AFTER DELETE ON document"
	" BEGIN DELETE FROM document_label WHERE document = OLD.number; END;",
	/*
	 * run.c: the conversation that a later run continues; usage of a run that waits for the
	 * application.
	 */
	("ALTER TABLE run ADD COLUMN conversation BLOB;"
	 "ALTER TABLE run ADD COLUMN usage BLOB;"),
	/* tools.c */
	"ALTER TABLE session ADD COLUMN tools TEXT;",
	/* processes/claim.c */
	"ALTER TABLE process ADD COLUMN idempotency TEXT;"
	"ALTER TABLE process ADD COLUMN request_hash BLOB;"
	"CREATE UNIQUE INDEX process_by_key ON process(session, idempotency)"
	" WHERE idempotency IS NOT NULL;",
	/* files/file_mounts.c */
	"ALTER TABLE session ADD COLUMN file_mounts TEXT;",
	/* sessions/folders.c */
	"ALTER TABLE kept ADD COLUMN host_grant TEXT;",
	/* sessions/pause.c */
	("ALTER TABLE kept ADD COLUMN paused_ms INTEGER NOT NULL DEFAULT 0;"
	 "ALTER TABLE kept ADD COLUMN pauses INTEGER NOT NULL DEFAULT 0;"),
	/* tenants/key.c */
	"ALTER TABLE key ADD COLUMN mcp_approve INTEGER NOT NULL DEFAULT 0;",
	/* volumes/mounts.c */
	"ALTER TABLE session ADD COLUMN volumes TEXT;",
	/* snapshot.c */
	("CREATE TABLE snapshot(id TEXT PRIMARY KEY, tenant TEXT NOT NULL,"
	 " of_session TEXT NOT NULL, name TEXT, template TEXT NOT NULL, language TEXT NOT NULL, limits BLOB NOT NULL,"
	 " policy INTEGER NOT NULL, created_at TEXT NOT NULL, files INTEGER NOT NULL,"
	 " bytes INTEGER NOT NULL, size INTEGER NOT NULL, not_kept INTEGER NOT NULL,"
	 " not_kept_why TEXT, env BLOB NOT NULL) STRICT;"
	 "CREATE INDEX snapshot_by_tenant ON snapshot(tenant, id, size);"
	 "CREATE TABLE snapshot_file(snapshot TEXT NOT NULL, path BLOB NOT NULL,"
	 " kind INTEGER NOT NULL, mode INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,"
	 " size INTEGER NOT NULL, content BLOB NOT NULL, PRIMARY KEY(snapshot, path))"
	 " STRICT, WITHOUT ROWID;"
	 "CREATE INDEX snapshot_file_by_content ON snapshot_file(content) WHERE kind = 1;"
	 "CREATE TRIGGER snapshot_gone AFTER DELETE ON snapshot"
	 " BEGIN DELETE FROM snapshot_file WHERE snapshot = OLD.id; END;"),
	/* snapshot.c: those that do not outlive the request that made them. */
	"ALTER TABLE snapshot ADD COLUMN held INTEGER NOT NULL DEFAULT 0;",
};

int db_exec(struct db *db, const char *sql, struct err *err)
{
	if (sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) != SQLITE_OK)
		return db_failed(db, "execute", err);
	return 0;
}

void db_bind_text(sqlite3_stmt *statement, int index, const char *text)
{
	if (text == NULL)
		(void)sqlite3_bind_null(statement, index);
	else
		(void)sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

void db_bind_bytes(sqlite3_stmt *statement, int index, const void *bytes, size_t len)
{
	(void)sqlite3_bind_blob64(statement, index, len > 0 ? bytes : "", len, SQLITE_STATIC);
}

void db_column_text(sqlite3_stmt *statement, int column, char *ret, size_t size)
{
	const unsigned char *text = sqlite3_column_text(statement, column);

	(void)snprintf(ret, size, "%s", text != NULL ? (const char *)text : "");
}

/*
 * Another process writes, although none should: VACUUM, or a person with the sqlite3 command. Waits
 * for it a moment, but not again within BUSY_AGAIN_NS, so that it cannot block the loop repeatedly.
 */
static int wait_for_other(void *arg, int count)
{
	struct db *db = arg;
	const uint64_t now = clock_mono_ns();
	const struct timespec moment = { .tv_nsec = BUSY_STEP_MS * 1000000 };

	if (db->never_waits)
		return 0;
	if (count >= BUSY_STEPS || (db->gave_up_ns != 0 && now - db->gave_up_ns < BUSY_AGAIN_NS)) {
		db->gave_up_ns = now;
		return 0;
	}
	(void)nanosleep(&moment, NULL);
	return 1;
}

static int read_version(struct db *db, int *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "PRAGMA user_version", &statement, err) < 0 ||
	    db_step(db, statement, err) < 0)
		return (int)err->code;
	*ret = sqlite3_column_int(statement, 0);
	return 0;
}

static int add_version(struct db *db, size_t version, struct err *err)
{
	char number[48];

	(void)snprintf(number, sizeof(number), "PRAGMA user_version = %zu", version);
	if (db_exec(db, versions[version - 1], err) < 0)
		return (int)err->code;
	return db_exec(db, number, err);
}

/* Applies all missing versions in one transaction: after a crash the old version is still there. */
static int make_tables(struct db *db, struct err *err)
{
	int version;

	if (db_exec(db, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
			"PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF; BEGIN IMMEDIATE",
		    err) < 0 ||
	    read_version(db, &version, err) < 0)
		return (int)err->code;
	if (version > (int)ARRAY_LEN(versions)) {
		(void)err_set(err, ERR_UNAVAILABLE, "the database is of a newer Reckon (%d)",
			      version);
		return err_remedy(err, "update Reckon, or use another --state");
	}
	for (size_t next = (size_t)version + 1; next <= ARRAY_LEN(versions); next++)
		if (add_version(db, next, err) < 0)
			return (int)err->code;
	return db_exec(db, "COMMIT", err);
}

int db_open(int state_fd, const char *state_dir, struct db **ret, struct err *err)
{
	struct db *db;
	char path[4200];
	/* SQLite gives its other files the mode of the database: accessible to our user only. */
	cleanup_fd int fd =
		openat(state_fd, "reckond.db", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_sys(err, "open %.200s/reckond.db", state_dir);
	/*
	 * Closes fd before SQLite opens the file: closing any descriptor of a file releases all
	 * locks that the process has on it. Another program that reads the database would then take
	 * our log for unused, and remove it.
	 */
	(void)close(TAKE_FD(fd));
	(void)snprintf(path, sizeof(path), "%s/reckond.db", state_dir);
	db = mem_new0(1, sizeof(*db));
	db->log_fd = -1;
	if (sqlite3_open_v2(path, &db->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
		    SQLITE_OK ||
	    sqlite3_busy_handler(db->sqlite, wait_for_other, db) != SQLITE_OK)
		(void)db_failed(db, "open", err);
	else if (make_tables(db, err) == 0) {
		*ret = db;
		return 0;
	}
	db_close(db);
	return (int)err->code;
}

int db_open_existing(int state_fd, const char *state_dir, struct db **ret, struct err *err)
{
	struct db *db;
	char path[4200];
	int version = 0;

	(void)snprintf(path, sizeof(path), "%s/reckond.db", state_dir);
	if (faccessat(state_fd, "reckond.db", R_OK | W_OK, 0) < 0)
		return err_sys(err, "open %.200s", path);
	db = mem_new0(1, sizeof(*db));
	db->log_fd = -1;
	/* Not read-only: SQLite may have to create the shared memory of its log. */
	if (sqlite3_open_v2(path, &db->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) !=
	    SQLITE_OK)
		(void)db_failed(db, "open", err);
	else if (db_exec(db, "PRAGMA query_only=ON; PRAGMA busy_timeout=5000;"
			     "PRAGMA trusted_schema=OFF", err) == 0 &&
		 read_version(db, &version, err) == 0) {
		if (version == (int)ARRAY_LEN(versions)) {
			*ret = db;
			return 0;
		}
		(void)err_set(err, ERR_UNAVAILABLE, "the database has version %d, this Reckon %zu",
			      version, ARRAY_LEN(versions));
		(void)err_remedy(err, "start reckon serve of this version once");
	}
	db_close(db);
	return (int)err->code;
}

int db_savepoint(struct db *db, struct err *err)
{
	return db_run(db, "SAVEPOINT together", err);
}

int db_release(struct db *db, struct err *err)
{
	return db_run(db, "RELEASE together", err);
}

void db_rollback_to(struct db *db)
{
	struct err ignored;

	(void)db_run(db, "ROLLBACK TO together", &ignored);
	(void)db_run(db, "RELEASE together", &ignored);
}

void db_close(struct db *db)
{
	if (db == NULL)
		return;
	db_log_end(db);
	db_statements_drop(db);
	(void)sqlite3_close(db->sqlite);
	if (db->log_fd >= 0)
		(void)close(db->log_fd);
	free(db);
}

int db_begin(struct db *db, struct err *err)
{
	return db_run(db, "BEGIN IMMEDIATE", err);
}

int db_try_begin(struct db *db, struct err *err)
{
	int code;

	db->never_waits = true;
	code = db_begin(db, err);
	db->never_waits = false;
	return code < 0 && err->errnum == EBUSY ? 1 : code;
}

/*
 * On a full disk SQLite may have rolled back already; otherwise rolls back, so that no transaction
 * stays open.
 */
int db_commit(struct db *db, struct err *err)
{
	struct err ignored;

	if (sqlite3_get_autocommit(db->sqlite) != 0)
		return 0;
	if (db_run(db, "COMMIT", err) == 0)
		return 0;
	(void)db_run(db, "ROLLBACK", &ignored);
	return (int)err->code;
}

int db_secret_find(struct db *db, const char *name, unsigned char ret[32], struct err *err)
{
	cleanup_statement sqlite3_stmt *find = NULL;
	int found;

	if (db_prepare(db, "SELECT value FROM meta WHERE name = ?", &find, err) < 0)
		return (int)err->code;
	db_bind_text(find, 1, name);
	found = db_step(db, find, err);
	if (found < 1)
		return found;
	if (sqlite3_column_bytes(find, 0) != 32)
		return 0;
	memcpy(ret, sqlite3_column_blob(find, 0), 32);
	return 1;
}

int db_secret(struct db *db, const char *name, unsigned char ret[32], struct err *err)
{
	cleanup_statement sqlite3_stmt *add = NULL;
	const int found = db_secret_find(db, name, ret, err);

	if (found != 0)
		return found < 0 ? found : 0;
	randombytes_buf(ret, 32);
	if (db_prepare(db, "INSERT INTO meta VALUES(?, ?)", &add, err) < 0)
		return (int)err->code;
	db_bind_text(add, 1, name);
	db_bind_bytes(add, 2, ret, 32);
	return db_step(db, add, err);
}
