/*
 * audit.h - who did what: an append-only table in which each entry depends on the hash of the entry
 * before.
 *
 *   hash = BLAKE2b-256("reckon.audit/1" hash-of-the-one-before sequence field field …)
 *
 * The hash before the first entry is 32 zeros, the sequence has 8 bytes (little endian), and each
 * field is its length (4 bytes, little endian) and its bytes. So changing, removing or inserting an
 * entry in the middle changes the hashes of all that follow. STATE/audit.head has a second copy of
 * the last hash, sealed with the secret of the database, which reveals that the end was cut off.
 */
#pragma once

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "host/db/db.h"

#define AUDIT_HASH_SIZE 32
#define AUDIT_TEXT_SIZE 320
#define AUDIT_FIELDS 8

enum audit_field {
	AUDIT_AT,
	AUDIT_ACTOR,   /* a key's id, or "daemon" */
	AUDIT_TENANT,
	AUDIT_REQUEST, /* as in the log */
	AUDIT_ACTION,  /* "session.create", … */
	AUDIT_TARGET,  /* a session's id, a key's, … */
	AUDIT_OUTCOME, /* "ok", or what went wrong */
	AUDIT_DETAIL,
};
extern const char *const audit_field_names[AUDIT_FIELDS];

struct audit_entry {
	uint64_t sequence;
	char field[AUDIT_FIELDS][AUDIT_TEXT_SIZE];
	unsigned char hash[AUDIT_HASH_SIZE];
};

/* The end of the chain; sequence 0: there is no entry yet. */
struct audit_head {
	uint64_t sequence;
	unsigned char hash[AUDIT_HASH_SIZE];
};

/* Computes the hash of `entry`, which follows `before`. */
void audit_hash(const struct audit_head *before, const struct audit_entry *entry,
		unsigned char ret[AUDIT_HASH_SIZE]);

/* ---- the table (db/tables/audit.c) ---- */
int db_audit_head(struct db *db, struct audit_head *ret, struct err *err);
/* Adds `entry` after `head`: sets its sequence and hash, and updates `head`. */
int db_audit_add(struct db *db, struct audit_head *head, struct audit_entry *entry,
		 struct err *err);
/*
 * The action and detail of an entry that records the removal of segments, up to the last entry in
 * them.
 */
#define AUDIT_PRUNE "audit.prune"
#define AUDIT_PRUNE_DETAIL "through=%" PRIu64 " hash=%s"
typedef int audit_fn(const struct audit_entry *entry, void *arg, struct err *err);
/* The last entry that left the table: it and all before are in segments (segment.h), or removed. */
int db_audit_base(struct db *db, struct audit_head *ret, struct err *err);
/* Removes the rows up to `base`. Call it in a transaction, after the segment is synced. */
int db_audit_leave(struct db *db, const struct audit_head *base, struct err *err);
/* The last entry in segments that were removed for good. */
int db_audit_pruned(struct db *db, struct audit_head *ret, struct err *err);
int db_audit_prune(struct db *db, const struct audit_head *pruned, struct err *err);
/* Oldest first, those after `after`; limit 0: all. */
int db_audit_list(struct db *db, uint64_t after, unsigned limit, audit_fn *fn, void *arg,
		  struct err *err);
int audit_take_one(const struct audit_entry *entry, void *ret, struct err *err); /* an audit_fn */

/* ---- the second copy of the end (head.c) ---- */
#define AUDIT_HEAD_FILE "audit.head"
int audit_head_write(int state_fd, const struct audit_head *head, const unsigned char secret[32],
		     struct err *err);
/* 1: read; *ret_sealed says whether the seal is valid; 0: there is no file. */
int audit_head_read(int state_fd, const unsigned char secret[32], struct audit_head *ret,
		    bool *ret_sealed, struct err *err);

/* ---- entries that are too old or too many (archive.c) ---- */
struct host;
void audit_archive_tick(struct host *host);

/* ---- the daemon (audit.c) ---- */
struct request;
struct auditor {
	struct audit_head head;
	uint64_t written; /* sequence in audit.head */
	uint64_t denied, denied_ns; /* refused requests without an entry, and when the first came */
	uint64_t moved_ns, looked_ns; /* last runs of archive.c */
	bool is_stuck;		      /* archive.c failed the last time, which is logged */
};
/* Compares both copies of the end, and adds an entry for the start. */
int audit_setup(struct host *host, struct err *err);
void audit_tick(struct host *host);
void audit_stop(struct host *host);
/*
 * Adds one entry about the request that is being answered. Between audit_begin() and audit_end(),
 * it and all other changes of the database succeed or fail together.
 */
int audit_add(struct host *host, const char *action, const char *target, const char *outcome,
	      struct err *err, const char *detail, ...) __attribute__((format(printf, 6, 7)));
/* The same for an action without changes in the database: a failure is only logged. */
void audit_note(struct host *host, const char *action, const char *target, const char *outcome,
		const char *detail, ...) __attribute__((format(printf, 5, 6)));
int audit_begin(struct host *host, struct err *err);
/* `code` < 0: undoes all changes since audit_begin(). Returns `code`, or the database's error. */
int audit_end(struct host *host, int code, struct err *err);
/* The same with a sync, for something that is answered next. */
int audit_commit(struct host *host, int code, struct err *err);
/* Reads the end of the chain from the database again, after a rollback. */
void audit_again(struct host *host);
void audit_denied(struct host *host); /* counts a refused request; one entry reports all */
/* Writes {"sequence":…}. */
struct json_writer;
void audit_entry_write(struct json_writer *json, const struct audit_entry *entry);
/* The same as a text; free() it. */
char *audit_entry_json(const struct audit_entry *entry);

/* ---- offline (main.c) ---- */
int audit_main(int argc, char **argv);
