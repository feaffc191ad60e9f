/*
 * pack.c - makes an archive of a folder in a workspace; a reckon-unarchiver writes it.
 *
 * Runs in:  libreckon.
 * Reads:    names, attributes and links of a directory that a hostile box may change meanwhile.
 * Never:    follows a link, opens anything but files and folders, or trusts a size twice.
 *
 * In the archive a file has the size it had when it was opened: a file that grew is cut, one that
 * shrank is padded with zeros and counted.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "lib/api.h"
#include "lib/workspace/files.h"
#include "lib/workspace/unarchiver.h"

#define NAMES_MAX 200000u /* in one folder */
/* limit as a multiple of the workspace's size, because files with holes can be larger */
#define HOLES 2u

struct pack {
	struct reckon_session *session;
	struct unarchiver *unarchiver;
	uint64_t entries;
	reckon_archive_info info;
};

struct names {
	char **names;
	size_t count, capacity;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
}

/* Reads the names in a directory, sorted, so that the same files make the same archive. */
static int read_names(int dir_fd, struct names *ret, struct err *err)
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
	while ((entry = readdir(dir)) != NULL) {
		if (text_is_dots(entry->d_name))
			continue;
		if (ret->count >= NAMES_MAX)
			return err_set(err, ERR_LIMIT, "a folder holds more than %u names",
				       NAMES_MAX);
		if (ret->count == ret->capacity) {
			ret->capacity = ret->capacity > 0 ? ret->capacity * 2 : 64;
			ret->names = mem_grow(ret->names, ret->capacity, sizeof(*ret->names));
		}
		ret->names[ret->count++] = mem_strdup(entry->d_name);
	}
	if (ret->count > 1)
		qsort(ret->names, ret->count, sizeof(*ret->names), text_compare);
	return 0;
}

static int add_file(struct pack *pack, int dir_fd, const char *name, const char *path,
		    struct err *err)
{
	const reckon_limits *limits = &pack->session->limits;
	struct unarchiver_entry entry = { .kind = UNARCHIVER_FILE };
	cleanup_fd int fd = -1;
	struct stat st;

	if (fs_open_file_beneath(dir_fd, name, &fd, &st, err) < 0) {
		pack->info.skipped++; /* deleted, or replaced by something else */
		return 0;
	}
	entry.mode = st.st_mode & 0777u;
	entry.mtime_s = st.st_mtim.tv_sec;
	entry.size = st.st_size > 0 ? (uint64_t)st.st_size : 0;
	if (entry.size > HOLES * limits->disk_bytes - pack->info.bytes) {
		(void)err_set(err, ERR_LIMIT,
			      "%.200s is too large for an archive: files with holes "
			      "count as long as they are",
			      path);
		return err_remedy(err, "download it alone, or make an archive of another folder");
	}
	pack->info.bytes += entry.size;
	pack->info.files++;
	return unarchiver_add(pack->unarchiver, &entry, path, "", fd, err);
}

static int add_link(struct pack *pack, int dir_fd, const char *name, const char *path,
		    const struct stat *st, struct err *err)
{
	const struct unarchiver_entry entry = { .kind = UNARCHIVER_SYMLINK,
					  .mode = 0777,
					  .mtime_s = st->st_mtim.tv_sec };
	char target[UNARCHIVER_PATH_MAX + 1];
	const ssize_t len = readlinkat(dir_fd, name, target, sizeof(target));

	if (len < 0 || (size_t)len >= sizeof(target)) {
		pack->info.skipped++;
		return 0;
	}
	target[len] = '\0';
	/*
	 * Skip a link that leads out of the folder, because it would also do so after extraction.
	 */
	if (unarchiver_check(&entry, path, target, err) < 0) {
		pack->info.skipped++;
		return 0;
	}
	pack->info.links++;
	return unarchiver_add(pack->unarchiver, &entry, path, target, -1, err);
}

static int add_folder(struct pack *pack, int dir_fd, const char *above, unsigned depth,
		      struct err *err);

