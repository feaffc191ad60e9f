/*
 * watch_tree.c - the list of watched folders and their current paths.
 *
 * Runs in:  libreckon.
 * Reads:    folders of a workspace; names may be any bytes.
 * Never:    follows a link, or reads more than ENTRIES_MAX entries of a folder.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "lib/workspace/watch.h"

#define ENTRIES_MAX 4096u
#define DEPTH_MAX 64u
#define MASK                                                                                       \
	(IN_CREATE | IN_MODIFY | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |             \
	 IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR)

char *watch_tree_path(const char *folder, const char *name)
{
	const size_t folder_len = strlen(folder), name_len = strlen(name);
	char *path = mem_new0(folder_len + name_len + 2, 1);

	(void)snprintf(path, folder_len + name_len + 2, "%s%s%s", folder,
		       folder_len > 0 ? "/" : "", name);
	return path;
}

bool watch_tree_is_hidden(const struct reckon_watch *watch, const char *path)
{
	return watch->prefix[0] == '\0' && strncmp(path, ".reckon-", 8) == 0;
}

const struct watch_folder *watch_tree_find(const struct reckon_watch *watch, int wd)
{
	for (size_t i = 0; i < watch->folder_count; i++)
		if (watch->folders[i].wd == wd)
			return &watch->folders[i];
	return NULL;
}

void watch_tree_forget(struct reckon_watch *watch, int wd)
{
	for (size_t i = 0; i < watch->folder_count; i++)
		if (watch->folders[i].wd == wd) {
			free(watch->folders[i].path);
			watch->folders[i] = watch->folders[--watch->folder_count];
			return;
		}
}

/* The part of `path` below `folder`, "" for the folder itself; NULL: it is not below. */
static const char *below(const char *path, const char *folder)
{
	const size_t len = strlen(folder);

	if (strncmp(path, folder, len) != 0 || (path[len] != '\0' && path[len] != '/'))
		return NULL;
	return path + len;
}

void watch_tree_drop(struct reckon_watch *watch, const char *path)
{
	for (size_t i = 0; i < watch->folder_count;) {
		struct watch_folder *folder = &watch->folders[i];

		if (below(folder->path, path) == NULL) {
			i++;
			continue;
		}
		(void)inotify_rm_watch(watch->fd, folder->wd);
		free(folder->path);
		*folder = watch->folders[--watch->folder_count];
	}
}

void watch_tree_rename(struct reckon_watch *watch, const char *from, const char *to)
{
	for (size_t i = 0; i < watch->folder_count; i++) {
		struct watch_folder *folder = &watch->folders[i];
		const char *rest = below(folder->path, from);
		char *path;

		if (rest == NULL)
			continue;
		path = rest[0] == '/' ? watch_tree_path(to, rest + 1) : mem_strdup(to);
		free(folder->path);
		folder->path = path;
	}
}

/* ---- adding --------------------------------------------------------------------------------- */

static void tell_limit(struct reckon_watch *watch, const char *path)
{
	if (!watch->is_limited)
		watch_tell(watch, RECKON_WATCH_LIMIT, path, NULL, true);
	watch->is_limited = true;
}

/* False: the folder is not watched. */
static bool add_one(struct reckon_watch *watch, int fd, const char *path)
{
	char name[40];
	int wd;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	wd = watch->folder_count < watch->folders_max ? inotify_add_watch(watch->fd, name, MASK)
						      : -1;
	if (wd < 0) {
		tell_limit(watch, path);
		return false;
	}
	/* A folder that is already watched may have a new name. */
	watch_tree_forget(watch, wd);
	if (watch->folder_count == watch->folder_capacity) {
		watch->folder_capacity =
			watch->folder_capacity > 0 ? watch->folder_capacity * 2 : 8;
		watch->folders = mem_grow(watch->folders, watch->folder_capacity,
					  sizeof(*watch->folders));
	}
	watch->folders[watch->folder_count++] = (struct watch_folder){ wd, mem_strdup(path) };
	return true;
}

static void add_tree(struct reckon_watch *watch, const char *path, bool tells, unsigned depth);

/* Names that are not safe paths are handled as folders, too. */
static void add_entry(struct reckon_watch *watch, const char *folder, const struct dirent *entry,
		      bool tells, unsigned depth)
{
	cleanup_free char *path = NULL;
	const bool is_folder = entry->d_type == DT_DIR;

	if (text_is_dots(entry->d_name))
		return;
	path = watch_tree_path(folder, entry->d_name);
	if (watch_tree_is_hidden(watch, path))
		return;
	if (tells)
		watch_tell(watch, RECKON_WATCH_CREATE, path, NULL, is_folder);
	if (is_folder)
		add_tree(watch, path, tells, depth + 1);
}

static void add_tree(struct reckon_watch *watch, const char *path, bool tells, unsigned depth)
{
	cleanup_free char *whole = path[0] != '\0' ? watch_tree_path(watch->prefix, path)
						   : mem_strdup(watch->prefix);
	const int fd = fs_open_beneath(watch->workspace, whole[0] != '\0' ? whole : ".",
				       O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	const struct dirent *entry;
	unsigned count = 0;
	DIR *dir;

	if (fd < 0)
		return; /* it does not exist any more */
	if (!add_one(watch, fd, path) || (!watch->is_recursive && path[0] == '\0') ||
	    (dir = fdopendir(fd)) == NULL) {
		(void)close(fd);
		return;
	}
	if (depth >= DEPTH_MAX)
		tell_limit(watch, path);
	while (depth < DEPTH_MAX && (entry = readdir(dir)) != NULL) {
		if (count++ == ENTRIES_MAX) {
			tell_limit(watch, path);
			break;
		}
		add_entry(watch, path, entry, tells, depth);
	}
	(void)closedir(dir);
}

void watch_tree_add(struct reckon_watch *watch, const char *path, bool tells)
{
	if (watch->is_recursive || path[0] == '\0')
		add_tree(watch, path, tells, 0);
}

void watch_tree_done(struct reckon_watch *watch)
{
	for (size_t i = 0; i < watch->folder_count; i++)
		free(watch->folders[i].path);
	free(watch->folders);
}
