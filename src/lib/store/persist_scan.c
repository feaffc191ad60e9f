/*
 * persist_scan.c - scans all names of a workspace, including names that are not text.
 *
 * Runs in:  libreckon.
 * Reads:    names and attributes in a directory that a hostile box may change meanwhile.
 * Never:    follows a symbolic link, or opens anything but directories.
 */
#include "lib/store/persist.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/text.h"

#define PATH_BYTES_MAX 4095u

void persist_list_clear(struct persist_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->entries[i].path);
		free(list->entries[i].target);
	}
	free(list->entries);
	*list = (struct persist_list){ 0 };
}

struct persist_entry *persist_list_add(struct persist_list *list)
{
	if (list->count == list->capacity) {
		list->capacity = list->capacity > 0 ? list->capacity * 2 : 64;
		list->entries = mem_grow(list->entries, list->capacity, sizeof(*list->entries));
	}
	memset(&list->entries[list->count], 0, sizeof(*list->entries));
	return &list->entries[list->count++];
}

int persist_compare(const void *left, const void *right)
{
	return strcmp(((const struct persist_entry *)left)->path,
		      ((const struct persist_entry *)right)->path);
}

const struct persist_entry *persist_list_find(const struct persist_list *list, const char *path)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const int order = strcmp(path, list->entries[middle].path);

		if (order == 0)
			return &list->entries[middle];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

bool persist_is_same(const struct persist_entry *left, const struct persist_entry *right)
{
	return left->ino == right->ino && left->size == right->size &&
	       left->mtime_ns == right->mtime_ns && left->ctime_ns == right->ctime_ns;
}

int persist_open_parent(int dir_fd, const char *path, int *ret_fd, const char **ret_name,
		     struct err *err)
{
	const char *slash = strrchr(path, '/');
	char above[PATH_BYTES_MAX + 1] = ".";

	if (slash != NULL && (size_t)(slash - path) < sizeof(above)) {
		memcpy(above, path, (size_t)(slash - path));
		above[slash - path] = '\0';
	}
	*ret_fd = fs_open_beneath(dir_fd, above, O_RDONLY | O_DIRECTORY, 0);
	if (*ret_fd < 0)
		return err_sys(err, "open the directory of %.200s", path);
	*ret_name = slash != NULL ? slash + 1 : path;
	return 0;
}

/* ---- one name ------------------------------------------------------------------------------- */

static unsigned kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return RECKON_ENTRY_FILE;
	if (S_ISDIR(mode))
		return RECKON_ENTRY_DIRECTORY;
	if (S_ISLNK(mode))
		return RECKON_ENTRY_SYMLINK;
	return S_ISFIFO(mode) ? RECKON_ENTRY_FIFO : 0;
}

static char *read_target(int dir_fd, const char *name)
{
	char target[PATH_BYTES_MAX + 2];
	const ssize_t len = readlinkat(dir_fd, name, target, sizeof(target) - 1);

	if (len <= 0 || (size_t)len >= sizeof(target) - 1)
		return NULL;
	target[len] = '\0';
	return mem_strdup(target);
}

/* Skips sockets, which do not outlive their listener. */
static void visit(struct persist_list *found, const struct apart *apart, const char *dir,
		  int dir_fd, const char *name)
{
	struct persist_entry *entry;
	struct stat st;
	char *path;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			found->unseen++;
		return;
	}
	if (S_ISSOCK(st.st_mode) || (S_ISDIR(st.st_mode) && apart_has(apart, st.st_ino)))
		return;
	path = kind_of(st.st_mode) != 0 ? fs_join(dir, name, PATH_BYTES_MAX) : NULL;
	if (path == NULL) {
		found->unseen++;
		return;
	}
	entry = persist_list_add(found);
	*entry = (struct persist_entry){
		.path = path,
		.kind = kind_of(st.st_mode),
		.mode = st.st_mode & 07777,
		.size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0,
		.ino = st.st_ino,
		.mtime_ns = clock_stamp_ns(st.st_mtim),
		.ctime_ns = clock_stamp_ns(st.st_ctim),
		.is_shared = !S_ISDIR(st.st_mode) && st.st_nlink > 1,
	};
	if (entry->kind == RECKON_ENTRY_SYMLINK &&
	    (entry->target = read_target(dir_fd, name)) == NULL)
		entry->kind = RECKON_ENTRY_NOT_KEPT;
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* False: the limit of names was reached. */
static bool walk(int root_fd, const struct apart *apart, const char *path, uint64_t entries_max,
		 struct persist_list *found)
{
	int fd = fs_open_beneath(root_fd, path[0] != '\0' ? path : ".", O_RDONLY | O_DIRECTORY, 0);
	cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (dir == NULL) {
		if (fd >= 0)
			(void)close(fd);
		if (errno != ENOENT && errno != ENOTDIR)
			found->unseen++;
		return true;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (text_is_dots(entry->d_name))
			continue;
		if (found->count >= entries_max) {
			found->unseen++;
			return false;
		}
		visit(found, apart, path, dirfd(dir), entry->d_name);
	}
	return true;
}

/* A rename during readdir() can list a name twice. */
static void drop_duplicates(struct persist_list *found)
{
	size_t unique = 0;

	for (size_t i = 0; i < found->count; i++) {
		if (unique > 0 &&
		    strcmp(found->entries[unique - 1].path, found->entries[i].path) == 0) {
			free(found->entries[i].path);
			free(found->entries[i].target);
		} else {
			found->entries[unique++] = found->entries[i];
		}
	}
	found->count = unique;
}

static int compare_inodes(const void *left, const void *right)
{
	const struct persist_entry *a = *(struct persist_entry *const *)left;
	const struct persist_entry *b = *(struct persist_entry *const *)right;

	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	return strcmp(a->path, b->path);
}

/* The first of several names of an inode is the file; the others become hard links to it. */
static void find_links(struct persist_list *found)
{
	cleanup_free struct persist_entry **shared = mem_new0(found->count + 1, sizeof(*shared));
	size_t count = 0, first = 0;

	for (size_t i = 0; i < found->count; i++)
		if (found->entries[i].is_shared)
			shared[count++] = &found->entries[i];
	qsort(shared, count, sizeof(struct persist_entry *), compare_inodes);
	for (size_t i = 1; i < count; i++) {
		if (shared[i]->ino != shared[first]->ino) {
			first = i;
			continue;
		}
		free(shared[i]->target);
		shared[i]->kind = RECKON_ENTRY_HARD_LINK;
		shared[i]->target = mem_strdup(shared[first]->path);
	}
}

int persist_scan(int dir_fd, const struct apart *apart, uint64_t entries_max,
		 struct persist_list *ret, struct err *err)
{
	struct persist_list found = { 0 };
	struct stat st;

	if (fstat(dir_fd, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_sys(err, "the workspace cannot be read");
	/* The list is also the queue: the content of a directory is appended to it. */
	if (walk(dir_fd, apart, "", entries_max, &found))
		for (size_t i = 0; i < found.count; i++) {
			const struct persist_entry *entry = &found.entries[i];
			cleanup_free char *path = NULL;

			if (entry->kind != RECKON_ENTRY_DIRECTORY)
				continue;
			/* the list may be reallocated while it grows */
			path = mem_strdup(entry->path);
			if (!walk(dir_fd, apart, path, entries_max, &found))
				break;
		}
	if (found.count > 1)
		qsort(found.entries, found.count, sizeof(*found.entries), persist_compare);
	drop_duplicates(&found);
	find_links(&found);
	*ret = found;
	return 0;
}
