/*
 * volume.c - calls for volumes: create, list, remove, read and write files.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls; the database.
 * Never:    accesses the content itself: a thread does that (volumes/work.c).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "codec/json_write.h"
#include "host/about.h"
#include "host/calls/call.h"
#include "host/calls/tenants/document.h"
#include "host/host.h"
#include "host/sessions/token.h"
#include "host/tenants/quota.h"
#include "host/tenants/usage.h"
#include "host/volumes/work.h"

#define FIRST_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
#define NAME_CHARACTERS FIRST_CHARACTERS "_.-"
#define BYTES_MAX (1ull << 50) /* of one file, if nothing else limits it */

/* ---- volumes -------------------------------------------------------------------------------- */

static struct api_volume tell(const struct host *host, const struct volume *volume)
{
	return (struct api_volume){
		.id = volume->id,
		.name = volume->name,
		.created_at = volume->created_at,
		.has_bytes = volume->is_measured,
		.bytes = volume->bytes,
		.has_entries = volume->is_measured,
		.entries = volume->entries,
		.limit_bytes = host->config.max_volume,
		.sessions = volume_users(host, volume),
	};
}

static void fail_missing(struct host *host, const struct request *req, const char *named)
{
	char message[128];

	(void)snprintf(message, sizeof(message), "there is no volume %.63s", named);
	front_fail(host, req->id, API_ERR_NOT_FOUND, message, "",
		   "list them: GET /reckon/v1/volumes", 0);
}

static struct volume *find(struct host *host, const struct request *req, const char *named)
{
	struct volume *volume = volume_find(host, req->tenant, named);

	if (volume == NULL)
		fail_missing(host, req, named);
	return volume;
}

void handle_volume_list(struct host *host, const struct request *req,
			const struct api_volume_list_in *in)
{
	struct api_volume items[VOLUMES_MAX];
	size_t count = 0;

	(void)in;
	for (const struct volume *at = host->volumes.first; at != NULL && count < VOLUMES_MAX;
	     at = at->next)
		if (at->tenant == req->tenant && !at->is_removed)
			items[count++] = tell(host, at);
	reply_volume_list(host, req->id, &(struct api_volumes){ { items, count } });
}

void handle_volume_show(struct host *host, const struct request *req,
			const struct api_volume_show_in *in)
{
	const struct volume *volume = find(host, req, in->volume);
	struct api_volume reply;

	if (volume == NULL)
		return;
	reply = tell(host, volume);
	reply_volume_show(host, req->id, &reply);
}

static bool may_make(struct host *host, const struct request *req, const char *name)
{
	size_t count = 0;

	if (strchr(FIRST_CHARACTERS, name[0]) == NULL ||
	    strspn(name, NAME_CHARACTERS) != strlen(name) || strncmp(name, "vol_", 4) == 0) {
		front_fail(host, req->id, API_ERR_INVALID,
			   "the name of a volume has letters, digits, '_', '.' and '-', and begins "
			   "with a letter or a digit, not with vol_",
			   "", "choose another name", 0);
		return false;
	}
	if (volume_find(host, req->tenant, name) != NULL) {
		front_fail(host, req->id, API_ERR_EXISTS, "there is a volume of this name", "",
			   "use that one, or choose another name", 0);
		return false;
	}
	for (const struct volume *at = host->volumes.first; at != NULL; at = at->next)
		count += at->tenant == req->tenant;
	if (count < VOLUMES_MAX)
		return quota_disk(host, req, 0);
	front_fail(host, req->id, API_ERR_LIMIT, "limit reached: the tenant has 100 volumes", "",
		   "remove one", 0);
	return false;
}

