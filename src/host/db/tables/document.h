/* document.h - the rows of documents: small JSON objects of tenants. */
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
#define DB_DOCUMENT_ROW 512u /* bytes that count for a document in addition to its contents */

struct db_document {
	uint64_t number; /* in order of creation; 0: not stored yet */
	char collection[DB_DOCUMENT_NAME_SIZE], id[DB_DOCUMENT_NAME_SIZE];
	char etag[ID_SIZE];
	char created_at[CLOCK_RFC3339_SIZE], changed_at[CLOCK_RFC3339_SIZE];
	uint64_t expires_ms; /* since 1970; 0: never */
	uint64_t size;	     /* bytes that count for its tenant */
	char content[33]; /* digits of its file's artifact, or ""; written, not read */
	struct buf metadata, value; /* JSON objects; the value is optional */
};
void db_document_init(struct db_document *document);
void db_document_done(struct db_document *document);
#define cleanup_document __attribute__((cleanup(db_document_done)))

/* Whether `json` is an object of strings within the limits of metadata: 1 or 0. */
int db_document_labels(struct db *db, const char *json, size_t len, struct err *err);
/* 1: found, with its value only if `with_value`; 0: the tenant does not have it. */
int db_document_find(struct db *db, const char *tenant, const char *collection, const char *id,
		     bool with_value, struct db_document *ret, struct err *err);
/*
 * Adds the document (number 0), or replaces all but its collection, id and creation time. Sets its
 * etag, times and size.
 */
int db_document_put(struct db *db, const char *tenant, struct db_document *document,
		    struct err *err);
/* Applies a merge patch (RFC 7396) to the object. */
int db_document_merge(struct db *db, const struct buf *object, const char *patch, size_t len,
		      struct buf *ret, struct err *err);
/* The value at a path of the object, as text; "" if there is none. */
int db_document_text(struct db *db, const struct buf *object, const char *path, char *ret,
		     size_t size, struct err *err);
int db_document_remove(struct db *db, uint64_t number, struct err *err);
int db_document_drop(struct db *db, const char *tenant, struct err *err); /* all of them */

typedef int db_document_fn(const char *tenant, const struct db_document *document, void *arg,
			   struct err *err);
/* Selects documents of a collection by number and metadata. */
struct db_document_list {
	const char *tenant, *collection;
	const char *filter;   /* metadata that they must have, a JSON object, or NULL */
	uint64_t after, before; /* numbers, exclusive; 0: no bound */
	uint64_t now_ms;      /* leaves out documents that expired by then */
	bool is_ascending, with_values;
	unsigned limit;
};
/* Stops if `fn` returns 1. */
int db_document_list(struct db *db, const struct db_document_list *list, db_document_fn *fn,
		     void *arg, struct err *err);
/* Expired documents, at most `limit`. */
int db_document_expired(struct db *db, uint64_t now_ms, unsigned limit, db_document_fn *fn,
			void *arg, struct err *err);
