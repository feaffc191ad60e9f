/*
 * collect.c - copies changed files into the store and lists them in the record; lists all files.
 *
 * Runs in:  libreckon.
 * Reads:    regular files of a hostile workspace, to hash and copy.
 * Never:    copies more than a file's size when it was opened, or parses its content.
 */
#include "lib/workspace/workspace.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "codec/json_write.h"
#include "lib/record/mime.h"
#include "lib/record/text.h"

struct collect {
	int dir_fd;
	struct store *store;
	struct record *record;
	uint64_t bytes_left;
	size_t files_stored;
};

/* Adds a diagnostic about one file, with its path as the detail. */
static void complain(struct collect *collect, const char *code, const char *path, const char *why)
{
	cleanup_buf struct buf shown = BUF_INIT(TEXT_PATH_MAX);
	cleanup_buf struct buf message = BUF_INIT(TEXT_PATH_MAX + 1024);
	cleanup_buf struct buf detail = BUF_INIT(TEXT_PATH_MAX * 6 + 64);
	struct json_writer writer;
	struct err ignored; /* if memory is short, the diagnostic is shorter */

	text_show_path(path, &shown);
	(void)buf_addf(&message, &ignored, "%s: %s", buf_text(&shown), why);
	json_write_init(&writer, &detail);
	json_write_object_begin(&writer);
	json_write_member_string(&writer, "path", buf_text(&shown));
	json_write_object_end(&writer);
	if (json_write_finish(&writer, &ignored) < 0)
		buf_clear(&detail);
	record_add_diagnostic(collect->record, code, buf_text(&message),
			      detail.len > 0 ? detail.data : NULL);
}

/* Copies one regular file to the store. ERR_NOT_FOUND: it does not exist any more. */
static int keep_file(struct collect *collect, const struct workspace_entry *entry,
		     struct store_object *ret_object, uint64_t *ret_size, struct err *err)
{
	const char *path = entry->path;
	cleanup_fd int fd = -1;
	struct stat st;

	if (!fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "its name is not plain text");
	/* The content is already stored, so it need not be read again. */
	if (entry->sha256 != NULL &&
	    store_describe(collect->store, entry->sha256, ret_object, err) == 0) {
		*ret_size = ret_object->size;
		return 0;
	}
	if (fs_open_file_beneath(collect->dir_fd, path, &fd, &st, err) < 0)
		return (int)err->code;
	*ret_size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	if (*ret_size > WORKSPACE_FILE_MAX)
		return err_set(err, ERR_LIMIT, "%" PRIu64 " bytes, at most %" PRIu64 " are kept",
			       *ret_size, WORKSPACE_FILE_MAX);
	if (*ret_size > collect->bytes_left)
		return err_set(err, ERR_LIMIT, "this execution changed more than %" PRIu64 " bytes",
			       WORKSPACE_COLLECT_MAX);
	if (store_put_fd(collect->store, fd, *ret_size, ret_object, err) < 0)
		return (int)err->code;
	collect->bytes_left -= ret_object->size;
	*ret_size = ret_object->size;
	return 0;
}

static void collect_content(struct collect *collect, const struct workspace_delta *delta,
			    struct record_file *file)
{
	const char *path = delta->entry->path;
	struct store_object object;
	struct err err;
	int result;

	err_clear(&err);
	result = keep_file(collect, delta->entry, &object, &file->size, &err);
	if (result == ERR_NOT_FOUND)
		return;
	if (result < 0) {
		complain(collect, result == ERR_LIMIT ? "file_too_large" : "file_not_kept", path,
			 err.text);
		record_add_file(collect->record, file);
		return;
	}
	collect->files_stored++;
	file->mime = mime_guess(path, object.head, object.head_len);
	file->sha256 = object.sha256;
	file->artifact = object.id;
	record_add_file(collect->record, file);
	/* The record copied these strings; `file` outlives `object`. */
	file->sha256 = NULL;
	file->artifact = NULL;
}

