/*
 * files_detail.c - details of a listed entry: mode, link target, extended attributes.
 *
 * Runs in:  libreckon.
 * Reads:    links and extended attributes that a hostile box gave its files.
 * Never:    follows a link, or opens anything but a regular file of the workspace.
 */
#include <limits.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "lib/record/text.h"
#include "lib/workspace/files.h"

#define NAMES_MAX 8192u /* total size of a file's attribute names, and of their values */
#define USERS "user."

static void write_target(struct json_writer *json, int folder, const char *name)
{
	cleanup_buf struct buf shown = BUF_INIT(TEXT_PATH_MAX);
	char target[PATH_MAX];
	const ssize_t len = readlinkat(folder, name, target, sizeof(target) - 1);

	if (len <= 0)
		return;
	target[len] = '\0';
	text_show_path(target, &shown);
	json_write_member_string(json, "target", buf_text(&shown));
}

static void write_attributes(struct json_writer *json, int folder, const char *name)
{
	MEM_UNINIT char names[NAMES_MAX], value[NAMES_MAX];
	cleanup_fd int fd = -1;
	bool has_any = false;
	struct err ignored;
	struct stat st;
	ssize_t len, size;

	if (fs_open_file_beneath(folder, name, &fd, &st, &ignored) < 0)
		return;
	len = flistxattr(fd, names, sizeof(names));
	for (ssize_t at = 0; at < len; at += (ssize_t)strlen(names + at) + 1) {
		const char *key = names + at;

		if (strncmp(key, USERS, sizeof(USERS) - 1) != 0 || !utf8_is_valid(key, strlen(key)))
			continue;
		size = fgetxattr(fd, key, value, sizeof(value));
		if (size < 0 || memchr(value, '\0', (size_t)size) != NULL ||
		    !utf8_is_valid(value, (size_t)size))
			continue;
		if (!has_any) {
			json_write_key(json, "attributes");
			json_write_object_begin(json);
		}
		has_any = true;
		json_write_member_text(json, key, value, (size_t)size);
	}
	if (has_any)
		json_write_object_end(json);
}

void files_write_details(struct json_writer *json, int folder, const char *name,
			 const struct stat *st)
{
	json_write_member_uint(json, "mode", st->st_mode & 07777u);
	if (S_ISLNK(st->st_mode))
		write_target(json, folder, name);
	else if (S_ISREG(st->st_mode))
		write_attributes(json, folder, name);
}
