/*
 * workspace.c - scans a workspace and finds changes.
 *
 * Runs in:  libreckon.
 * Reads:    names and attributes in a directory that a hostile box may change meanwhile.
 * Never:    opens anything but directories, or follows a symbolic link.
 *
 * The scan is breadth first: if it reaches its limit, it has seen the entries near the top, where
 * people and models put important files.
 */
#include "lib/workspace/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fs.h"
#include "base/mem.h"
#include "base/text.h"

#define PATH_MAX_BYTES 4095u

struct pending {
	char *path;
	unsigned depth;
};

struct walk {
	int root_fd;
	const struct apart *apart;
	struct workspace *found;
	size_t capacity;
	size_t seen; /* entries and directories, for the limit */
	struct pending *queue;
	size_t queue_head, queue_count, queue_capacity;
};

static enum workspace_kind kind_of(mode_t mode)
{
	if (S_ISREG(mode))
		return WORKSPACE_FILE;
	if (S_ISDIR(mode))
		return WORKSPACE_DIRECTORY;
	if (S_ISLNK(mode))
		return WORKSPACE_SYMLINK;
	if (S_ISFIFO(mode))
		return WORKSPACE_FIFO;
	if (S_ISSOCK(mode))
		return WORKSPACE_SOCKET;
	if (S_ISCHR(mode) || S_ISBLK(mode))
		return WORKSPACE_DEVICE;
	return WORKSPACE_OTHER;
}

static void enqueue(struct walk *walk, char *path, unsigned depth)
{
	if (walk->queue_count == walk->queue_capacity) {
		walk->queue_capacity = walk->queue_capacity > 0 ? walk->queue_capacity * 2 : 16;
		walk->queue = mem_grow(walk->queue, walk->queue_capacity, sizeof(*walk->queue));
	}
	walk->queue[walk->queue_count++] = (struct pending){ .path = path, .depth = depth };
}

static void add_entry(struct walk *walk, char *path, const struct stat *st)
{
	struct workspace *found = walk->found;

	if (found->count == walk->capacity) {
		walk->capacity = walk->capacity > 0 ? walk->capacity * 2 : 64;
		found->entries = mem_grow(found->entries, walk->capacity,
					  sizeof(*found->entries));
	}
	found->entries[found->count++] = (struct workspace_entry){
		.path = path,
		.kind = kind_of(st->st_mode),
		.size = st->st_size > 0 ? (uint64_t)st->st_size : 0,
		.mtime_ns = clock_stamp_ns(st->st_mtim),
		.ctime_ns = clock_stamp_ns(st->st_ctim),
		.ino = st->st_ino,
	};
}

static void visit(struct walk *walk, const struct pending *at, int dir_fd, const char *name)
{
	struct stat st;
	char *path;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		/* ENOENT is an ordinary race; any other error may hide entries. */
		if (errno != ENOENT)
			walk->found->is_incomplete = true;
		return;
	}
	if (S_ISDIR(st.st_mode) && apart_has(walk->apart, st.st_ino))
		return;
	path = fs_join(at->path, name, PATH_MAX_BYTES);
	if (path == NULL) {
		walk->found->is_incomplete = true;
		return;
	}
	walk->seen++;
	if (!S_ISDIR(st.st_mode) || !fs_path_is_safe(path)) {
		add_entry(walk, path, &st);
	} else if (at->depth + 1 < WORKSPACE_DEPTH_MAX) {
		enqueue(walk, path, at->depth + 1);
	} else {
		walk->found->is_incomplete = true;
		free(path);
	}
}

/* False: the limit was reached. */
static bool walk_directory(struct walk *walk, const struct pending *at, struct err *err)
{
	cleanup_dir DIR *dir = NULL;
	const struct dirent *entry;
	int fd;

	if (fs_open_dir_beneath(walk->root_fd, at->path, &fd, err) < 0) {
		if (err->errnum != ENOENT && err->errnum != ENOTDIR && err->errnum != ELOOP)
			walk->found->is_incomplete = true;
		return true;
	}
	dir = fdopendir(fd);
	if (dir == NULL) {
		(void)err_sys(err, "read the workspace");
		walk->found->is_incomplete = true;
		(void)close(fd);
		return true;
	}
	while (errno = 0, (entry = readdir(dir)) != NULL) {
		if (text_is_dots(entry->d_name))
			continue;
		if (walk->seen >= WORKSPACE_ENTRIES_MAX) {
			walk->found->is_incomplete = true;
			return false;
		}
		visit(walk, at, dirfd(dir), entry->d_name);
	}
	if (errno != 0)
		walk->found->is_incomplete = true;
	return true;
}

