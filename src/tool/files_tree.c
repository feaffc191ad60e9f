/*
 * files_tree.c - writes entries as JSON; lists, removes and moves trees; sets attributes.
 *
 * Runs in:  a box, in reckon-files.
 * Reads:    folders, links and attributes of the box.
 * Never:    follows a link inside a tree that it lists, removes or moves.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/text.h"
#include "base/utf8.h"
#include "tool/files.h"

#define ENTRIES_MAX 100000u
#define DEPTH_MAX 32
#define OPEN_MAX_FOLDERS 16
#define ATTRIBUTES_MAX 8192u
#define CHUNK 65536u

/* ---- one entry ------------------------------------------------------------------------------ */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

static void write_owner(struct json_writer *json, const struct stat *st)
{
	const struct passwd *user = getpwuid(st->st_uid);
	const struct group *group = getgrgid(st->st_gid);
	char number[16];

	(void)snprintf(number, sizeof(number), "%u", (unsigned)st->st_uid);
	json_write_member_string(json, "owner", user != NULL ? user->pw_name : number);
	(void)snprintf(number, sizeof(number), "%u", (unsigned)st->st_gid);
	json_write_member_string(json, "group", group != NULL ? group->gr_name : number);
}

static void write_attributes(struct json_writer *json, const char *path)
{
	char names[ATTRIBUTES_MAX], value[ATTRIBUTES_MAX];
	const ssize_t len = llistxattr(path, names, sizeof(names));

	json_write_key(json, "attributes");
	json_write_object_begin(json);
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		const ssize_t size = lgetxattr(path, names + at, value, sizeof(value));

		if (size >= 0 && memchr(value, '\0', (size_t)size) == NULL &&
		    utf8_is_valid(names + at, strlen(names + at)) &&
		    utf8_is_valid(value, (size_t)size))
			json_write_member_text(json, names + at, value, (size_t)size);
	}
	json_write_object_end(json);
}

void files_write_entry(struct json_writer *json, const char *path, const struct stat *st)
{
	struct stat behind = *st;

	json_write_object_begin(json);
	json_write_member_string(json, "name", base_of(path));
	json_write_member_string(json, "path", path);
	json_write_member_uint(json, "size", (uint64_t)st->st_size);
	json_write_member_uint(json, "link_mode", st->st_mode);
	if (S_ISLNK(st->st_mode)) {
		char *target = realpath(path, NULL);

		if (stat(path, &behind) < 0)
			behind.st_mode = 0;
		if (target != NULL)
			json_write_member_string(json, "target", target);
		free(target);
	}
	json_write_member_uint(json, "mode", behind.st_mode);
	json_write_member_uint(json, "modified_s",
			       st->st_mtim.tv_sec > 0 ? (uint64_t)st->st_mtim.tv_sec : 0);
	write_owner(json, st);
	if (S_ISREG(st->st_mode))
		write_attributes(json, path);
	json_write_object_end(json);
}

/* ---- trees ---------------------------------------------------------------------------------- */

static int is_entry(const struct dirent *entry)
{
	return !text_is_dots(entry->d_name);
}

static int by_bytes(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

static int walk(struct json_writer *json, const char *folder, int64_t depth, unsigned *count)
{
	struct dirent **entries;
	const int found = scandir(folder, &entries, is_entry, by_bytes);
	struct err err;

	if (found < 0)
		return -1;
	for (int i = 0; i < found; i++) {
		cleanup_buf struct buf each = BUF_INIT(PATH_MAX);
		struct stat st;

		if (*count < ENTRIES_MAX &&
		    buf_addf(&each, &err, "%s/%s", strcmp(folder, "/") == 0 ? "" : folder,
			     entries[i]->d_name) == 0 &&
		    utf8_is_valid(each.data, each.len) && lstat(each.data, &st) == 0) {
			(*count)++;
			files_write_entry(json, each.data, &st);
			/* An unreadable folder is listed, too, but without its entries. */
			if (S_ISDIR(st.st_mode) && depth > 1)
				(void)walk(json, each.data, depth - 1, count);
		}
		free(entries[i]);
	}
	free(entries);
	return 0;
}

int files_walk(struct json_writer *json, const char *folder, int64_t depth)
{
	unsigned count = 0;

	return walk(json, folder, depth > DEPTH_MAX ? DEPTH_MAX : depth, &count);
}

static int remove_each(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

int files_remove(const char *path)
{
	return nftw(path, remove_each, OPEN_MAX_FOLDERS, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

/* ---- to another file system ----------------------------------------------------------------- */

static struct {
	size_t from_len;
	const char *to;
} carried;

static int copy_file(const char *from, const char *to, mode_t mode)
{
	cleanup_fd int in = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	cleanup_fd int out = in < 0 ? -1
				    : open(to, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
					   mode & 0777u);
	char chunk[CHUNK];
	struct err err;
	ssize_t n;

	if (in < 0 || out < 0)
		return -1;
	while ((n = read(in, chunk, sizeof(chunk))) > 0)
		if (fd_write_full(out, chunk, (size_t)n, &err) < 0) {
			errno = err.errnum;
			return -1;
		}
	return n < 0 ? -1 : 0;
}

static int carry_each(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	char to[PATH_MAX], target[PATH_MAX];
	ssize_t len;

	(void)ftw;
	if (snprintf(to, sizeof(to), "%s%s", carried.to, path + carried.from_len) >=
	    (int)sizeof(to)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (kind == FTW_D)
		return mkdir(to, st->st_mode & 0777u) < 0 && errno != EEXIST ? -1 : 0;
	if (kind == FTW_F && S_ISREG(st->st_mode))
		return copy_file(path, to, st->st_mode);
	if (kind != FTW_SL) {
		errno = EINVAL;
		return -1;
	}
	len = readlink(path, target, sizeof(target) - 1);
	if (len < 0)
		return -1;
	target[len] = '\0';
	return symlink(target, to);
}

/* Removes the source only after copying all of it. */
int files_carry(const char *from, const char *to)
{
	carried.from_len = strlen(from);
	carried.to = to;
	if (nftw(from, carry_each, OPEN_MAX_FOLDERS, FTW_PHYS) < 0)
		return -1;
	return files_remove(from);
}

/* ---- attributes ----------------------------------------------------------------------------- */

static int clear_attributes(int fd, const char *prefix)
{
	char names[ATTRIBUTES_MAX];
	const ssize_t len = flistxattr(fd, names, sizeof(names));

	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1)
		if (strncmp(names + at, prefix, strlen(prefix)) == 0 &&
		    fremovexattr(fd, names + at) < 0)
			return -1;
	return 0;
}

int files_set_attributes(int fd, const struct json_value *input)
{
	const char *prefix = json_read_text(json_read_member(input, "prefix"), NULL);
	const struct json_value *attributes = json_read_member(input, "attributes"), *value;
	char name[XATTR_NAME_MAX + 1];
	const char *key;

	if (prefix == NULL || prefix[0] == '\0')
		return 0;
	if (clear_attributes(fd, prefix) < 0)
		return -1;
	for (size_t i = 0; json_read_member_at(attributes, i, &key, &value); i++) {
		size_t len = 0;
		const char *text = json_read_text(value, &len);

		if (text == NULL || snprintf(name, sizeof(name), "%s%s", prefix, key) >=
					    (int)sizeof(name)) {
			errno = EINVAL;
			return -1;
		}
		if (fsetxattr(fd, name, text, len, 0) < 0)
			return -1;
	}
	return 0;
}