static int enter(struct pack *pack, int dir_fd, const char *name, const char *path, unsigned depth,
		 const struct stat *st, struct err *err)
{
	const struct unarchiver_entry entry = { .kind = UNARCHIVER_FOLDER,
					  .mode = st->st_mode & 0777u,
					  .mtime_s = st->st_mtim.tv_sec };
	cleanup_fd int below = -1;

	if (depth + 1 >= UNARCHIVER_DEPTH_MAX ||
	    fs_open_dir_beneath(dir_fd, name, &below, err) < 0) {
		pack->info.skipped++;
		return 0;
	}
	pack->info.folders++;
	if (unarchiver_add(pack->unarchiver, &entry, path, "", -1, err) < 0)
		return (int)err->code;
	return add_folder(pack, below, path, depth + 1, err);
}

static int add_one(struct pack *pack, int dir_fd, const char *name, const char *above,
		   unsigned depth, struct err *err)
{
	char path[UNARCHIVER_PATH_MAX + 1];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s%s%s", above, above[0] != '\0' ? "/" : "", name) >=
		    (int)sizeof(path) ||
	    !fs_path_is_safe(path) || fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		pack->info.skipped++;
		return 0;
	}
	if (++pack->entries > HOLES * pack->session->limits.inodes)
		return err_set(err, ERR_LIMIT, "the workspace grows while it is read");
	if (S_ISREG(st.st_mode))
		return add_file(pack, dir_fd, name, path, err);
	if (S_ISDIR(st.st_mode))
		return enter(pack, dir_fd, name, path, depth, &st, err);
	if (S_ISLNK(st.st_mode))
		return add_link(pack, dir_fd, name, path, &st, err);
	pack->info.skipped++;
	return 0;
}

static int add_folder(struct pack *pack, int dir_fd, const char *above, unsigned depth,
		      struct err *err)
{
	__attribute__((cleanup(names_done))) struct names names = { 0 };

	if (read_names(dir_fd, &names, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < names.count; i++)
		if (add_one(pack, dir_fd, names.names[i], above, depth, err) < 0)
			return (int)err->code;
	return 0;
}

static bool is_format(const char *format)
{
	static const char *const known[] = { "tar", "tar.gz", "tar.zst", "zip" };

	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(format, known[i]) == 0)
			return true;
	return false;
}

static int write_archive(struct reckon_session *session, const char *path, const char *format,
			 int target_fd, reckon_archive_info *ret, struct err *err)
{
	cleanup_unarchiver struct unarchiver *unarchiver = NULL;
	struct pack pack = { .session = session };
	cleanup_fd int folder = -1;

	if (!is_format(format)) {
		(void)err_set(err, ERR_INVALID, "\"%.20s\" is not a format of archives", format);
		return err_remedy(err, "use tar, tar.gz, tar.zst or zip");
	}
	if (session_check_box(session, err) < 0)
		return (int)err->code;
	if (fs_open_dir_beneath(session->workspace, path != NULL ? path : "", &folder, err) < 0)
		return err->errnum == ENOENT ? err_set(err, ERR_NOT_FOUND,
						       "no folder %.200s in the "
						       "workspace",
						       path)
					     : (int)err->code;
	if (unarchiver_new(target_fd, format, &unarchiver, err) < 0)
		return (int)err->code;
	pack.unarchiver = unarchiver;
	if (add_folder(&pack, folder, "", 0, err) < 0 || unarchiver_finish(unarchiver, err) < 0)
		return (int)err->code;
	pack.info.changed = unarchiver->taken.end.changed;
	*ret = pack.info;
	return 0;
}

int reckon_archive_write(reckon_session *session, const char *path, const char *format,
			 int target_fd, reckon_archive_info *ret, reckon_error *err)
{
	reckon_archive_info info;
	struct err inner;

	if (write_archive(session, path, format, target_fd, &info, &inner) < 0)
		return api_fail(err, &inner);
	if (ret != NULL)
		*ret = info;
	return api_ok(err);
}
