/*
 * document.h - documents, and files of tenants, which are documents that have a content in the store.
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
/* Whether it may stand as metadata, or as a filter; answers when it may not. */
bool document_labels(struct host *host, const struct request *req, const char *json, size_t len);
/*
 * 1: it is there; 0: it is not, or has expired: then its row is named all the same, for whoever puts
 * another in its place; -1: answered that the database cannot be read.
 */
int document_find(struct host *host, const struct request *req, const char *collection,
		  const char *id, struct db_document *ret);
/* The number of the document that a page begins behind (`id` NULL: 0); false when it was answered. */
bool document_cursor(struct host *host, const struct request *req, const char *collection,
		     const char *id, uint64_t *ret);
/* With its entry of the audit; counted as the tenant's. */
int document_put(struct host *host, struct tenant *tenant, const char *action,
		 struct db_document *document, uint64_t old_size, uint64_t instead_of,
		 struct err *err);
/* Removes it and answers; false when that was an error. */
bool document_remove(struct host *host, const struct request *req, const char *action,
		     const struct db_document *document);
/* Removes those whose time is over, at most `limit`; in a transaction of its caller's. */
int document_expire(struct host *host, uint64_t now_ms, unsigned limit, struct err *err);

/* ---- volume.c ---- */
void volume_done(struct job *job); /* something was done with the content of a volume, or not */

/* ---- stored.c ---- */
void stored_done(struct job *job); /* it is in the store, or could not be */
/* A new session's files: the copies as jobs in a list, each of which tells what it did by `on_done`,
 * and those that it has by reference; false when it was answered with an error. */
struct file_mount;
bool stored_imports(struct host *host, const struct request *req, const struct api_list *files,
		    job_done_fn *on_done, struct job **ret, struct file_mount **ret_mounts);

/* ---- sessions/session.c ---- */
void session_reply_opened(const struct session *session, uint64_t request);
