/*
 * stored.c - calls for files of a tenant: store, list, read, remove, copy into sessions.
 *
 * Runs in:  reckond's loop; stored_work() in a thread of the pool.
 * Reads:    checked calls; the database and the store.
 * Never:    gives a tenant a content that it does not own: the tenant's rows name the contents.
 *
 * A file is a document in a collection that no client can name, and a content of the store, which
 * is removed like any other when nothing names it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "codec/json_write.h"
#include "host/calls/call.h"
#include "host/calls/tenants/document.h"
#include "host/files/file_mounts.h"
#include "host/files/stored.h"
#include "host/host.h"
#include "host/about.h"
#include "host/tenants/quota.h"
#include "host/tenants/usage.h"

#define LIST_DEFAULT 100u
#define STORED_MAX (512ull * 1024 * 1024) /* the maximum of an artifact */

/* ---- look-up -------------------------------------------------------------------------------- */

/* Buffers for the texts of a file. */
struct telling {
	char name[STORED_NAME_SIZE], media_type[STORED_MEDIA_SIZE], sha256[72], artifact[40], bytes[24];
};

static int tell(struct host *host, const struct db_document *document, struct telling *space,
		struct api_stored_file *ret, struct err *err)
{
	const struct {
		const char *path;
		char *to;
		size_t size;
	} parts[] = { { "$.name", space->name, sizeof(space->name) },
		      { "$.media_type", space->media_type, sizeof(space->media_type) },
		      { "$.sha256", space->sha256, sizeof(space->sha256) },
		      { "$.artifact", space->artifact, sizeof(space->artifact) },
		      { "$.bytes", space->bytes, sizeof(space->bytes) } };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (db_document_text(host->db, &document->value, parts[i].path, parts[i].to,
				     parts[i].size, err) < 0)
			return (int)err->code;
	*ret = (struct api_stored_file){
		.id = document->id,
		.name = space->name,
		.bytes = strtoull(space->bytes, NULL, 10),
		.media_type = space->media_type,
		.sha256 = space->sha256,
		.artifact = space->artifact,
		.created_at = document->created_at,
		.has_expires_at_ms = document->expires_ms != 0,
		.expires_at_ms = document->expires_ms,
		.metadata = { document->metadata.data, document->metadata.len },
	};
	return 0;
}

static void fail_missing(struct host *host, const struct request *req, const char *id)
{
	char message[96];

	(void)snprintf(message, sizeof(message), "there is no file %s", id);
	front_fail(host, req->id, API_ERR_NOT_FOUND, message, "",
		  "list them: GET /reckon/v1/files", 0);
}

/* False: answered with an error. */
static bool find(struct host *host, const struct request *req, const char *id,
		 struct db_document *document, struct telling *space, struct api_stored_file *ret)
{
	const int found = document_find(host, req, DOCUMENT_FILES, id, document);
	struct err err;

	if (found == 0)
		fail_missing(host, req, id);
	if (found <= 0)
		return false;
	if (tell(host, document, space, ret, &err) == 0)
		return true;
	front_fail_err(host, req->id, &err);
	return false;
}

/* Adds a purpose to the given metadata; false: answered with an error. */
static bool labels(struct host *host, const struct request *req, const char *given,
		   const char *purpose, struct buf *ret)
{
	cleanup_buf struct buf patch = BUF_INIT(4096);
	struct buf object = BUF_INIT(8192);
	struct json_writer json;
	struct err err;
	int code;

	if (given == NULL)
		given = "{}";
	if (!document_labels(host, req, given, strlen(given)))
		return false;
	json_write_init(&json, &patch);
	json_write_object_begin(&json);
	if (purpose != NULL)
		json_write_member_string(&json, "purpose", purpose);
	json_write_object_end(&json);
	code = json_write_finish(&json, &err);
	if (code == 0)
		code = buf_adds(&object, given, &err);
	if (code == 0)
		code = db_document_merge(host->db, &object, buf_text(&patch), patch.len, ret, &err);
	buf_done(&object);
	if (code < 0)
		front_fail_err(host, req->id, &err);
	return code == 0 && document_labels(host, req, buf_text(ret), ret->len);
}

/* ---- storing -------------------------------------------------------------------------------- */

