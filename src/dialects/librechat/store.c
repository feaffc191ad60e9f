/*
 * store.c - finds files by id: artifacts of a session that may have ended.
 *
 * Runs in:  reckon-front-librechat.
 * Reads:    ids of any client, rows of reckond.
 * Never:    finds another tenant's file: reckond lists only what the key may see.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/librechat/librechat.h"

#define PAGE 500u
#define PAGES_MAX 20u

static void take_row(const struct api_version *row, const char *session, struct librechat_file *ret)
{
	*ret = (struct librechat_file){ .size = row->size };
	(void)snprintf(ret->session, sizeof(ret->session), "%s", session);
	(void)snprintf(ret->artifact, sizeof(ret->artifact), "%s", row->artifact);
	(void)snprintf(ret->name, sizeof(ret->name), "%s", row->path != NULL ? row->path : "");
	(void)snprintf(ret->mime, sizeof(ret->mime), "%s",
		       row->mime != NULL ? row->mime : "application/octet-stream");
	(void)snprintf(ret->sha256, sizeof(ret->sha256), "%s",
		       row->sha256 != NULL ? row->sha256 : "");
	(void)snprintf(ret->created_at, sizeof(ret->created_at), "%s",
		       row->created_at != NULL ? row->created_at : "");
	librechat_file_id(row->artifact, 0, ret->id);
}

/* Names of our own files begin with a dot. */
static bool is_theirs(const struct librechat_file *file)
{
	return file->name[0] != '\0' && file->name[0] != '.' && file->id[0] != '\0';
}

/* Calls `fn` with every row, newest first. */
static int each_row(struct request *request, const char *id, librechat_each_fn *fn, void *arg)
{
	cleanup_call struct call call = CALL_INIT;
	char session[OURS_SIZE], before[64] = "";
	struct api_artifacts page;
	struct librechat_file file;

	if (!librechat_session_of(id, session))
		return 0;
	for (unsigned i = 0; i < PAGES_MAX; i++) {
		const struct api_artifact_list_in in = { .session = session,
							 .has_limit = true,
							 .limit = PAGE,
							 .before = before[0] != '\0' ? before
										     : NULL };
		const enum call_status status = call_make(request, API_ARTIFACT_LIST, &in, &page,
							  &call);
		const struct api_version *row;

		if (status == CALL_GONE)
			return -1;
		if (status != CALL_OK && call.failure->error == API_ERR_UNAUTHORIZED) {
			call_refuse(request, call.failure);
			return -1;
		}
		if (status != CALL_OK)
			return 0;
		row = page.artifacts.items;
		for (size_t at = 0; at < page.artifacts.count; at++) {
			take_row(&row[at], id, &file);
			if (is_theirs(&file) && !fn(&file, arg))
				return 1;
		}
		if (page.next == NULL)
			return 1;
		(void)snprintf(before, sizeof(before), "%s", page.next);
	}
	return 1;
}

/* ---- a single file -------------------------------------------------------------------------- */

struct search {
	char artifact[OURS_SIZE];
	struct librechat_file *found;
	bool is_found;
};

static bool is_it(const struct librechat_file *file, void *arg)
{
	struct search *search = arg;

	search->is_found = strncmp(file->artifact, search->artifact, strlen(search->artifact)) == 0;
	if (search->is_found)
		*search->found = *file;
	return !search->is_found;
}

int librechat_find(struct request *request, const char *session, const char *id,
		   struct librechat_file *ret)
{
	struct search search = { .found = ret };
	unsigned flags;
	int code;

	if (!librechat_artifact_of(id, search.artifact, &flags))
		return 0;
	code = each_row(request, session, is_it, &search);
	if (code < 0 || !search.is_found)
		return code < 0 ? -1 : 0;
	ret->flags = flags;
	(void)snprintf(ret->id, sizeof(ret->id), "%s", id);
	return 1;
}

/* ---- all files ------------------------------------------------------------------------------ */

struct listing {
	struct buf names; /* names already reported, each with NUL */
	librechat_each_fn *fn;
	void *arg;
};

static bool tell_newest(const struct librechat_file *file, void *arg)
{
	struct listing *listing = arg;
	const char *end = buf_text(&listing->names) + listing->names.len;
	struct err err;

	for (const char *at = buf_text(&listing->names); at < end; at += strlen(at) + 1)
		if (strcmp(at, file->name) == 0)
			return true;
	if (buf_add(&listing->names, file->name, strlen(file->name) + 1, &err) < 0)
		return false;
	return listing->fn(file, listing->arg);
}

int librechat_each(struct request *request, const char *session, librechat_each_fn *fn, void *arg)
{
	struct listing listing = { .names = BUF_INIT(LIBRECHAT_LIST_MAX), .fn = fn, .arg = arg };
	const int code = each_row(request, session, tell_newest, &listing);

	buf_done(&listing.names);
	return code;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

int librechat_open(struct request *request, const struct librechat_file *file, int *ret_fd,
		   uint64_t *ret_size)
{
	cleanup_call struct call call = CALL_INIT;
	struct api_download download;
	const enum call_status status = call_make(
		request, API_ARTIFACT_GET,
		&(struct api_artifact_get_in){ .artifact = file->artifact }, &download, &call);

	if (status == CALL_GONE)
		return -1;
	if (status != CALL_OK || call.reply.fd < 0)
		return 0;
	*ret_fd = TAKE_FD(call.reply.fd);
	*ret_size = download.size;
	return 1;
}
