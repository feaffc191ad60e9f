/*
 * files_list.c - lists a folder of a workspace, in pages.
 *
 * Runs in:  libreckon.
 * Reads:    names and attributes in a directory that a hostile box may change meanwhile.
 * Never:    opens anything but folders and, for its type, the first bytes of a regular file.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "codec/json_write.h"
#include "lib/api.h"
#include "lib/workspace/files.h"
#include "lib/record/text.h"
#include "lib/workspace/workspace.h"

#define LIST_BYTES_MAX (64u * 1024u * 1024u)
#define NAMES_MAX 200000u
#define BILLION 1000000000

struct listed {
	char *path; /* relative to the workspace */
	struct stat st;
};

struct listing {
	struct listed *entries;
	size_t count, capacity;
	bool is_incomplete;
};

static void listing_done(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		free(listing->entries[i].path);
	free(listing->entries);
}

static int compare(const void *left, const void *right)
{
	return strcmp(((const struct listed *)left)->path, ((const struct listed *)right)->path);
}

static void add(struct listing *listing, const char *above, const char *name, const struct stat *st)
{
	const size_t len = strlen(above) + strlen(name) + 2;
	char *path;

	if (len > 4096) {
		listing->is_incomplete = true;
		return;
	}
	path = mem_new0(len, 1);
	(void)snprintf(path, len, "%s%s%s", above, above[0] != '\0' ? "/" : "", name);
	if (listing->count == listing->capacity) {
		listing->capacity = listing->capacity > 0 ? listing->capacity * 2 : 64;
		listing->entries = mem_grow(listing->entries, listing->capacity,
					    sizeof(*listing->entries));
	}
	listing->entries[listing->count++] = (struct listed){ .path = path, .st = *st };
}

static bool is_listed(const struct stat *st, bool has_details)
{
	return S_ISREG(st->st_mode) || S_ISDIR(st->st_mode) ||
	       (has_details && S_ISLNK(st->st_mode));
}

/* Adds one entry of a folder. */
static void look_at(int dir_fd, const char *above, const char *name, bool has_details,
		    struct listing *listing)
{
	struct stat st;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !is_listed(&st, has_details))
		return;
	if (listing->count >= NAMES_MAX)
		listing->is_incomplete = true;
	else
		add(listing, above, name, &st);
}

/* Adds the files and folders directly in a folder. */
static int look_in(int dir_fd, const char *above, bool has_details, struct listing *listing,
		   struct err *err)
{
	int fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (dir == NULL) {
		(void)err_sys(err, "read a directory");
		if (fd >= 0)
			(void)close(fd);
		return (int)err->code;
	}
	while ((entry = readdir(dir)) != NULL && !listing->is_incomplete)
		if (!text_is_dots(entry->d_name))
			look_at(dir_fd, above, entry->d_name, has_details, listing);
	return 0;
}

static struct timespec to_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / BILLION, .tv_nsec = ns % BILLION };
}

