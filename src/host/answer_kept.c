/*
 * answer_kept.c - what outlives a session: artifacts, versions of files, receipts; templates.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked requests, the database, the store.
 * Never:    asks a kernel: all of this can be had when the session is gone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "host/db_files.h"
#include "host/call.h"
#include "host/host.h"
#include "host/usage.h"

#define LIST_DEFAULT 100u

static void fail_removed(struct host *host, const struct asked *asked, const char *message,
			 const char *cause)
{
	peer_fail(host, asked->id, FRONT_ERR_EXPIRED, message, cause,
		  "run the code again that made it", 0);
}

/* Whether it was this tenant's, and collected; then that is answered. */
static bool was_removed(struct host *host, const struct asked *asked, const char *handle,
			const char *message)
{
	char removed_at[CLOCK_RFC3339_SIZE], cause[160];
	const char *digits = strchr(handle, '_');
	struct err err;

	if (digits == NULL || db_tombstone_find(host->db, asked->tenant->row.id, digits + 1,
						removed_at, &err) != 1)
		return false;
	(void)snprintf(cause, sizeof(cause), "it was removed at %s: no session and no record named "
		       "it, and store-keep was over", removed_at);
	fail_removed(host, asked, message, cause);
	audit_note(host, "artifact.get", handle, "failed", "bytes=0");
	return true;
}

void answer_artifact(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_INLINE_MAX);
	cleanup_fd int fd = -1;
	char handle[64] = "", message[128];
	reckon_file_info info;
	reckon_error error;
	uint64_t size;
	struct err err;

	(void)front_text(asked->items, asked->count, FRONT_TAG_HANDLE, handle, sizeof(handle));
	/* Another tenant's and none at all are one case, so that nothing tells them apart. */
	(void)snprintf(message, sizeof(message), "there is no artifact or output %s", handle);
	if (!usage_owns(host, asked->tenant, handle)) {
		if (was_removed(host, asked, handle, message))
			return;
		peer_fail(host, asked->id, FRONT_ERR_NOT_FOUND, message, "",
			  "the records of executions name those that there are", 0);
		audit_note(host, "artifact.get", handle, "failed", "bytes=0");
		return;
	}
	if (reckon_artifact_open(host->engine, handle, &fd, &size, &error) < 0 ||
	    reckon_file_describe(fd, handle, &info, &error) < 0) {
		if (error.code == RECKON_ENOT_FOUND)
			/* The tenant's once: the daemon that shares the store needed it no more. */
			fail_removed(host, asked, message, "nothing named it any more");
		else
			peer_fail_reckon(host, asked->id, &error);
		audit_note(host, "artifact.get", handle, "failed", "bytes=0");
		return;
	}
	/* Named by its content. */
	(void)snprintf(info.etag, sizeof(info.etag), "%s", handle);
	usage_add(host, asked->tenant, &(struct front_usage){ .bytes_out = info.size });
	audit_note(host, "artifact.get", handle, "ok", "bytes=%llu",
		   (unsigned long long)info.size);
	if (file_pack_info(&payload, &info, &err) == 0)
		peer_reply(host, asked->id, &payload, TAKE_FD(fd));
}