static int write_row(struct host *host, struct volume *volume, struct err *err)
{
	cleanup_document struct db_document document;
	struct json_writer json;

	db_document_init(&document);
	(void)snprintf(document.collection, sizeof(document.collection), DOCUMENT_VOLUMES);
	(void)snprintf(document.id, sizeof(document.id), "%s", volume->id);
	json_write_init(&json, &document.value);
	json_write_object_begin(&json);
	json_write_member_string(&json, "name", volume->name);
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0 || buf_adds(&document.metadata, "{}", err) < 0 ||
	    document_put(host, volume->tenant, "volume.create", &document, 0, 0, err) < 0)
		return (int)err->code;
	memcpy(volume->created_at, document.created_at, sizeof(volume->created_at));
	return 0;
}

void handle_volume_create(struct host *host, const struct request *req,
			  const struct api_volume_create_in *in)
{
	struct volume *volume;
	struct api_volume reply;
	struct err err;
	bool is_own;

	if (!may_make(host, req, in->name))
		return;
	if (transaction_join(host, &is_own, &err) < 0) {
		front_fail_err(host, req->id, &err);
		return;
	}
	volume = volume_add(host, req->tenant, in->name, &err);
	if (volume == NULL) {
		front_fail_err(host, req->id, &err);
	} else if (write_row(host, volume, &err) < 0) {
		volume_free(host, volume);
		front_fail_err(host, req->id, &err);
	} else {
		volume->transaction = host->transactions.current;
		reply = tell(host, volume);
		reply_volume_create(host, req->id, &reply);
	}
	transaction_leave(host, is_own, 0);
}

void handle_volume_delete(struct host *host, const struct request *req,
			  const struct api_volume_delete_in *in)
{
	cleanup_document struct db_document document;
	struct volume *volume = find(host, req, in->volume);
	char message[128];
	size_t users;
	int found;

	db_document_init(&document);
	if (volume == NULL)
		return;
	users = volume_users(host, volume);
	if (users > 0) {
		(void)snprintf(message, sizeof(message), "%zu session%s the volume mounted", users,
			       users == 1 ? " has" : "s have");
		front_fail(host, req->id, API_ERR_EXISTS, message, "", "end the sessions first", 0);
		return;
	}
	found = document_find(host, req, DOCUMENT_VOLUMES, volume->id, &document);
	if (found == 0)
		fail_missing(host, req, in->volume);
	if (found > 0 && document_remove(host, req, "volume.delete", &document))
		volume_remove(host, volume);
}

