/*
 * db.h - what reckond persists: tenants, keys, sessions, executions with their records, ownership
 * of artifacts, usage.
 *
 * STATE/reckond.db, SQLite with WAL. A commit survives the death of the process at any moment, and
 * a power cut after the next db_sync().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "wire/front.h"

#define DB_STATE_SIZE 12
#define DB_NAME_SIZE 64
#define DB_WHY_SIZE 400

struct db;

int db_open(int state_fd, const char *state_dir, struct db **ret, struct err *err);
/* For offline use: opens only an existing database of exactly our version. */
int db_open_existing(int state_fd, const char *state_dir, struct db **ret, struct err *err);
void db_close(struct db *db); /* NULL is fine */
/* One transaction. A statement that fails in between has no effect; the commit keeps the others. */
int db_begin(struct db *db, struct err *err);
int db_commit(struct db *db, struct err *err);
/* As db_begin(), but returns 1 at once while another process writes. */
int db_try_begin(struct db *db, struct err *err);

int db_check(struct db *db, struct err *err); /* ERR_INVALID if the database is damaged */

/*
 * A savepoint: changes up to the release happen together or not at all. Works inside a transaction.
 */
int db_savepoint(struct db *db, struct err *err);
int db_release(struct db *db, struct err *err);
void db_rollback_to(struct db *db);

/* ---- keys ---- */
/* A secret of this database, created on first use. */
#define DB_SECRET_KEY "key_secret"   /* for the hashes of API keys, and for the audit's seal */
#define DB_SECRET_LINK "link_secret" /* for links */
#define DB_SECRET_LEASE "lease_secret" /* for leases of boxes (sessions/restart/adopt.c) */
int db_secret(struct db *db, const char *name, unsigned char ret[32], struct err *err);
/* As db_secret(), but creates nothing: 1, or 0 if it does not exist. */
int db_secret_find(struct db *db, const char *name, unsigned char ret[32], struct err *err);
struct db_key {
	char id[ID_SIZE];
	char tenant[ID_SIZE];
	char name[DB_NAME_SIZE];
	unsigned char hash[32];
	uint32_t scopes; /* FRONT_SCOPE_… */
	char created_at[CLOCK_RFC3339_SIZE];
	uint64_t expires_ms; /* since 1970; 0: never */
	uint64_t lifetime_ms; /* that it was created with, for its successor; 0: never expires */
	char used_at[CLOCK_RFC3339_SIZE]; /* approximate; "" if never used */
	bool mcp_approve;
};
typedef int db_key_fn(const struct db_key *key, void *arg, struct err *err);
/* Keys that are not revoked, oldest first. */
int db_key_list(struct db *db, db_key_fn *fn, void *arg, struct err *err);
int db_key_add(struct db *db, const struct db_key *key, struct err *err);
int db_key_change(struct db *db, const struct db_key *key, struct err *err); /* both times */
int db_key_revoke(struct db *db, const char *id, struct err *err);

/* ---- tenants ---- */
/* The tenant that exists from the start. */
#define DB_TENANT_FIRST "te_00000000000000000000000000"
struct db_tenant {
	char id[ID_SIZE];
	char name[DB_NAME_SIZE];
	char state[DB_STATE_SIZE]; /* "active", "suspended", "deleted" */
	char created_at[CLOCK_RFC3339_SIZE];
	struct front_quotas quotas;
	uint64_t stored_bytes; /* sum of all that it stores; db_tenant_change() ignores it */
};
typedef int db_tenant_fn(const struct db_tenant *tenant, void *arg, struct err *err);
int db_tenant_list(struct db *db, db_tenant_fn *fn, void *arg, struct err *err); /* oldest first */
int db_tenant_add(struct db *db, const struct db_tenant *tenant, struct err *err);
/* Changes name, state and quotas in one transaction. */
int db_tenant_change(struct db *db, const struct db_tenant *tenant, struct err *err);

/* ---- what tenants store and use ---- */
/* An artifact or output: `digits` are the digits after "ar_" or "out_". 1: new to the tenant. */
int db_object_add(struct db *db, const char *tenant, const char *digits, uint64_t size,
		  struct err *err);
bool db_object_has(struct db *db, const char *tenant, const char *digits);

/* Adds to a day's sums; disk_bytes becomes the larger of both values. */
int db_usage_add(struct db *db, const char *tenant, const char *day,
		 const struct front_usage *usage, struct err *err);
typedef int db_usage_fn(const char *tenant, const char *day, const struct front_usage *usage,
			void *arg, struct err *err);
/* Ordered by day and tenant; `tenant` NULL: all. `from` and `to` are inclusive. */
int db_usage_list(struct db *db, const char *tenant, const char *from, const char *to,
		  db_usage_fn *fn, void *arg, struct err *err);

/* ---- counters that survive restarts ---- */
/* *ret is 0 if the counter was never set. */
int db_total(struct db *db, const char *name, uint64_t *ret, struct err *err);
int db_total_set(struct db *db, const char *name, uint64_t value, struct err *err);

/* ---- retention (operations/retain.c) ---- */
/*
 * Removes ended executions whose id is below `before`, at most `limit`; *ret is the number removed.
 */
int db_retain_executions(struct db *db, const char *before, unsigned limit, unsigned *ret,
			 struct err *err);
/*
 * Removes sessions below `before` that ended before `ended_before_s` (since 1970), with all that
 * belongs to them.
 */
int db_retain_sessions(struct db *db, const char *before, uint64_t ended_before_s, unsigned limit,
		       unsigned *ret, struct err *err);

