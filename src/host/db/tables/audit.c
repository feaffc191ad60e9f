/*
 * audit.c - the rows of the audit.
 *
 * Runs in:  reckond's loop; a process that opens a state directory offline.
 * Reads:    its own table.
 * Never:    changes an entry, or removes one that is not in a segment.
 */
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/audit/audit.h"
#include "host/db/inner.h"
#include "host/db/tables/persist.h"

#define DOMAIN "reckon.audit/1"
#define NOTE_BASE "audit_base"	   /* "SEQUENCE HASH" */
#define NOTE_PRUNED "audit_pruned" /* the same */
#define COLUMNS "sequence, at, actor, tenant, request, action, target, outcome, detail, hash"

const char *const audit_field_names[AUDIT_FIELDS] = {
	[AUDIT_AT] = "at",	     [AUDIT_ACTOR] = "actor",	[AUDIT_TENANT] = "tenant",
	[AUDIT_REQUEST] = "request", [AUDIT_ACTION] = "action", [AUDIT_TARGET] = "target",
	[AUDIT_OUTCOME] = "outcome", [AUDIT_DETAIL] = "detail",
};

static void little_endian(uint64_t value, unsigned char *ret, size_t size)
{
	for (size_t i = 0; i < size; i++)
		ret[i] = (unsigned char)(value >> 8 * i);
}

void audit_hash(const struct audit_head *before, const struct audit_entry *entry,
		unsigned char ret[AUDIT_HASH_SIZE])
{
	crypto_generichash_state state;
	unsigned char number[8];

	(void)crypto_generichash_init(&state, NULL, 0, AUDIT_HASH_SIZE);
	(void)crypto_generichash_update(&state, (const unsigned char *)DOMAIN, strlen(DOMAIN));
	(void)crypto_generichash_update(&state, before->hash, sizeof(before->hash));
	little_endian(entry->sequence, number, 8);
	(void)crypto_generichash_update(&state, number, 8);
	for (size_t i = 0; i < AUDIT_FIELDS; i++) {
		const size_t len = strlen(entry->field[i]);

		little_endian(len, number, 4);
		(void)crypto_generichash_update(&state, number, 4);
		(void)crypto_generichash_update(&state, (const unsigned char *)entry->field[i],
						len);
	}
	(void)crypto_generichash_final(&state, ret, AUDIT_HASH_SIZE);
}

static void read_hash(sqlite3_stmt *row, int column, unsigned char ret[AUDIT_HASH_SIZE])
{
	memset(ret, 0, AUDIT_HASH_SIZE);
	if (sqlite3_column_bytes(row, column) == AUDIT_HASH_SIZE)
		memcpy(ret, sqlite3_column_blob(row, column), AUDIT_HASH_SIZE);
}

int db_audit_head(struct db *db, struct audit_head *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1",
		       &statement, err) < 0)
		return (int)err->code;
	found = db_step(db, statement, err);
	if (found < 0)
		return found;
	memset(ret, 0, sizeof(*ret));
	if (found == 0)
		return 0;
	ret->sequence = (uint64_t)sqlite3_column_int64(statement, 0);
	read_hash(statement, 1, ret->hash);
	return 0;
}

int db_audit_add(struct db *db, struct audit_head *head, struct audit_entry *entry,
		 struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	entry->sequence = head->sequence + 1;
	audit_hash(head, entry, entry->hash);
	if (db_prepare(db, "INSERT INTO audit(" COLUMNS ") VALUES(?,?,?,?,?,?,?,?,?,?)",
		       &statement, err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)entry->sequence);
	for (int i = 0; i < AUDIT_FIELDS; i++)
		db_bind_text(statement, i + 2, entry->field[i]);
	db_bind_bytes(statement, AUDIT_FIELDS + 2, entry->hash, sizeof(entry->hash));
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	head->sequence = entry->sequence;
	memcpy(head->hash, entry->hash, sizeof(head->hash));
	return 0;
}

int db_audit_list(struct db *db, uint64_t after, unsigned limit, audit_fn *fn, void *arg,
		  struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	int found;

	if (db_prepare(db, "SELECT " COLUMNS " FROM audit WHERE sequence > ? ORDER BY sequence"
			   " LIMIT ?", &statement, err) < 0)
		return (int)err->code;
	/* SQLite's integers are signed; no entry follows INT64_MAX. */
	(void)sqlite3_bind_int64(statement, 1,
				 after > INT64_MAX ? INT64_MAX : (sqlite3_int64)after);
	(void)sqlite3_bind_int64(statement, 2, limit == 0 ? -1 : (sqlite3_int64)limit);
	while ((found = db_step(db, statement, err)) == 1) {
		struct audit_entry entry;

		entry.sequence = (uint64_t)sqlite3_column_int64(statement, 0);
		for (int i = 0; i < AUDIT_FIELDS; i++)
			db_column_text(statement, i + 1, entry.field[i], sizeof(entry.field[i]));
		read_hash(statement, AUDIT_FIELDS + 1, entry.hash);
		if (fn(&entry, arg, err) < 0)
			return (int)err->code;
	}
	return found;
}

int audit_take_one(const struct audit_entry *entry, void *ret, struct err *err)
{
	(void)err;
	memcpy(ret, entry, sizeof(*entry));
	return 0;
}

/* ---- entries that left the table ------------------------------------------------------------ */

static int read_note(struct db *db, const char *name, struct audit_head *ret, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;
	char text[128], *end;
	size_t len = 0;
	int found;

	memset(ret, 0, sizeof(*ret));
	if (db_prepare(db, "SELECT CAST(value AS TEXT) FROM meta WHERE name = ?", &statement, err) <
	    0)
		return (int)err->code;
	db_bind_text(statement, 1, name);
	found = db_step(db, statement, err);
	if (found < 1)
		return found;
	db_column_text(statement, 0, text, sizeof(text));
	ret->sequence = strtoull(text, &end, 10);
	if (end[0] != ' ' ||
	    sodium_hex2bin(ret->hash, AUDIT_HASH_SIZE, end + 1, strlen(end + 1), NULL, &len,
			   NULL) != 0 ||
	    len != AUDIT_HASH_SIZE)
		return err_set(err, ERR_INVALID, "%s in the database is damaged", name);
	return 0;
}

static int write_note(struct db *db, const char *name, const struct audit_head *head,
		      struct err *err)
{
	char hash[AUDIT_HASH_SIZE * 2 + 1], text[128];

	(void)snprintf(text, sizeof(text), "%" PRIu64 " %s", head->sequence,
		       sodium_bin2hex(hash, sizeof(hash), head->hash, AUDIT_HASH_SIZE));
	return db_note(db, name, text, err);
}

int db_audit_base(struct db *db, struct audit_head *ret, struct err *err)
{
	return read_note(db, NOTE_BASE, ret, err);
}

int db_audit_leave(struct db *db, const struct audit_head *base, struct err *err)
{
	cleanup_statement sqlite3_stmt *statement = NULL;

	if (db_prepare(db, "DELETE FROM audit WHERE sequence <= ?", &statement, err) < 0)
		return (int)err->code;
	(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)base->sequence);
	if (db_step(db, statement, err) < 0)
		return (int)err->code;
	return write_note(db, NOTE_BASE, base, err);
}

int db_audit_pruned(struct db *db, struct audit_head *ret, struct err *err)
{
	return read_note(db, NOTE_PRUNED, ret, err);
}

int db_audit_prune(struct db *db, const struct audit_head *pruned, struct err *err)
{
	return write_note(db, NOTE_PRUNED, pruned, err);
}