void handle_volume_token(struct host *host, const struct request *req,
			 const struct api_volume_token_in *in)
{
	const struct volume *volume = find(host, req, in->volume);
	char token[TOKEN_SIZE];

	if (volume == NULL)
		return;
	volume_token_make(host, volume->id, req->key, token);
	reply_volume_token(host, req->id, &(struct api_volume_token_out){ .token = token });
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Makes a job for a thread; NULL: answered with an error. */
static struct volume_work *begin(struct host *host, const struct request *req, enum volume_op op,
				 const char *named, const char *path)
{
	const struct volume *volume = find(host, req, named);

	return volume != NULL ? volume_work_new(op, volume, path) : NULL;
}

void handle_volume_entries(struct host *host, const struct request *req,
			   const struct api_volume_entries_in *in)
{
	struct volume_work *work = begin(host, req, VOLUME_LIST, in->volume, in->path);

	if (work == NULL)
		return;
	work->depth = in->has_depth ? (unsigned)in->depth : 1;
	volume_work_submit(host, work, req->id, -1);
}

void handle_volume_stat(struct host *host, const struct request *req,
			const struct api_volume_stat_in *in)
{
	struct volume_work *work = begin(host, req, VOLUME_STAT, in->volume, in->path);

	if (work != NULL)
		volume_work_submit(host, work, req->id, -1);
}

static bool has_entries(struct host *host, const struct request *req, const struct volume *volume)
{
	if (volume->entries <= VOLUME_ENTRIES_MAX)
		return true;
	front_fail(host, req->id, API_ERR_LIMIT,
		   "the volume has more than 200,000 files and folders", "", "remove some", 0);
	return false;
}

void handle_volume_mkdir(struct host *host, const struct request *req,
			 const struct api_volume_mkdir_in *in)
{
	struct volume *volume = find(host, req, in->volume);
	struct volume_work *work;

	if (volume == NULL || !has_entries(host, req, volume) || !quota_disk(host, req, 0))
		return;
	work = volume_work_new(VOLUME_MKDIR, volume, in->path);
	work->parents = !in->has_parents || in->parents;
	work->has_mode = in->has_mode;
	work->mode = (unsigned)in->mode;
	volume_work_submit(host, work, req->id, -1);
}

void handle_volume_change(struct host *host, const struct request *req,
			  const struct api_volume_change_in *in)
{
	struct volume_work *work = begin(host, req, VOLUME_CHANGE, in->volume, in->path);

	if (work == NULL)
		return;
	work->has_mode = true;
	work->mode = (unsigned)in->mode;
	volume_work_submit(host, work, req->id, -1);
}

void handle_volume_remove(struct host *host, const struct request *req,
			  const struct api_volume_remove_in *in)
{
	struct volume_work *work = begin(host, req, VOLUME_DELETE, in->volume, in->path);

	if (work != NULL)
		volume_work_submit(host, work, req->id, -1);
}

void handle_volume_get(struct host *host, const struct request *req,
		       const struct api_volume_get_in *in)
{
	struct volume_work *work = begin(host, req, VOLUME_GET, in->volume, in->path);

	if (work != NULL)
		volume_work_submit(host, work, req->id, -1);
}

void handle_volume_put(struct host *host, const struct request *req,
		       const struct api_volume_put_in *in)
{
	struct volume *volume = find(host, req, in->volume);
	struct upload *upload;
	uint64_t room;
	int theirs;

	if (volume == NULL || !has_entries(host, req, volume) || !quota_disk(host, req, in->size))
		return;
	room = MIN(volume_room(host, volume), BYTES_MAX);
	if (in->size > room || room == 0) {
		front_fail(host, req->id, API_ERR_LIMIT,
			   "there is no room for the file in the volume", "",
			   "remove others, or raise max-volume", 0);
		return;
	}
	upload = upload_begin(host, req, &theirs);
	if (upload == NULL)
		return;
	upload->volume = volume_work_new(VOLUME_PUT, volume, in->path);
	upload->volume->parents = !in->has_parents || in->parents;
	upload->volume->has_mode = in->has_mode;
	upload->volume->mode = (unsigned)in->mode;
	upload_reply(host, req, room, theirs);
}

void handle_volume_commit(struct host *host, const struct request *req,
			  const struct api_volume_commit_in *in)
{
	struct upload *upload = upload_find(host, req, in->ticket, UPLOAD_VOLUME);
	const struct volume *volume;

	if (upload == NULL)
		return;
	/* A COMMIT has no key: it acts for the key that began the upload. */
	memcpy(host->actor, upload->actor, sizeof(host->actor));
	(void)snprintf(host->about.tenant, sizeof(host->about.tenant), "%s",
		       upload->tenant->row.id);
	volume = volume_find(host, upload->tenant, upload->volume->id);
	if (volume == NULL) {
		fail_missing(host, req, upload->volume->id);
	} else {
		upload->volume->room = volume_room(host, volume);
		volume_work_submit(host, TAKE_PTR(upload->volume), req->id, TAKE_FD(upload->fd));
	}
	upload_drop(upload);
}

/* ---- answers -------------------------------------------------------------------------------- */

static void fail(struct host *host, const struct job *job)
{
	const struct volume_work *work = job->volume;
	const struct err *err = &work->err;
	const enum api_error error = work->error != 0		 ? work->error
				     : err->code == ERR_INVALID	 ? API_ERR_INVALID
				     : err->code == ERR_NOT_FOUND ? API_ERR_NOT_FOUND
				     : err->code == ERR_DENIED	 ? API_ERR_DENIED
				     : err->code == ERR_LIMIT	 ? API_ERR_LIMIT
				     : err->code == ERR_UNAVAILABLE ? API_ERR_UNAVAILABLE
								    : API_ERR_INTERNAL;

	if (error == API_ERR_INTERNAL)
		front_fail_err(host, job->request, err);
	else
		front_fail(host, job->request, error, err->text, "", err->remedy, 0);
}

static void reply_file(struct host *host, struct job *job)
{
	const struct api_volume_entry *entry = &job->volume->entry;
	const char *slash = strrchr(entry->path, '/');
	const struct api_download reply = { .size = entry->bytes,
					    .has_modified_ms = entry->modified_at_ms > 0,
					    .modified_ms = entry->modified_at_ms,
					    .name = slash != NULL ? slash + 1 : entry->path };

	usage_add(host, job->volume->tenant, &(struct front_usage){ .bytes_out = entry->bytes });
	reply_download(host, job->request, &reply, TAKE_FD(job->result.fd));
}

static void reply(struct host *host, struct job *job)
{
	const struct volume_work *work = job->volume;

	switch (work->op) {
	case VOLUME_LIST:
		reply_volume_entries(host, job->request,
				     &(struct api_volume_entries){
					     .entries = { work->entries, work->count },
					     .complete = !work->is_cut });
		break;
	case VOLUME_GET:
		reply_file(host, job);
		break;
	case VOLUME_PUT:
		usage_add(host, work->tenant,
			  &(struct front_usage){ .bytes_in = work->entry.bytes });
		reply_volume_commit(host, job->request, &work->entry);
		break;
	case VOLUME_STAT:
	case VOLUME_MKDIR:
	case VOLUME_CHANGE:
		/* These calls have the same result type. */
		reply_volume_stat(host, job->request, &work->entry);
		break;
	case VOLUME_DELETE:
	case VOLUME_MEASURE:
	case VOLUME_EMPTY:
		reply_done(host, job->request);
		break;
	}
}

/* Audits accesses to files; after a change, has the volume measured again. */
static void note(struct host *host, const struct volume_work *work)
{
	static const char *const actions[] = {
		[VOLUME_MKDIR] = "volume_file.mkdir",	[VOLUME_CHANGE] = "volume_file.change",
		[VOLUME_DELETE] = "volume_file.delete", [VOLUME_GET] = "volume_file.get",
		[VOLUME_PUT] = "volume_file.put",	[VOLUME_EMPTY] = NULL,
	};
	struct volume *volume = volume_by_id(host, work->id);

	if (actions[work->op] == NULL)
		return;
	audit_note(host, actions[work->op], work->id, work->err.code < 0 ? "failed" : "ok",
		   "path=%s", work->path);
	if (volume != NULL && work->op != VOLUME_GET)
		volume->is_changed = true;
	/* Adds the file to the size until then. */
	if (volume != NULL && work->op == VOLUME_PUT && work->err.code == ERR_OK)
		volume_set_measured(volume, volume->bytes + work->entry.bytes, volume->entries + 1);
}

void volume_done(struct job *job)
{
	struct host *host = job->host;
	const struct volume_work *work = job->volume;

	host->transactions.is_reading = work->op == VOLUME_LIST || work->op == VOLUME_STAT;
	if (work->op == VOLUME_MEASURE) {
		volume_measured(host, job);
	} else if (work->op == VOLUME_EMPTY) {
		if (work->err.code != ERR_OK)
			log_line(LOG_WARN, "content of a volume that was removed is left",
				 "volume=%s why=\"%s\"", work->id, work->err.text);
	} else {
		note(host, work);
		if (work->err.code != ERR_OK)
			fail(host, job);
		else
			reply(host, job);
	}
	host->transactions.is_reading = false;
	job_free(job);
}
