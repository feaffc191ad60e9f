/*
 * document.h - documents, and files of tenants, which are documents with a content in the store.
 *
 * A file's document is in a collection that no client can name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/calls.h"
#include "host/db/tables/document.h"
#include "host/executions/job.h"

#define DOCUMENT_FILES "/files"
#define DOCUMENT_VOLUMES "/volumes"

struct request;
struct host;
struct job;
struct session;
struct tenant;

/* ---- document.c ---- */
/* Whether the text is valid as metadata or as a filter; if not, answers the request. */
bool document_labels(struct host *host, const struct request *req, const char *json, size_t len);
/*
 * 1: found; 0: it does not exist, or has expired: then *ret has its row, for a new document with
 * this id; -1: answered with an error.
 */
int document_find(struct host *host, const struct request *req, const char *collection,
		  const char *id, struct db_document *ret);
/*
 * The number of the document that a page starts after (`id` NULL: 0); false: answered with an
 * error.
 */
bool document_cursor(struct host *host, const struct request *req, const char *collection,
		     const char *id, uint64_t *ret);
/* Stores it with an entry of the audit, and adds its size to the tenant's. */
int document_put(struct host *host, struct tenant *tenant, const char *action,
		 struct db_document *document, uint64_t old_size, uint64_t instead_of,
		 struct err *err);
/* Removes it and answers; false: answered with an error. */
bool document_remove(struct host *host, const struct request *req, const char *action,
		     const struct db_document *document);
/* Removes expired documents, at most `limit`, in the caller's transaction. */
int document_expire(struct host *host, uint64_t now_ms, unsigned limit, struct err *err);

/* ---- volume.c ---- */
void volume_done(struct job *job); /* a JOB_VOLUME has returned */

/* ---- stored.c ---- */
void stored_done(struct job *job); /* a JOB_STORE has returned */
/*
 * The files for a new session: *ret has the jobs that copy files, each with `on_done`; *ret_mounts
 * has the files to mount. False: answered with an error.
 */
struct file_mount;
bool stored_imports(struct host *host, const struct request *req, const struct api_list *files,
		    job_done_fn *on_done, struct job **ret, struct file_mount **ret_mounts);

/* ---- sessions/session.c ---- */
void session_reply_opened(const struct session *session, uint64_t request);