static void collect_one(struct collect *collect, const struct workspace_delta *delta)
{
	struct record_file file = {
		.path = delta->entry->path,
		.change = workspace_change_name(delta->change),
		.kind = workspace_kind_name(delta->entry->kind),
		.size = delta->entry->size,
	};
	bool has_content = delta->entry->kind == WORKSPACE_FILE &&
			   delta->change != WORKSPACE_DELETED;

	/*
	 * Do not store more files than the record lists, such as those of a large extracted
	 * archive.
	 */
	if (has_content && collect->files_stored < RECORD_FILES_MAX)
		collect_content(collect, delta, &file);
	else
		record_add_file(collect->record, &file);
}

void workspace_collect(int dir_fd, const struct workspace *old, const struct workspace *new,
		       struct store *store, struct record *record)
{
	struct collect collect = { .dir_fd = dir_fd,
				   .store = store,
				   .record = record,
				   .bytes_left = WORKSPACE_COLLECT_MAX };
	cleanup_free struct workspace_delta *deltas = NULL;
	size_t count;

	workspace_diff(old, new, &deltas, &count);
	for (size_t i = 0; i < count; i++)
		collect_one(&collect, &deltas[i]);
	if (new->is_incomplete)
		record_add_diagnostic(record, "workspace_incomplete",
				      "the workspace holds more than is looked at (10000 entries, "
				      "64 levels) or parts that cannot be read; changes there are "
				      "not listed", NULL);
}

/* ---- the list --------------------------------------------------------------------------- */

/* RFC 3339 in UTC. The box can set any time stamp, so years are limited to four digits. */
void workspace_format_time(int64_t ns, char ret[WORKSPACE_TIME_SIZE])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm parts;

	if (gmtime_r(&seconds, &parts) == NULL || parts.tm_year < -1900 || parts.tm_year > 8099)
		(void)snprintf(ret, WORKSPACE_TIME_SIZE, "1970-01-01T00:00:00Z");
	else
		(void)strftime(ret, WORKSPACE_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

const char *workspace_mime(int dir_fd, const char *path)
{
	unsigned char head[MIME_HEAD_SIZE];
	cleanup_fd int fd = -1;
	struct stat st;
	struct err ignored; /* the type of a file that cannot be opened is guessed by its name */
	ssize_t len = 0;

	if (fs_open_file_beneath(dir_fd, path, &fd, &st, &ignored) == 0)
		len = fd_read_full(fd, head, sizeof(head), &ignored);
	return mime_guess(path, head, len > 0 ? (size_t)len : 0);
}

int workspace_list_json(int dir_fd, const struct workspace *workspace, struct buf *ret,
			struct err *err)
{
	cleanup_buf struct buf shown = BUF_INIT(TEXT_PATH_MAX);
	size_t before = ret->len;
	struct json_writer writer;

	json_write_init(&writer, ret);
	json_write_array_begin(&writer);
	for (size_t i = 0; i < workspace->count; i++) {
		const struct workspace_entry *entry = &workspace->entries[i];
		char modified[WORKSPACE_TIME_SIZE];

		if (entry->kind != WORKSPACE_FILE)
			continue;
		text_show_path(entry->path, &shown);
		workspace_format_time(entry->mtime_ns, modified);
		json_write_object_begin(&writer);
		json_write_member_string(&writer, "path", buf_text(&shown));
		json_write_member_uint(&writer, "size", entry->size);
		json_write_member_string(&writer, "mime", workspace_mime(dir_fd, entry->path));
		json_write_member_string(&writer, "modified", modified);
		json_write_object_end(&writer);
	}
	json_write_array_end(&writer);
	if (json_write_finish(&writer, err) < 0) {
		if (ret->data != NULL)
			ret->data[ret->len = before] = '\0';
		return (int)err->code;
	}
	return 0;
}
