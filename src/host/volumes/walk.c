/*
 * walk.c - lists and measures a volume, relative to its descriptor.
 *
 * Runs in:  a thread of reckond's pool.
 * Reads:    a folder that boxes change at the same time.
 * Never:    follows a link, leaves the folder, or opens anything but folders.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "host/volumes/work.h"

/*
 * A box may remove all permissions of a folder, but its files still count. If we are not root and
 * so may not open it, sets its permissions first, using the inode that was opened.
 */
static int open_folder(int dir, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int fd = openat(dir, name, flags);
	cleanup_fd int path = -1;
	char link[48];

	if (fd >= 0 || errno != EACCES)
		return fd;
	path = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (path < 0)
		return -1;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", path);
	if (chmod(link, 0700) < 0)
		return -1;
	return openat(dir, name, flags);
}

static DIR *open_dir(int dir, const char *name)
{
	const int fd = open_folder(dir, name);
	DIR *ret = fd >= 0 ? fdopendir(fd) : NULL;

	if (ret == NULL && fd >= 0)
		(void)close(fd);
	return ret;
}

/* ---- one entry ------------------------------------------------------------------------------ */

static uint64_t ms_of(const struct timespec *at)
{
	return at->tv_sec > 0 ? (uint64_t)at->tv_sec * 1000 + (uint64_t)at->tv_nsec / 1000000 : 0;
}

static enum api_volume_entry_kind kind_of(const struct stat *st)
{
	return S_ISREG(st->st_mode)   ? API_VOLUME_ENTRY_KIND_FILE
	       : S_ISDIR(st->st_mode) ? API_VOLUME_ENTRY_KIND_FOLDER
	       : S_ISLNK(st->st_mode) ? API_VOLUME_ENTRY_KIND_LINK
				      : API_VOLUME_ENTRY_KIND_OTHER;
}

int volume_entry_at(struct volume_work *work, int dir, const char *name, const char *path,
		    struct api_volume_entry *ret, struct err *err)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | (name[0] == '\0' ? AT_EMPTY_PATH : 0)) <
	    0)
		return err_sys(err, "look at %.200s", path);
	*ret = (struct api_volume_entry){
		.path = arena_text(&work->arena, path, strlen(path)),
		.kind = kind_of(&st),
		.bytes = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
		.mode = st.st_mode & 0777u,
		.accessed_at_ms = ms_of(&st.st_atim),
		.modified_at_ms = ms_of(&st.st_mtim),
		.changed_at_ms = ms_of(&st.st_ctim),
	};
	if (!S_ISLNK(st.st_mode))
		return 0;
	len = readlinkat(dir, name, target, sizeof(target));
	if (len > 0 && (size_t)len < sizeof(target) && utf8_is_valid(target, (size_t)len) &&
	    memchr(target, '\0', (size_t)len) == NULL)
		ret->target = arena_text(&work->arena, target, (size_t)len);
	return 0;
}

/* ---- lists ---------------------------------------------------------------------------------- */

struct names {
	char **items;
	size_t count, capacity;
};

static void names_done(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
}

/* Skips names that are not UTF-8. */
static void read_names(struct volume_work *work, DIR *dir, struct names *ret)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		if (text_is_dots(entry->d_name) ||
		    !utf8_is_valid(entry->d_name, strlen(entry->d_name)))
			continue;
		if (ret->count == VOLUME_LISTED_MAX) {
			work->is_cut = true;
			break;
		}
		if (ret->count == ret->capacity) {
			ret->capacity = ret->capacity > 0 ? ret->capacity * 2 : 64;
			ret->items = mem_grow(ret->items, ret->capacity, sizeof(*ret->items));
		}
		ret->items[ret->count++] = mem_strdup(entry->d_name);
	}
	if (ret->count > 0)
		qsort(ret->items, ret->count, sizeof(*ret->items), text_compare);
}

static bool has_room(struct volume_work *work, const char *path)
{
	work->listed_bytes += strlen(path);
	if (work->count < VOLUME_LISTED_MAX && work->listed_bytes <= VOLUME_LISTED_BYTES)
		return true;
	work->is_cut = true;
	return false;
}

/* Skips entries that disappear during the walk. */
static void list(struct volume_work *work, DIR *dir, const char *folder, unsigned depth)
{
	__attribute__((cleanup(names_done))) struct names names = { 0 };
	char path[PATH_MAX];
	struct err ignored;

	read_names(work, dir, &names);
	for (size_t i = 0; i < names.count && !work->is_cut; i++) {
		struct api_volume_entry *entry = &work->entries[work->count];
		cleanup_dir DIR *below = NULL;

		if (snprintf(path, sizeof(path), "%s%s%s", folder, folder[0] != '\0' ? "/" : "",
			     names.items[i]) >= (int)sizeof(path) ||
		    !has_room(work, path) ||
		    volume_entry_at(work, dirfd(dir), names.items[i], path, entry, &ignored) < 0)
			continue;
		work->count++;
		if (entry->kind != API_VOLUME_ENTRY_KIND_FOLDER || depth <= 1)
			continue;
		below = open_dir(dirfd(dir), names.items[i]);
		if (below != NULL)
			list(work, below, path, depth - 1);
	}
}

int volume_walk_list(struct volume_work *work, int dir, struct err *err)
{
	cleanup_dir DIR *top = open_dir(dir, ".");

	if (top == NULL)
		return err_sys(err, "list %.200s", work->path);
	work->entries = arena_new(&work->arena, VOLUME_LISTED_MAX, sizeof(*work->entries));
	list(work, top, work->path, work->depth);
	return 0;
}

/* ---- measures ------------------------------------------------------------------------------- */

static int measure(struct volume_work *work, DIR *dir, unsigned depth, struct err *err)
{
	const struct dirent *entry;
	struct stat st;

	while (work->broken == NULL && (entry = readdir(dir)) != NULL) {
		cleanup_dir DIR *below = NULL;

		if (text_is_dots(entry->d_name) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (++work->files > VOLUME_ENTRIES_MAX)
			work->broken = "more than 200,000 files and folders";
		/* Each hard link counts its share of the inode. All links are inside the volume. */
		work->bytes += (uint64_t)st.st_blocks * 512u /
			       (S_ISDIR(st.st_mode) || st.st_nlink < 1 ? 1 : st.st_nlink);
		if (!S_ISDIR(st.st_mode))
			continue;
		if (depth == VOLUME_DEPTH_MAX) {
			work->broken = "more than 64 folders in each other";
			return 0;
		}
		below = open_dir(dirfd(dir), entry->d_name);
		if (below == NULL && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			return err_sys(err, "open a folder of a volume");
		if (below != NULL && measure(work, below, depth + 1, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int volume_walk_measure(struct volume_work *work, int dir, struct err *err)
{
	cleanup_dir DIR *top = open_dir(dir, ".");

	if (top == NULL)
		return err_sys(err, "open a volume");
	return measure(work, top, 1, err);
}
