/*
 * tenant.c - the rows of tenants, their quotas and their keys.
 *
 * Runs in:  reckond's loop.
 * Reads:    its own tables.
 * Never:    holds a key's text; it stores a keyed hash.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db/db.h"
#include "host/db/inner.h"

/* ---- keys ----------------------------------------------------------------------------------- */

static void read_key(sqlite3_stmt *row, struct db_key *ret)
{
	memset(ret, 0, sizeof(*ret));
	db_column_text(row, 0, ret->id, sizeof(ret->id));
	db_column_text(row, 1, ret->tenant, sizeof(ret->tenant));
	db_column_text(row, 2, ret->name, sizeof(ret->name));
	if (sqlite3_column_bytes(row, 3) == (int)sizeof(ret->hash))
		memcpy(ret->hash, sqlite3_column_blob(row, 3), sizeof(ret->hash));
	ret->scopes = (uint32_t)sqlite3_column_int64(row, 4);
	db_column_text(row, 5, ret->created_at, sizeof(ret->created_at));
	ret->expires_ms = (uint64_t)sqlite3_column_int64(row, 6);
	db_column_text(row, 7, ret->used_at, sizeof(ret->used_at));
	ret->lifetime_ms = (uint64_t)sqlite3_column_int64(row, 8);
	ret->mcp_approve = sqlite3_column_int64(row, 9) != 0;
}

int db_key_list(struct db *db, db_key_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT id, tenant, name, hash, scopes, created_at, expires_ms, used_at,"
			   " lifetime_ms, mcp_approve FROM key WHERE revoked_at IS NULL ORDER BY created_at, id",
		       &statement, err) < 0)
		return (int)err->code;
	while ((found = db_step(db, statement, err)) == 1) {
		struct db_key key;

		read_key(statement, &key);
		if (fn(&key, arg, err) < 0)
			return (int)err->code;
	}
	return found;
}

int db_key_add(struct db *db, const struct db_key *key, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT INTO key VALUES(?,?,?,?,?,?,?,?,NULL,NULL,?)", &statement,
		       err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, key->id);
	db_bind_text(statement, 2, key->tenant);
	db_bind_text(statement, 3, key->name);
	db_bind_bytes(statement, 4, key->hash, sizeof(key->hash));
	(void)sqlite3_bind_int64(statement, 5, key->scopes);
	db_bind_text(statement, 6, key->created_at);
	(void)sqlite3_bind_int64(statement, 7, (sqlite3_int64)key->expires_ms);
	(void)sqlite3_bind_int64(statement, 8, (sqlite3_int64)key->lifetime_ms);
	(void)sqlite3_bind_int64(statement, 9, key->mcp_approve);
	return db_step(db, statement, err);
}

int db_key_change(struct db *db, const struct db_key *key, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "UPDATE key SET expires_ms = ?, used_at = ? WHERE id = ?", &statement,
		       err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)key->expires_ms);
	db_bind_text(statement, 2, key->used_at[0] != '\0' ? key->used_at : NULL);
	db_bind_text(statement, 3, key->id);
	return db_step(db, statement, err);
}

int db_key_revoke(struct db *db, const char *id, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char now[CLOCK_RFC3339_SIZE];

	if (db_prepare(db, "UPDATE key SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
		       &statement, err) < 0)
		return (int)err->code;
	clock_rfc3339_now(now);
	db_bind_text(statement, 1, now);
	db_bind_text(statement, 2, id);
	return db_step(db, statement, err);
}

/* ---- tenants -------------------------------------------------------------------------------- */

static int read_quotas(struct db *db, struct db_tenant *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT name, value FROM quota WHERE tenant = ?", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, ret->id);
	while ((found = db_step(db, statement, err)) == 1) {
		const char *name = (const char *)sqlite3_column_text(statement, 0);

		for (unsigned i = 0; i < FRONT_QUOTA_COUNT; i++) {
			if (strcmp(name, front_quota_kinds[i].name) != 0)
				continue;
			ret->quotas.given |= (uint64_t)1 << i;
			ret->quotas.value[i] = (uint64_t)sqlite3_column_int64(statement, 1);
		}
	}
	return found;
}

int db_tenant_list(struct db *db, db_tenant_fn *fn, void *arg, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT id, name, state, created_at, (SELECT coalesce(sum(size), 0)"
			   " FROM object WHERE object.tenant = tenant.id) + (SELECT"
			   " coalesce(sum(size), 0) FROM document WHERE document.tenant ="
			   " tenant.id) + (SELECT coalesce(sum(size), 0) FROM snapshot"
			   " WHERE snapshot.tenant = tenant.id) FROM tenant WHERE state <> 'deleted' ORDER BY id",
		       &statement, err) < 0)
		return (int)err->code;
	while ((found = db_step(db, statement, err)) == 1) {
		struct db_tenant tenant;

		memset(&tenant, 0, sizeof(tenant));
		db_column_text(statement, 0, tenant.id, sizeof(tenant.id));
		db_column_text(statement, 1, tenant.name, sizeof(tenant.name));
		db_column_text(statement, 2, tenant.state, sizeof(tenant.state));
		db_column_text(statement, 3, tenant.created_at, sizeof(tenant.created_at));
		tenant.stored_bytes = (uint64_t)sqlite3_column_int64(statement, 4);
		if (read_quotas(db, &tenant, err) < 0 || fn(&tenant, arg, err) < 0)
			return (int)err->code;
	}
	return found;
}

static int put_row(struct db *db, const struct db_tenant *tenant, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "INSERT INTO tenant VALUES(?1, ?2, ?3, ?4) ON CONFLICT(id) DO UPDATE"
			   " SET name = ?2, state = ?3", &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant->id);
	db_bind_text(statement, 2, tenant->name);
	db_bind_text(statement, 3, tenant->state);
	db_bind_text(statement, 4, tenant->created_at);
	return db_step(db, statement, err);
}

static int put_quota(struct db *db, const struct db_tenant *tenant, unsigned i, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	const bool given = (tenant->quotas.given >> i & 1u) != 0;

	if (db_prepare(db, given ? "INSERT OR REPLACE INTO quota VALUES(?1, ?2, ?3)"
				 : "DELETE FROM quota WHERE tenant = ?1 AND name = ?2",
		       &statement, err) < 0)
		return (int)err->code;
	db_bind_text(statement, 1, tenant->id);
	db_bind_text(statement, 2, front_quota_kinds[i].name);
	if (given)
		(void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)tenant->quotas.value[i]);
	return db_step(db, statement, err);
}

static int put_tenant(struct db *db, const struct db_tenant *tenant, struct err *err)
{
	if (put_row(db, tenant, err) < 0)
		return (int)err->code;
	for (unsigned i = 0; i < FRONT_QUOTA_COUNT; i++)
		if (put_quota(db, tenant, i, err) < 0)
			return (int)err->code;
	return 0;
}

int db_tenant_change(struct db *db, const struct db_tenant *tenant, struct err *err)
{
	if (db_savepoint(db, err) < 0)
		return (int)err->code;
	if (put_tenant(db, tenant, err) < 0 || db_release(db, err) < 0) {
		db_rollback_to(db);
		return (int)err->code;
	}
	return 0;
}

int db_tenant_add(struct db *db, const struct db_tenant *tenant, struct err *err)
{
	return db_tenant_change(db, tenant, err);
}