void handle_stored_create(struct host *host, const struct request *req,
			  const struct api_stored_create_in *in)
{
	const uint64_t left = MIN(quota_disk_left(host, req->tenant), STORED_MAX);
	struct upload *upload;
	struct stored *stored;
	int theirs;

	if (in->size > STORED_MAX) {
		front_fail(host, req->id, API_ERR_LIMIT, "the file is larger than 512 MiB", "",
			  "store it in parts", 0);
		return;
	}
	if (text_is_dots(in->name) || strchr(in->name, '/') != NULL) {
		front_fail(host, req->id, API_ERR_INVALID,
			   "name must be one of a file, without '/'", "", "", 0);
		return;
	}
	if (!quota_disk(host, req, in->size))
		return;
	stored = mem_new0(1, sizeof(*stored));
	db_document_init(&stored->document);
	stored->tenant = req->tenant;
	(void)snprintf(stored->name, sizeof(stored->name), "%s", in->name);
	(void)snprintf(stored->media_type, sizeof(stored->media_type), "%s",
		       in->media_type != NULL ? in->media_type : "");
	if (in->has_expires_in_s)
		stored->document.expires_ms =
			monotonic_now(&host->monotonic) + in->expires_in_s * 1000;
	if (!labels(host, req, in->metadata, in->purpose, &stored->document.metadata)) {
		stored_free(stored);
		return;
	}
	upload = upload_begin(host, req, &theirs);
	if (upload == NULL) {
		stored_free(stored);
		return;
	}
	upload->stored = stored;
	upload_reply(host, req, left, theirs);
}

void handle_stored_commit(struct host *host, const struct request *req,
			  const struct api_stored_commit_in *in)
{
	struct upload *upload = upload_find(host, req, in->ticket, UPLOAD_STORED);
	struct job *job;

	if (upload == NULL)
		return;
	/* A COMMIT has no key: it acts for the key that began the upload. */
	memcpy(host->actor, upload->actor, sizeof(host->actor));
	(void)snprintf(host->about.tenant, sizeof(host->about.tenant), "%s",
		       upload->tenant->row.id);
	job = job_new(NULL, JOB_STORE, req->id);
	about_note(host, job);
	job->host = host;
	job->stored = TAKE_PTR(upload->stored);
	job->fd = TAKE_FD(upload->fd);
	upload_drop(upload);
	pool_submit_to(host->pools.files, job->stored->tenant->file_lane, &job->item);
}

