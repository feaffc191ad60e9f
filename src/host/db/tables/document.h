/* calls/document.h - rows of documents: small JSON objects of tenants. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "host/db/db.h"

#define DB_DOCUMENT_MAX (1024u * 1024u)
#define DB_DOCUMENT_NAME_SIZE 65
#define DB_DOCUMENT_ROW 512u /* bytes that count for one beside what is in it */

struct db_document {
	uint64_t number; /* by creation; 0: there is no row yet */
	char collection[DB_DOCUMENT_NAME_SIZE], id[DB_DOCUMENT_NAME_SIZE];
	char etag[ID_SIZE];
	char created_at[CLOCK_RFC3339_SIZE], changed_at[CLOCK_RFC3339_SIZE];
	uint64_t expires_ms; /* since 1970; 0: never */
	uint64_t size;	     /* that counts for its tenant */
	char content[33]; /* of one that has a file: 32 digits of its artifact; written, not read */
	struct buf metadata, value; /* JSON objects; a value may be left out */
};
void db_document_init(struct db_document *document);
void db_document_done(struct db_document *document);
#define cleanup_document __attribute__((cleanup(db_document_done)))

/* Whether that is an object of strings within the bounds of metadata: 1 or 0. */
int db_document_labels(struct db *db, const char *json, size_t len, struct err *err);
/* 1: found, without its value unless that is asked for; 0: this tenant has none. */
int db_document_find(struct db *db, const char *tenant, const char *collection, const char *id,
		     bool with_value, struct db_document *ret, struct err *err);
/* Adds it (number 0) or replaces all but its names and when it was made. Its etag, times and size are
 * filled in. */
int db_document_put(struct db *db, const char *tenant, struct db_document *document,
		    struct err *err);
/* What a merge patch (RFC 7396) makes of the object. */
int db_document_merge(struct db *db, const struct buf *object, const char *patch, size_t len,
		      struct buf *ret, struct err *err);
/* What stands at a path of the object, as a text; "": nothing. */
int db_document_text(struct db *db, const struct buf *object, const char *path, char *ret,
		     size_t size, struct err *err);
int db_document_remove(struct db *db, uint64_t number, struct err *err);
int db_document_drop(struct db *db, const char *tenant, struct err *err); /* all of them */

typedef int db_document_fn(const char *tenant, const struct db_document *document, void *arg,
			   struct err *err);
/* What a list holds: documents that were made between two others, neither of them included. */
struct db_document_list {
	const char *tenant, *collection;
	const char *filter;   /* metadata that they have, a JSON object, or NULL */
	uint64_t after, before; /* numbers; 0: no bound */
	uint64_t now_ms;      /* those that expired until then are left out */
	bool is_ascending, with_values;
	unsigned limit;
};
/* Stops when `fn` says 1. */
int db_document_list(struct db *db, const struct db_document_list *list, db_document_fn *fn,
		     void *arg, struct err *err);
/* Those that have expired, at most `limit`. */
int db_document_expired(struct db *db, uint64_t now_ms, unsigned limit, db_document_fn *fn,
			void *arg, struct err *err);
