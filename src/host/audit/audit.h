/*
 * audit.h - who did what: an append-only table in which each entry holds the hash of the one
 * before.
 *
 *   hash = BLAKE2b-256("reckon.audit/1" hash-of-the-one-before sequence field field …)
 *
 * where the one before the first is 32 zeros, the sequence has 8 bytes (little endian) and each
 * field is its length (4 bytes, little endian) and its bytes. So an entry cannot be changed,
 * removed from the middle or put in without changing all that follow. What the end was is kept a
 * second time, in STATE/audit.head, sealed with the secret of the database: so a cut end shows.
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

/* What `entry` has to have as its hash behind `before`. */
void audit_hash(const struct audit_head *before, const struct audit_entry *entry,
		unsigned char ret[AUDIT_HASH_SIZE]);

/* ---- the table (db/audit.c) ---- */
int db_audit_head(struct db *db, struct audit_head *ret, struct err *err);
/* Takes its place behind `head`, which moves on: sequence and hash of `entry` are filled in. */
int db_audit_add(struct db *db, struct audit_head *head, struct audit_entry *entry,
		 struct err *err);
/* The entry that tells of segments which were removed, by the last of their entries. */
#define AUDIT_PRUNE "audit.prune"
#define AUDIT_PRUNE_DETAIL "through=%" PRIu64 " hash=%s"
typedef int audit_fn(const struct audit_entry *entry, void *arg, struct err *err);
/* What has left the table: up to there its rows are in segments (segment.h), or removed. */
int db_audit_base(struct db *db, struct audit_head *ret, struct err *err);
/* Removes the rows up to `base`; to be called in a transaction, with the segment on the disk. */
int db_audit_leave(struct db *db, const struct audit_head *base, struct err *err);
/* Up to there segments were removed for good. */
int db_audit_pruned(struct db *db, struct audit_head *ret, struct err *err);
int db_audit_prune(struct db *db, const struct audit_head *pruned, struct err *err);
/* Oldest first, those behind `after`; limit 0: all. */
int db_audit_list(struct db *db, uint64_t after, unsigned limit, audit_fn *fn, void *arg,
		  struct err *err);
int audit_take_one(const struct audit_entry *entry, void *ret, struct err *err); /* an audit_fn */

/* ---- the second copy of the end (head.c) ---- */
#define AUDIT_HEAD_FILE "audit.head"
int audit_head_write(int state_fd, const struct audit_head *head, const unsigned char secret[32],
		     struct err *err);
/* 1: read, and *ret_sealed says whether its seal is ours; 0: there is none. */
int audit_head_read(int state_fd, const unsigned char secret[32], struct audit_head *ret,
		    bool *ret_sealed, struct err *err);

/* ---- entries that are too old or too many (archive.c) ---- */
struct host;
void audit_archive_tick(struct host *host);

/* ---- the daemon (audit.c) ---- */
struct request;
struct auditor {
	struct audit_head head;
	uint64_t written; /* sequence that audit.head has */
	uint64_t denied, denied_ns; /* requests not told yet, and when they were last */
	uint64_t moved_ns, looked_ns; /* archive.c: its last looks */
	bool is_stuck;		      /* and that was told */
};
/* Compares both ends, and says "start". */
int audit_setup(struct host *host, struct err *err);
void audit_tick(struct host *host);
void audit_stop(struct host *host);
/*
 * One entry, about the request that is answered just now. With audit_begin() before and
 * audit_end() behind, whatever the database is told between them stands or falls with it.
 */
int audit_add(struct host *host, const char *action, const char *target, const char *outcome,
	      struct err *err, const char *detail, ...) __attribute__((format(printf, 6, 7)));
/* The same for what is not in the database: a failure is logged. */
void audit_note(struct host *host, const char *action, const char *target, const char *outcome,
		const char *detail, ...) __attribute__((format(printf, 5, 6)));
int audit_begin(struct host *host, struct err *err);
/* `code` < 0: nothing of it happened. Returns `code`, or what the database says. */
int audit_end(struct host *host, int code, struct err *err);
/* The same, and on the disk: for what is answered next. */
int audit_commit(struct host *host, int code, struct err *err);
/* The end of the chain is what the database has now: something was rolled back. */
void audit_again(struct host *host);
void audit_denied(struct host *host); /* counted, and told together */
/* {"sequence":…} */
struct json_writer;
void audit_entry_write(struct json_writer *json, const struct audit_entry *entry);
/* The same as a text; free() it. */
char *audit_entry_json(const struct audit_entry *entry);

/* ---- offline (main.c) ---- */
int audit_main(int argc, char **argv);