/* Adds the files of all folders below. */
static int look_below(int dir_fd, const char *above, struct listing *listing, struct err *err)
{
	cleanup_workspace struct workspace *found = NULL;

	if (workspace_scan(dir_fd, NULL, &found, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < found->count; i++) {
		const struct workspace_entry *entry = &found->entries[i];
		const struct stat st = { .st_mode = S_IFREG,
					 .st_ino = entry->ino,
					 .st_size = (off_t)entry->size,
					 .st_mtim = to_timespec(entry->mtime_ns),
					 .st_ctim = to_timespec(entry->ctime_ns) };

		if (entry->kind == WORKSPACE_FILE)
			add(listing, above, entry->path, &st);
	}
	listing->is_incomplete = found->is_incomplete;
	return 0;
}

static const char *kind_of(const struct stat *st)
{
	return S_ISDIR(st->st_mode) ? "folder" : S_ISLNK(st->st_mode) ? "link" : "file";
}

/* `folder`: the directory for looking up details; negative: no details. */
static void write_entry(struct json_writer *json, int workspace, const struct listed *entry,
			struct timespec now, int folder)
{
	cleanup_buf struct buf shown = BUF_INIT(TEXT_PATH_MAX);
	const bool is_file = S_ISREG(entry->st.st_mode);
	/* Only after the clock has ticked, see files_store.c. */
	const bool is_settled = entry->st.st_ctim.tv_sec != now.tv_sec ||
				entry->st.st_ctim.tv_nsec < now.tv_nsec;
	char modified[WORKSPACE_TIME_SIZE];
	reckon_file_info info;

	memset(&info, 0, sizeof(info));
	files_describe(&entry->st, &info);
	text_show_path(entry->path, &shown);
	workspace_format_time(entry->st.st_mtim.tv_sec * BILLION + entry->st.st_mtim.tv_nsec,
			      modified);
	json_write_object_begin(json);
	json_write_member_string(json, "path", buf_text(&shown));
	json_write_member_string(json, "kind", kind_of(&entry->st));
	if (is_file) {
		json_write_member_uint(json, "size", info.size);
		json_write_member_string(json, "mime", workspace_mime(workspace, entry->path));
	}
	json_write_member_string(json, "modified", modified);
	if (is_file)
		json_write_member_string(json, "etag", is_settled ? info.etag : NULL);
	if (folder >= 0)
		files_write_details(json, folder, text_base_name(entry->path), &entry->st);
	json_write_object_end(json);
}

static int write_page(struct reckon_session *session, int folder, struct listing *listing,
		      const reckon_list_options *options, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf shown = BUF_INIT(TEXT_PATH_MAX);
	const uint64_t limit = options->limit != 0 ? options->limit : UINT64_MAX;
	const char *last = NULL;
	struct json_writer json;
	struct timespec now;
	uint64_t count = 0;
	size_t i = 0;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_key(&json, "files");
	json_write_array_begin(&json);
	for (; i < listing->count && count < limit; i++) {
		const struct listed *entry = &listing->entries[i];

		if (options->after != NULL && strcmp(entry->path, options->after) <= 0)
			continue;
		write_entry(&json, session->workspace, entry, now,
			    options->details && !options->recursive ? folder : -1);
		last = entry->path;
		count++;
	}
	json_write_array_end(&json);
	if (i == listing->count)
		last = NULL;
	if (last != NULL)
		text_show_path(last, &shown);
	json_write_member_string(&json, "next", last != NULL ? buf_text(&shown) : NULL);
	json_write_member_bool(&json, "complete", !listing->is_incomplete);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* Whether it is a plain name of an entry, which cannot lead out of the folder. */
static bool is_name(const char *name)
{
	return name[0] != '\0' && strchr(name, '/') == NULL && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

static int list_page(struct reckon_session *session, const reckon_list_options *given,
		     char **ret_json, struct err *err)
{
	__attribute__((cleanup(listing_done))) struct listing listing = { 0 };
	cleanup_buf struct buf json = BUF_INIT(LIST_BYTES_MAX);
	reckon_list_options options;
	cleanup_fd int folder = -1;
	const char *path;
	int code;

	if (api_options("reckon_list_options", &options, sizeof(options), given, err) < 0 ||
	    engine_check_idle(session->engine, err) < 0)
		return (int)err->code;
	path = options.path != NULL ? options.path : "";
	if (fs_open_dir_beneath(session->workspace, path, &folder, err) < 0)
		return err->errnum == ENOENT
			       ? err_set(err, ERR_NOT_FOUND, "no folder %.200s in the workspace",
					 path)
			       : (int)err->code;
	code = options.recursive	      ? look_below(folder, path, &listing, err)
	       : options.name == NULL ? look_in(folder, path, options.details, &listing, err)
				      : 0;
	if (code < 0)
		return code;
	if (options.name != NULL && !options.recursive && is_name(options.name))
		look_at(folder, path, options.name, options.details, &listing);
	if (listing.count > 1)
		qsort(listing.entries, listing.count, sizeof(*listing.entries), compare);
	if (write_page(session, folder, &listing, &options, &json, err) < 0)
		return (int)err->code;
	*ret_json = TAKE_PTR(json.data);
	return 0;
}

int reckon_file_list_page(reckon_session *session, const reckon_list_options *options,
			  char **ret_json, reckon_error *err)
{
	struct err inner;

	if (list_page(session, options, ret_json, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}