static int pack_version(const struct db_version *row, void *arg, struct err *err)
{
	struct buf *payload = arg;
	const struct {
		enum front_tag tag;
		const char *text;
	} texts[] = {
		{ FRONT_TAG_ID, row->id },
		{ FRONT_TAG_PATH, row->path },
		{ FRONT_TAG_ARTIFACT, row->artifact },
		{ FRONT_TAG_SHA256, row->sha256 },
		{ FRONT_TAG_MIME, row->mime },
		{ FRONT_TAG_SOURCE, row->source },
		{ FRONT_TAG_EXECUTION, row->execution },
		{ FRONT_TAG_CREATED_AT, row->created_at },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (texts[i].text[0] != '\0' &&
		    front_pack_text(payload, texts[i].tag, texts[i].text, err) < 0)
			return (int)err->code;
	return front_pack_u64(payload, FRONT_TAG_SIZE, row->size, err);
}

static int pack_receipt(const struct db_receipt *row, void *arg, struct err *err)
{
	struct buf *payload = arg;

	if (front_pack_text(payload, FRONT_TAG_EXECUTION, row->execution, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_STATUS, row->status, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_CREATED_AT, row->created_at, err) < 0)
		return (int)err->code;
	return front_pack(payload, FRONT_TAG_METADATA, row->receipt, row->receipt_len, err);
}

static int pack_link(const struct db_link *row, void *arg, struct err *err)
{
	struct buf *payload = arg;

	if (front_pack_text(payload, FRONT_TAG_ID, row->id, err) < 0 ||
	    (row->path[0] != '\0' &&
	     front_pack_text(payload, FRONT_TAG_PATH, row->path, err) < 0) ||
	    (row->artifact[0] != '\0' &&
	     front_pack_text(payload, FRONT_TAG_ARTIFACT, row->artifact, err) < 0) ||
	    front_pack_text(payload, FRONT_TAG_FILE_NAME, row->name, err) < 0 ||
	    front_pack_text(payload, FRONT_TAG_CREATED_AT, row->created_at, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_LINK_ENDS, row->expires, err) < 0 ||
	    front_pack_u64(payload, FRONT_TAG_COUNT, row->downloads, err) < 0)
		return (int)err->code;
	return row->max_downloads == 0
		       ? 0
		       : front_pack_u64(payload, FRONT_TAG_MAX_DOWNLOADS, row->max_downloads, err);
}

struct page {
	char session[ID_SIZE];
	char before_text[ID_SIZE];
	const char *before;
	unsigned limit;
};

/* False when it was answered with an error. */
static bool take_page(struct host *host, const struct asked *asked, struct page *ret)
{
	const uint64_t limit = front_u64(asked->items, asked->count, FRONT_TAG_LIMIT, LIST_DEFAULT);

	ret->limit = limit > FRONT_LIST_MAX ? FRONT_LIST_MAX : (unsigned)limit;
	ret->before = front_text(asked->items, asked->count, FRONT_TAG_BEFORE, ret->before_text,
				 sizeof(ret->before_text))
			      ? ret->before_text
			      : NULL;
	return answer_was_session(host, asked, ret->session);
}

void answer_kept_list(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	struct page page;
	struct err err;
	int code;

	if (!take_page(host, asked, &page))
		return;
	switch (front_u64(asked->items, asked->count, FRONT_TAG_WHAT, 0)) {
	case FRONT_KEPT_ARTIFACTS:
		code = db_version_list(host->db, page.session, NULL, page.before, page.limit,
				       pack_version, &payload, &err);
		break;
	case FRONT_KEPT_RECEIPTS:
		code = db_receipt_list(host->db, page.session, page.before, page.limit,
				       pack_receipt, &payload, &err);
		break;
	case FRONT_KEPT_LINKS:
		code = db_link_list(host->db, page.session, page.before, page.limit, pack_link,
				    &payload, &err);
		break;
	default:
		peer_fail(host, asked->id, FRONT_ERR_INVALID, "there is no such list", "", "", 0);
		return;
	}
	if (code < 0)
		peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", err.remedy, 0);
	else
		peer_reply(host, asked->id, &payload, -1);
}

void answer_version_list(struct host *host, const struct asked *asked)
{
	cleanup_buf struct buf payload = BUF_INIT(FRONT_PAYLOAD_MAX);
	cleanup_free char *path = answer_text(asked, FRONT_TAG_PATH);
	struct page page;
	struct err err;

	if (!take_page(host, asked, &page))
		return;
	if (db_version_list(host->db, page.session, path != NULL ? path : "", page.before,
			    page.limit, pack_version, &payload, &err) < 0)
		peer_fail(host, asked->id, FRONT_ERR_INTERNAL, err.text, "", err.remedy, 0);
	else
		peer_reply(host, asked->id, &payload, -1);
}

void handle_template_list(struct host *host, const struct asked *asked,
			  const struct api_template_list_in *in)
{
	cleanup_free char *json = NULL;
	reckon_error error;

	(void)in;
	if (reckon_template_list(host->engine, NULL, &json, &error) < 0)
		peer_fail_reckon(host, asked->id, &error);
	else
		reply_template_list(host, asked->id,
				    &(struct api_template_list_out){ { json, strlen(json) } });
}

void handle_template_show(struct host *host, const struct asked *asked,
			  const struct api_template_show_in *in)
{
	cleanup_free char *json = NULL;
	reckon_error error;

	if (reckon_template_list(host->engine, in->template, &json, &error) < 0)
		peer_fail_reckon(host, asked->id, &error);
	else
		reply_template_show(host, asked->id,
				    &(struct api_template_show_out){ { json, strlen(json) } });
}