static int write_value(struct stored *stored, struct err *err)
{
	const char *type = stored->media_type[0] != '\0' ? stored->media_type : stored->info.mime;
	struct json_writer json;

	json_write_init(&json, &stored->document.value);
	json_write_object_begin(&json);
	json_write_member_string(&json, "name", stored->name);
	json_write_member_string(&json, "media_type",
				 type[0] != '\0' ? type : "application/octet-stream");
	json_write_member_uint(&json, "bytes", stored->info.size);
	json_write_member_string(&json, "sha256", stored->info.sha256);
	json_write_member_string(&json, "artifact", stored->info.artifact);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

static int keep(struct host *host, struct stored *stored, struct err *err)
{
	struct db_document *document = &stored->document;
	const char *digits = strchr(stored->info.artifact, '_');

	if (id_new(document->id, "file", err) < 0)
		return (int)err->code;
	(void)snprintf(document->collection, sizeof(document->collection), DOCUMENT_FILES);
	(void)snprintf(document->content, sizeof(document->content), "%s",
		       digits != NULL ? digits + 1 : "");
	if (write_value(stored, err) < 0)
		return (int)err->code;
	return document_put(host, stored->tenant, "tenant_file.create", document, 0, 0, err);
}

/* Runs in a transaction: the answer is sent when it is synced. */
static void answer_stored(struct host *host, struct job *job)
{
	struct stored *stored = job->stored;
	const struct request req = { .id = job->request, .tenant = stored->tenant };
	struct api_stored_file reply;
	struct telling space;
	struct err err;

	/* The quota may have been reached meanwhile. */
	if (!usage_owns(host, stored->tenant, stored->info.artifact) &&
	    !quota_disk(host, &req, stored->info.size))
		return;
	if (stored->tenant->is_deleted) {
		front_fail(host, job->request, API_ERR_TENANT_NOT_FOUND,
			  "the tenant was deleted meanwhile", "", "", 0);
		return;
	}
	if (keep(host, stored, &err) < 0 ||
	    tell(host, &stored->document, &space, &reply, &err) < 0) {
		front_fail_err(host, job->request, &err);
		return;
	}
	usage_own(host, stored->tenant, stored->info.artifact, stored->info.size);
	usage_add(host, stored->tenant, &(struct front_usage){ .bytes_in = stored->info.size });
	reply_stored_commit(host, job->request, &reply);
}

void stored_done(struct job *job)
{
	struct host *host = job->host;

	if (job->error.code < 0)
		front_fail_reckon(host, job->request, &job->error);
	else
		answer_stored(host, job);
	job_free(job);
}

/* ---- reading -------------------------------------------------------------------------------- */

void handle_stored_show(struct host *host, const struct request *req,
			const struct api_stored_show_in *in)
{
	cleanup_document struct db_document document;
	struct api_stored_file reply;
	struct telling space;

	db_document_init(&document);
	if (find(host, req, in->file, &document, &space, &reply))
		reply_stored_show(host, req->id, &reply);
}

void handle_stored_delete(struct host *host, const struct request *req,
			  const struct api_stored_delete_in *in)
{
	cleanup_document struct db_document document;
	struct api_stored_file reply;
	struct telling space;

	db_document_init(&document);
	if (find(host, req, in->file, &document, &space, &reply))
		(void)document_remove(host, req, "tenant_file.delete", &document);
}

void handle_stored_get(struct host *host, const struct request *req,
		       const struct api_stored_get_in *in)
{
	cleanup_document struct db_document document;
	struct api_stored_file found;
	struct api_download reply;
	struct telling space;
	reckon_error error;
	uint64_t size;
	int fd;

	db_document_init(&document);
	if (!find(host, req, in->file, &document, &space, &found))
		return;
	if (reckon_artifact_open(host->engine, found.artifact, &fd, &size, &error) < 0) {
		front_fail_reckon(host, req->id, &error);
		return;
	}
	usage_add(host, req->tenant, &(struct front_usage){ .bytes_out = size });
	audit_note(host, "tenant_file.get", in->file, "ok", "bytes=%llu", (unsigned long long)size);
	reply = (struct api_download){ .size = size,
				      .mime = found.media_type,
				      .etag = found.artifact,
				      .name = found.name };
	reply_download(host, req->id, &reply, fd);
}

struct page {
	struct host *host;
	struct arena arena;
	struct api_stored_file *items;
	size_t count, limit;
	bool are_more;
};

static const char *copy(struct page *page, const char *text)
{
	return arena_text(&page->arena, text, strlen(text));
}

static int add_one(const char *tenant, const struct db_document *document, void *arg,
		   struct err *err)
{
	struct page *page = arg;
	struct api_stored_file reply;
	struct telling space;

	(void)tenant;
	page->are_more = page->count == page->limit;
	if (page->are_more)
		return 1;
	if (tell(page->host, document, &space, &reply, err) < 0)
		return (int)err->code;
	reply.id = copy(page, reply.id);
	reply.name = copy(page, reply.name);
	reply.media_type = copy(page, reply.media_type);
	reply.sha256 = copy(page, reply.sha256);
	reply.artifact = copy(page, reply.artifact);
	reply.created_at = copy(page, reply.created_at);
	reply.metadata.data = arena_text(&page->arena, reply.metadata.data, reply.metadata.len);
	page->items[page->count++] = reply;
	return 0;
}

void handle_stored_list(struct host *host, const struct request *req,
			const struct api_stored_list_in *in)
{
	cleanup_buf struct buf filter = BUF_INIT(8192);
	struct page page = { .host = host, .limit = in->has_limit ? in->limit : LIST_DEFAULT };
	struct db_document_list list = {
		.tenant = req->tenant->row.id,
		.collection = DOCUMENT_FILES,
		.now_ms = monotonic_now(&host->monotonic),
		.is_ascending = in->order == API_STORED_LIST_IN_ORDER_ASC,
		.with_values = true,
		.limit = (unsigned)page.limit + 1,
	};
	struct err err;

	if (!labels(host, req, in->metadata, in->purpose, &filter) ||
	    !document_cursor(host, req, DOCUMENT_FILES, in->before, &list.before) ||
	    !document_cursor(host, req, DOCUMENT_FILES, in->after, &list.after))
		return;
	list.filter = buf_text(&filter);
	page.items = arena_new(&page.arena, page.limit, sizeof(*page.items));
	if (db_document_list(host->db, &list, add_one, &page, &err) < 0)
		front_fail_err(host, req->id, &err);
	else
		reply_stored_list(host, req->id,
				  &(struct api_stored_files){
					  .files = { page.items, page.count },
					  .next = page.are_more ? page.items[page.count - 1].id
								: NULL });
	arena_done(&page.arena);
}

/* ---- into sessions -------------------------------------------------------------------------- */

/* A content and its path; import() returns -1 if the request is answered with an error. */
struct import {
	char *path, artifact[40];
	int fd;
};

static int import(struct host *host, const struct request *req, const char *id, const char *path,
		  struct import *ret)
{
	cleanup_document struct db_document document;
	struct api_stored_file found;
	struct telling space;
	reckon_error error;
	uint64_t size;

	db_document_init(&document);
	if (!find(host, req, id, &document, &space, &found))
		return -1;
	if (reckon_artifact_open(host->engine, found.artifact, &ret->fd, &size, &error) < 0) {
		front_fail_reckon(host, req->id, &error);
		return -1;
	}
	ret->path = mem_strdup(path != NULL ? path : found.name);
	(void)snprintf(ret->artifact, sizeof(ret->artifact), "%s", found.artifact);
	return 0;
}

static struct job *put_of(struct session *session, const struct request *req,
			  const struct import *import)
{
	struct job *job = job_new(session, JOB_FILE_PUT, req->id);

	job->fd = import->fd;
	job->path = import->path;
	return job;
}

static struct file_mount *mount_of(const struct import *import)
{
	struct file_mount *mount = mem_new0(1, sizeof(*mount));

	mount->fd = import->fd;
	mount->path = import->path;
	(void)snprintf(mount->artifact, sizeof(mount->artifact), "%s", import->artifact);
	return mount;
}

void handle_stored_copy(struct host *host, const struct request *req,
			const struct api_stored_copy_in *in)
{
	struct session *session = answer_session_for_files(host, req, in->session);
	struct import one;

	if (session != NULL && import(host, req, in->file, in->path, &one) == 0)
		file_queue_enqueue(session, put_of(session, req, &one));
}

/* Appends to one of both lists. */
static int add_import(struct host *host, const struct request *req, const struct api_import *file,
		      job_done_fn *on_done, struct job ***last, struct file_mount ***last_mount)
{
	struct import one;

	if (import(host, req, file->file, file->path, &one) < 0)
		return -1;
	if (file->mount) {
		**last_mount = mount_of(&one);
		*last_mount = &(**last_mount)->next;
	} else {
		**last = put_of(NULL, req, &one);
		(**last)->on_done = on_done;
		*last = &(**last)->next;
	}
	return 0;
}

static bool mounts_are_good(struct host *host, const struct request *req,
			    const struct file_mount *mounts)
{
	struct err err;

	if (file_mounts_check(mounts, &err) == 0)
		return true;
	front_fail(host, req->id, API_ERR_INVALID, err.text, "", "", 0);
	return false;
}

bool stored_imports(struct host *host, const struct request *req, const struct api_list *files,
		    job_done_fn *on_done, struct job **ret, struct file_mount **ret_mounts)
{
	const struct api_import *file = files->items;
	struct job **last = ret;
	struct file_mount **last_mount = ret_mounts;
	size_t i = 0;

	*ret = NULL;
	*ret_mounts = NULL;
	if (files->count == 0)
		return true;
	if (!answer_check_scope(host, req, FRONT_SCOPE_FILES))
		return false;
	while (i < files->count && add_import(host, req, &file[i], on_done, &last, &last_mount) == 0)
		i++;
	if (i == files->count && mounts_are_good(host, req, *ret_mounts))
		return true;
	file_mounts_free(TAKE_PTR(*ret_mounts));
	for (struct job *job = *ret, *next; job != NULL; job = next) {
		next = job->next;
		job_free(job);
	}
	*ret = NULL;
	return false;
}
