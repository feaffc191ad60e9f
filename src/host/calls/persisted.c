/*
 * persisted.c - calls for what outlives a session: artifacts, versions of files, receipts, links;
 * also templates.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests, the database, the store.
 * Never:    needs a kernel: all of this works after the session has ended.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db/tables/files.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/tenants/usage.h"

#define LIST_DEFAULT 100u

static void fail_removed(struct host *host, const struct request *req, const char *message,
			 const char *cause)
{
	front_fail(host, req->id, API_ERR_EXPIRED, message, cause,
		  "run the code again that made it", 0);
}

/* Whether the tenant had this object and it was removed from the store; then answers that. */
static bool was_removed(struct host *host, const struct request *req, const char *handle,
			const char *message)
{
	char removed_at[CLOCK_RFC3339_SIZE], cause[160];
	const char *digits = strchr(handle, '_');
	struct err err;

	if (digits == NULL || db_tombstone_find(host->db, req->tenant->row.id, digits + 1,
						removed_at, &err) != 1)
		return false;
	(void)snprintf(cause, sizeof(cause), "it was removed at %s: no session and no record named "
		       "it, and store-keep was over", removed_at);
	fail_removed(host, req, message, cause);
	audit_note(host, "artifact.get", handle, "failed", "bytes=0");
	return true;
}

/* Answers with an artifact or output from the store, if it belongs to the tenant. */
static void get(struct host *host, const struct request *req, const char *handle)
{
	cleanup_fd int fd = -1;
	struct api_download reply;
	reckon_file_info info;
	char message[128];
	reckon_error error;
	uint64_t size;

	/* The same answer for another tenant's object and for one that does not exist. */
	(void)snprintf(message, sizeof(message), "there is no artifact or output %s", handle);
	if (!usage_owns(host, req->tenant, handle)) {
		if (was_removed(host, req, handle, message))
			return;
		front_fail(host, req->id, API_ERR_NOT_FOUND, message, "",
			  "the records of executions name those that there are", 0);
		audit_note(host, "artifact.get", handle, "failed", "bytes=0");
		return;
	}
	if (reckon_artifact_open(host->engine, handle, &fd, &size, &error) < 0 ||
	    reckon_file_describe(fd, handle, &info, &error) < 0) {
		if (error.code == RECKON_ENOT_FOUND)
			/*
			 * It belonged to the tenant, but the other daemon that shares the store
			 * removed it.
			 */
			fail_removed(host, req, message, "nothing named it any more");
		else
			front_fail_reckon(host, req->id, &error);
		audit_note(host, "artifact.get", handle, "failed", "bytes=0");
		return;
	}
	usage_add(host, req->tenant, &(struct front_usage){ .bytes_out = info.size });
	audit_note(host, "artifact.get", handle, "ok", "bytes=%llu",
		   (unsigned long long)info.size);
	reply = file_tell(&info);
	reply.etag = handle; /* its content determines its id */
	reply_download(host, req->id, &reply, TAKE_FD(fd));
}

void handle_artifact_get(struct host *host, const struct request *req,
			 const struct api_artifact_get_in *in)
{
	get(host, req, in->artifact);
}

void handle_output_get(struct host *host, const struct request *req,
		       const struct api_output_get_in *in)
{
	get(host, req, in->handle);
}

/* ---- lists ---------------------------------------------------------------------------------- */

struct page {
	struct arena arena;
	size_t size; /* of an entry */
	char *items;
	size_t count;
	const char *next; /* `before` for the next page */
};

static void list_begin(struct page *page, unsigned limit, size_t size)
{
	*page = (struct page){ .size = size };
	page->items = arena_new(&page->arena, limit, size);
}

static void *list_add(struct page *page)
{
	return page->items + page->size * page->count++;
}

static struct api_list list_of(const struct page *page)
{
	return (struct api_list){ page->items, page->count };
}

static const char *keep_text(struct page *page, const char *text)
{
	return arena_text(&page->arena, text, strlen(text));
}

/* The same; NULL for "", which means unknown. */
static const char *keep_known(struct page *page, const char *text)
{
	return text[0] != '\0' ? keep_text(page, text) : NULL;
}

static int add_version(const struct db_version *row, void *arg, struct err *err)
{
	struct page *page = arg;
	struct api_version *reply = list_add(page);

	(void)err;
	*reply = (struct api_version){
		.artifact = keep_text(page, row->artifact),
		.path = keep_known(page, row->path),
		.size = row->size,
		.mime = keep_known(page, row->mime),
		.sha256 = keep_known(page, row->sha256),
		.source = keep_text(page, row->source),
		.execution = keep_known(page, row->execution),
		.created_at = keep_text(page, row->created_at),
	};
	page->next = keep_text(page, row->id);
	return 0;
}

static int add_receipt(const struct db_receipt *row, void *arg, struct err *err)
{
	struct page *page = arg;
	struct api_receipt *reply = list_add(page);

	(void)err;
	*reply = (struct api_receipt){
		.execution = keep_text(page, row->execution),
		.status = keep_text(page, row->status),
		.created_at = keep_text(page, row->created_at),
	};
	if (row->receipt_len > 0)
		reply->receipt = (struct api_bytes){
			arena_text(&page->arena, row->receipt, row->receipt_len),
			row->receipt_len
		};
	page->next = reply->execution;
	return 0;
}

