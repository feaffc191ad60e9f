/*
 * entry.c - a file or folder as E2B tells it: looked at, and written.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    answers of reckond, whose names hostile programs gave.
 * Never:    tells modes or owners that it does not know as if it had looked: all files are the user's.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "dialects/e2b/envd/entry.h"

#define ANSWER_MAX ((size_t)48 << 20)

void entry_write(struct json_writer *json, const struct entry *entry)
{
	char size[24];

	(void)snprintf(size, sizeof(size), "%" PRIu64, entry->size);
	json_write_object_begin(json);
	json_write_member_string(json, "name", entry->name);
	json_write_member_string(json, "type",
				 entry->is_folder ? "FILE_TYPE_DIRECTORY" : "FILE_TYPE_FILE");
	json_write_member_string(json, "path", entry->path);
	json_write_member_string(json, "size", size);
	json_write_member_uint(json, "mode", entry->is_folder ? 0755 : 0644);
	json_write_member_string(json, "permissions",
				 entry->is_folder ? "drwxr-xr-x" : "-rw-r--r--");
	json_write_member_string(json, "owner", "user");
	json_write_member_string(json, "group", "user");
	json_write_member_string(json, "modifiedTime", entry->modified);
	json_write_object_end(json);
}

const char *entry_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static const char *moment(const struct e2b *e2b, uint64_t ms)
{
	const time_t seconds = (time_t)(ms / 1000);
	char text[40] = "1970-01-01T00:00:00Z";
	struct tm tm;

	if (gmtime_r(&seconds, &tm) != NULL && tm.tm_year < 8100)
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return arena_text(e2b->arena, text, strlen(text));
}

/* A folder's entry in the list of the folder above it. */
static enum look find_folder(const struct e2b *e2b, const struct e2b_path *path, struct entry *ret,
			     struct call *call)
{
	const char *base = entry_base(path->inside);
	const size_t above = base > path->inside ? (size_t)(base - path->inside) - 1 : 0;
	cleanup_json struct json_value *all = NULL;
	struct api_file_list_out out;
	const struct json_value *files;
	struct err err;
	const enum call_status status = call_make(
		e2b->request, API_FILE_LIST,
		&(struct api_file_list_in){
			.session = e2b->target.session,
			.path = above > 0 ? arena_text(e2b->arena, path->inside, above) : NULL,
			.has_recursive = true },
		&out, call);

	if (status == CALL_GONE)
		return LOOK_GONE;
	if (status == CALL_FAILED)
		return call->failure->error == API_ERR_NOT_FOUND ||
				       call->failure->error == API_ERR_DENIED
			       ? LOOK_NOTHING
			       : LOOK_FAILED;
	if (json_read_parse(out.files.data, out.files.len, ANSWER_MAX, &all, &err) < 0) {
		answer_break_off(e2b->request);
		return LOOK_GONE;
	}
	files = json_read_member(all, "files");
	for (size_t i = 0; i < json_read_count(files); i++) {
		const struct json_value *file = json_read_at(files, i);
		const char *modified = e2b_rpc_text(file, "modified");

		if (strcmp(e2b_rpc_text(file, "path"), path->inside) != 0 ||
		    strcmp(e2b_rpc_text(file, "kind"), "folder") != 0)
			continue;
		ret->is_folder = true;
		ret->modified = arena_text(e2b->arena, modified, strlen(modified));
		return LOOK_FOUND;
	}
	return LOOK_NOTHING;
}

enum look entry_look(const struct e2b *e2b, const struct e2b_path *path, struct entry *ret,
		     struct call *call)
{
	struct api_download file;
	enum call_status status;

	*ret = (struct entry){ .name = entry_base(path->whole), .path = path->whole };
	if (path->inside[0] == '\0') {
		ret->is_folder = true;
		ret->modified = moment(e2b, 0);
		/* Whether the sandbox is there. */
		status = call_make(e2b->request, API_SESSION_SHOW,
				   &(struct api_session_show_in){ .session = e2b->target.session },
				   NULL, call);
		return status == CALL_OK       ? LOOK_FOUND
		       : status == CALL_FAILED ? LOOK_FAILED
					       : LOOK_GONE;
	}
	status = call_make(e2b->request, API_FILE_GET,
			   &(struct api_file_get_in){ .session = e2b->target.session,
						      .path = path->inside },
			   &file, call);
	if (status == CALL_GONE)
		return LOOK_GONE;
	if (status == CALL_OK) {
		ret->size = file.size;
		ret->modified = moment(e2b, file.has_modified_ms ? file.modified_ms : 0);
		return LOOK_FOUND;
	}
	if (call->failure->error == API_ERR_DENIED)
		return find_folder(e2b, path, ret, call);
	return call->failure->error == API_ERR_NOT_FOUND ? LOOK_NOTHING : LOOK_FAILED;
}

int entry_add(const struct e2b *e2b, const char *whole, struct json_writer *json)
{
	cleanup_arena struct arena arena = { 0 };
	struct e2b looking = *e2b;
	cleanup_call struct call call = CALL_INIT;
	struct e2b_path *path = arena_new(&arena, 1, sizeof(*path));
	struct entry entry;
	enum look found = LOOK_NOTHING;

	looking.arena = &arena; /* a stream goes on for long */
	if (e2b_path_of(whole, path))
		found = entry_look(&looking, path, &entry, &call);
	if (found == LOOK_GONE)
		return -1;
	if (found == LOOK_FOUND) {
		json_write_key(json, "entry");
		entry_write(json, &entry);
	}
	return 0;
}
