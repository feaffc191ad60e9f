/*
 * files.h - the rows of a session's file versions, receipts and links.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"
#include "host/db/db.h"
#include "host/files/files.h"

/* ---- versions ---- */
int db_version_add(struct db *db, const char *session, const struct file_version *files,
		   size_t count, struct err *err);
/* Adds the files that a record lists, JSON that libreckon wrote. */
int db_version_add_listed(struct db *db, const char *session, const char *execution,
			  const char *files, size_t len, struct err *err);
/* 1 if the session ever had this artifact, and its last path; otherwise 0. */
int db_artifact_find(struct db *db, const char *session, const char *artifact, char *ret_path,
		     size_t size, struct err *err);

/* 1 if it existed. */
int db_artifact_forget(struct db *db, const char *session, const char *artifact, struct err *err);

struct db_version {
	char id[24];
	char path[4097];
	char artifact[48];
	char sha256[72];
	uint64_t size;
	char mime[96];
	char source[16];
	char execution[ID_SIZE];
	char created_at[CLOCK_RFC3339_SIZE];
};
typedef int db_version_fn(const struct db_version *version, void *arg, struct err *err);
/* Newest first; `path` NULL: each artifact once. `before` is the id of a row, or NULL. */
int db_version_list(struct db *db, const char *session, const char *path, const char *before,
		    unsigned limit, db_version_fn *fn, void *arg, struct err *err);

struct db_receipt {
	char execution[ID_SIZE];
	char status[24];
	char created_at[CLOCK_RFC3339_SIZE];
	const char *receipt; /* JSON */
	size_t receipt_len;
};
typedef int db_receipt_fn(const struct db_receipt *receipt, void *arg, struct err *err);
int db_receipt_list(struct db *db, const char *session, const char *before, unsigned limit,
		    db_receipt_fn *fn, void *arg, struct err *err);

/* ---- links ---- */
struct db_link {
	char id[ID_SIZE];
	char session[ID_SIZE];
	char tenant[ID_SIZE];
	char path[4097];   /* or "" */
	char artifact[48]; /* or "" */
	char name[256];
	char created_at[CLOCK_RFC3339_SIZE];
	uint64_t expires; /* seconds since 1970 */
	uint64_t max_downloads; /* 0: any number */
	uint64_t downloads;
};
int db_link_add(struct db *db, const struct db_link *link, struct err *err);
/* 1 if the link existed. */
int db_link_remove(struct db *db, const char *session, const char *id, struct err *err);
int db_link_find(struct db *db, const char *id, struct db_link *ret, struct err *err);
/* 1: counted; 0: the link has no downloads left. */
int db_link_use(struct db *db, const char *id, struct err *err);
typedef int db_link_fn(const struct db_link *link, void *arg, struct err *err);
int db_link_list(struct db *db, const char *session, const char *before, unsigned limit,
		 db_link_fn *fn, void *arg, struct err *err);