static int add_link(const struct db_link *row, void *arg, struct err *err)
{
	struct page *page = arg;
	struct api_link *reply = list_add(page);

	(void)err;
	*reply = (struct api_link){
		.id = keep_text(page, row->id),
		.name = keep_text(page, row->name),
		.expires_at_ms = row->expires * 1000,
		.path = keep_known(page, row->path),
		.artifact = keep_known(page, row->artifact),
		.created_at = keep_text(page, row->created_at),
		.downloads = row->downloads,
		.has_max_downloads = row->max_downloads != 0,
		.max_downloads = row->max_downloads,
	};
	page->next = reply->id;
	return 0;
}

static void fail_list(struct host *host, const struct request *req, const struct err *err)
{
	front_fail_err(host, req->id, err);
}

void handle_artifact_list(struct host *host, const struct request *req,
			  const struct api_artifact_list_in *in)
{
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	struct page page;
	struct err err;

	if (!was_session_named(host, req, in->session))
		return;
	list_begin(&page, limit, sizeof(struct api_version));
	if (db_version_list(host->db, in->session, NULL, in->before, limit, add_version, &page,
			    &err) < 0)
		fail_list(host, req, &err);
	else
		reply_artifact_list(host, req->id,
				    &(struct api_artifacts){ list_of(&page), page.next });
	arena_done(&page.arena);
}

static int forget_audited(struct host *host, const char *session, const char *artifact,
			  struct err *err)
{
	int code;

	if (audit_begin(host, err) < 0)
		return (int)err->code;
	code = db_artifact_forget(host->db, session, artifact, err);
	if (code == 1 &&
	    audit_add(host, "artifact.delete", artifact, "ok", err, "session=%s", session) < 0)
		code = (int)err->code;
	return audit_commit(host, code, err);
}

void handle_artifact_delete(struct host *host, const struct request *req,
			    const struct api_artifact_delete_in *in)
{
	struct err err;
	int found;

	if (!was_session_named(host, req, in->session))
		return;
	found = forget_audited(host, in->session, in->artifact, &err);
	if (found == 1)
		reply_done(host, req->id);
	else if (found == 0)
		front_fail(host, req->id, API_ERR_NOT_FOUND, "this session has no such artifact",
			   "", "list them: GET /reckon/v1/sessions/ID/artifacts", 0);
	else
		front_fail(host, req->id, API_ERR_INTERNAL, err.text, "", err.remedy, 0);
}

void handle_version_list(struct host *host, const struct request *req,
			 const struct api_version_list_in *in)
{
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	struct page page;
	struct err err;

	if (!was_session_named(host, req, in->session))
		return;
	list_begin(&page, limit, sizeof(struct api_version));
	if (db_version_list(host->db, in->session, in->path, in->before, limit, add_version,
			    &page, &err) < 0)
		fail_list(host, req, &err);
	else
		reply_version_list(host, req->id,
				   &(struct api_versions){ list_of(&page), page.next });
	arena_done(&page.arena);
}

void handle_receipt_list(struct host *host, const struct request *req,
			 const struct api_receipt_list_in *in)
{
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	struct page page;
	struct err err;

	if (!was_session_named(host, req, in->session))
		return;
	list_begin(&page, limit, sizeof(struct api_receipt));
	if (db_receipt_list(host->db, in->session, in->before, limit, add_receipt, &page, &err) < 0)
		fail_list(host, req, &err);
	else
		reply_receipt_list(host, req->id,
				   &(struct api_receipts){ list_of(&page), page.next });
	arena_done(&page.arena);
}

void handle_link_list(struct host *host, const struct request *req,
		      const struct api_link_list_in *in)
{
	const unsigned limit = in->has_limit ? (unsigned)in->limit : LIST_DEFAULT;
	struct page page;
	struct err err;

	if (!was_session_named(host, req, in->session))
		return;
	list_begin(&page, limit, sizeof(struct api_link));
	if (db_link_list(host->db, in->session, in->before, limit, add_link, &page, &err) < 0)
		fail_list(host, req, &err);
	else
		reply_link_list(host, req->id, &(struct api_links){ list_of(&page), page.next });
	arena_done(&page.arena);
}

/* ---- templates ------------------------------------------------------------------------------ */

void handle_template_list(struct host *host, const struct request *req,
			  const struct api_template_list_in *in)
{
	cleanup_free char *json = NULL;
	reckon_error error;

	(void)in;
	if (reckon_template_list(host->engine, NULL, &json, &error) < 0)
		front_fail_reckon(host, req->id, &error);
	else
		reply_template_list(host, req->id,
				    &(struct api_template_list_out){ { json, strlen(json) } });
}

void handle_template_show(struct host *host, const struct request *req,
			  const struct api_template_show_in *in)
{
	cleanup_free char *json = NULL;
	reckon_error error;

	if (reckon_template_list(host->engine, in->template, &json, &error) < 0)
		front_fail_reckon(host, req->id, &error);
	else
		reply_template_show(host, req->id,
				    &(struct api_template_show_out){ { json, strlen(json) } });
}