/* ---- sessions ---- */
/* Of a policy only we know these.
 * It was made for one execution, and ends with it, or stays from then on. */
#define DB_POLICY_ONCE (1ull << 62)
/* It ends with the request that opened it; after a restart there is none. */
#define DB_POLICY_HELD (1ull << 61)
#define DB_POLICY_OURS (DB_POLICY_ONCE | DB_POLICY_HELD)

struct db_session {
	char id[ID_SIZE];
	char tenant[ID_SIZE];
	char state[DB_STATE_SIZE]; /* "live", "closed", "expired", "lost" */
	char template_name[64];
	char language[64];
	struct front_limits limits;
	uint64_t policy; /* FRONT_POLICY_…, and DB_POLICY_OURS */
	char *metadata; /* JSON, or NULL */
	char *tools;	/* JSON, or NULL; db_tools_each() */
	char *volumes;	/* mounted volumes, or NULL (volumes/mounts.c) */
	char file_mounts[ID_SIZE]; /* of files mounted by reference, or "" (files/file_mounts.c) */
	uint64_t idle_ms;
	char created_at[CLOCK_RFC3339_SIZE];
	char ended_at[CLOCK_RFC3339_SIZE]; /* "" while the session is live */
	char why[DB_WHY_SIZE];
	uint64_t queued; /* not stored: the caller fills it in */
};
void db_session_done(struct db_session *session);

/* Calls `fn` for each tool in a session's row. */
typedef void db_tool_fn(const char *name, const char *description, const char *parameters,
			void *arg);
int db_tools_each(struct db *db, const char *tools, db_tool_fn *fn, void *arg, struct err *err);

int db_session_add(struct db *db, const struct db_session *session, struct err *err);
int db_session_change(struct db *db, const struct db_session *session, struct err *err);
/* Removes the rows of a session that never opened; no other row refers to it. */
int db_session_undo(struct db *db, const char *id, struct err *err);
int db_session_end(struct db *db, const char *id, const char *state, const char *why,
		   struct err *err);
/* 1: found; 0: the tenant (NULL: any) never had this session. */
int db_session_find(struct db *db, const char *tenant, const char *id, struct db_session *ret,
		    struct err *err);

typedef int db_session_fn(const struct db_session *session, void *arg, struct err *err);
/* Newest first; only sessions older than `before` (NULL: all). */
int db_session_list(struct db *db, const char *tenant, const char *before, bool live_only,
		    unsigned limit, db_session_fn *fn, void *arg, struct err *err);

/*
 * ---- name.c: names of sessions. Several sessions may have had a name, at most one is live. ----
 */
int db_name_add(struct db *db, const char *session, const char *name, struct err *err);
/* "" if the session has no name. */
void db_name_of(struct db *db, const char *session, char ret[ID_NAME_MAX + 1]);
/* As db_session_list(), for sessions with this name. */
int db_name_list(struct db *db, const char *tenant, const char *name, const char *before,
		 unsigned limit, db_session_fn *fn, void *arg, struct err *err);

/* ---- executions ---- */
struct db_execution {
	char id[ID_SIZE];
	char session[ID_SIZE];
	uint64_t sequence;
	char status[24]; /* "pending", "lost", "failed", or the record's */
	char created_at[CLOCK_RFC3339_SIZE];
	char ended_at[CLOCK_RFC3339_SIZE];
	char why[DB_WHY_SIZE];
	unsigned char request_hash[32];
	char requester[ID_SIZE];  /* the key's id; written on add, read by db_execution_asker() */
	char key_tenant[ID_SIZE]; /* written: owner of the Idempotency-Key; "": its session */
	struct buf record;	/* JSON, or empty */
};
void db_execution_done(struct db_execution *execution);

/* How an execution ended. */
struct db_end {
	const char *status;
	const char *why;    /* or NULL */
	const char *record; /* JSON, or NULL; likewise its receipt, which is part of it */
	const char *receipt;
	size_t record_len, receipt_len;
};
/* `idempotency` may be NULL; `end` is NULL if the execution has not ended. */
int db_execution_add(struct db *db, const struct db_execution *execution, const char *idempotency,
		     const struct buf *code, const struct db_end *end, struct err *err);
int db_execution_finish(struct db *db, const char *id, const struct db_end *end, struct err *err);
int db_execution_find(struct db *db, const char *session, const char *id,
		      struct db_execution *ret, struct err *err);
/* The key that started the execution: 1, or 0 if this session has no such execution. */
int db_execution_asker(struct db *db, const char *session, const char *id, char ret[ID_SIZE],
		       struct err *err);
/* Releases the execution's Idempotency-Key for reuse. */
int db_execution_unkey(struct db *db, const char *id, struct err *err);
int db_execution_by_key(struct db *db, const char *session, const char *idempotency,
			struct db_execution *ret, struct err *err);
int db_execution_by_tenant_key(struct db *db, const char *tenant, const char *idempotency,
			       struct db_execution *ret, struct err *err);

/*
 * Appends the first `max` bytes of the code, cut at a whole character; *ret_len is its full length.
 */
int db_code_head(struct db *db, const char *execution, size_t max, struct buf *ret,
		 uint64_t *ret_len, struct err *err);

typedef int db_execution_fn(const struct db_execution *execution, void *arg, struct err *err);
int db_execution_list(struct db *db, const char *session, const char *before, unsigned limit,
		      db_execution_fn *fn, void *arg, struct err *err);