int workspace_compare(const void *left, const void *right)
{
	return strcmp(((const struct workspace_entry *)left)->path,
		      ((const struct workspace_entry *)right)->path);
}

/* A rename during readdir() can list a name twice. */
static void drop_duplicates(struct workspace *found)
{
	size_t unique = 0;

	for (size_t i = 0; i < found->count; i++) {
		if (unique > 0 &&
		    strcmp(found->entries[unique - 1].path, found->entries[i].path) == 0)
			free(found->entries[i].path);
		else
			found->entries[unique++] = found->entries[i];
	}
	found->count = unique;
}

bool apart_has(const struct apart *apart, uint64_t inode)
{
	for (size_t i = 0; apart != NULL && i < apart->count; i++)
		if (apart->inodes[i] == inode)
			return true;
	return false;
}

int workspace_scan(int dir_fd, const struct apart *apart, struct workspace **ret, struct err *err)
{
	cleanup_workspace struct workspace *found = mem_new0(1, sizeof(*found));
	struct walk walk = { .root_fd = dir_fd, .apart = apart, .found = found };
	struct timespec now;
	int probe;

	/* Use the same coarse clock that stamps files. */
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	found->scanned_ns = clock_stamp_ns(now);
	if (fs_open_dir_beneath(dir_fd, "", &probe, err) < 0)
		return err_wrap(err, "workspace");
	(void)close(probe);
	enqueue(&walk, mem_strdup(""), 0);
	while (walk.queue_head < walk.queue_count) {
		struct pending at = walk.queue[walk.queue_head++];
		struct err ignored; /* unreadable parts only make the scan incomplete */
		bool more = walk_directory(&walk, &at, &ignored);

		free(at.path);
		if (!more)
			break;
	}
	while (walk.queue_head < walk.queue_count)
		free(walk.queue[walk.queue_head++].path);
	free(walk.queue);
	if (found->count > 1)
		qsort(found->entries, found->count, sizeof(*found->entries), workspace_compare);
	drop_duplicates(found);
	*ret = TAKE_PTR(found);
	return 0;
}

void workspace_free(struct workspace *workspace)
{
	if (workspace == NULL)
		return;
	for (size_t i = 0; i < workspace->count; i++)
		free(workspace->entries[i].path);
	free(workspace->entries);
	free(workspace);
}

void workspace_freep(struct workspace **workspace)
{
	workspace_free(*workspace);
}

/* ---- differences ------------------------------------------------------------------------ */

const char *workspace_change_name(enum workspace_change change)
{
	static const char *const names[] = { "created", "modified", "deleted" };

	return names[change];
}

const char *workspace_kind_name(enum workspace_kind kind)
{
	static const char *const names[] = { "file",   "directory", "symlink", "fifo",
					     "socket", "device",    "other" };

	return names[kind];
}

static bool is_same(const struct workspace_entry *left, const struct workspace_entry *right)
{
	return left->kind == right->kind && left->size == right->size && left->ino == right->ino &&
	       left->mtime_ns == right->mtime_ns && left->ctime_ns == right->ctime_ns;
}

/*
 * Whether an entry that the old scan does not have is newer than it. A complete scan proves that;
 * an incomplete one may have missed the entry, so its time decides.
 */
static bool is_created(const struct workspace *old, const struct workspace_entry *entry)
{
	return old == NULL || !old->is_incomplete || entry->ctime_ns >= old->scanned_ns;
}

void workspace_diff(const struct workspace *old, const struct workspace *new,
		    struct workspace_delta **ret, size_t *ret_count)
{
	size_t old_count = old != NULL ? old->count : 0;
	struct workspace_delta *deltas = mem_new0(old_count + new->count + 1, sizeof(*deltas));
	size_t count = 0, i = 0, j = 0;

	while (i < old_count || j < new->count) {
		int order = i >= old_count    ? 1 :
			    j >= new->count ? -1 :
						strcmp(old->entries[i].path, new->entries[j].path);
		const struct workspace_entry *was = order <= 0 ? &old->entries[i++] : NULL;
		const struct workspace_entry *is = order >= 0 ? &new->entries[j++] : NULL;

		if (was != NULL && is != NULL) {
			if (is_same(was, is))
				continue;
			deltas[count++] = (struct workspace_delta){ WORKSPACE_MODIFIED, is };
		} else if (is != NULL) {
			if (is_created(old, is))
				deltas[count++] = (struct workspace_delta){ WORKSPACE_CREATED, is };
		} else if (!new->is_incomplete) {
			deltas[count++] = (struct workspace_delta){ WORKSPACE_DELETED, was };
		}
	}
	*ret = deltas;
	*ret_count = count;
}
