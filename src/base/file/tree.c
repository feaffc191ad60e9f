/*
 * tree.c - folders, links and whole trees beneath a directory that a hostile process can change.
 *
 * Runs in:  trusted processes.
 * Reads:    directories that a box can change meanwhile.
 * Never:    follows a symbolic link, or goes deeper than its stack of descriptors.
 */
#include "base/file/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/file/inner.h"
#include "base/text.h"

#define DEPTH_MAX 48
#define ROUNDS_MAX 100000u

int fs_mkdir_beneath(int dir_fd, const char *path, uid_t uid, gid_t gid, struct err *err)
{
	cleanup_fd int parent = -1, made = -1;
	const char *name = NULL;

	if (!fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "not a path inside the workspace: %.200s", path);
	if (fs_inner_parents(dir_fd, path, uid, gid, &parent, &name, err) < 0)
		return (int)err->code;
	if (mkdirat(parent, name, 0755) == 0) {
		if (uid != (uid_t)-1 && fchownat(parent, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
			return err_sys(err, "give %.200s to the session", path);
		return 0;
	}
	if (errno != EEXIST)
		return err_sys(err, "make directory %.200s", path);
	made = fs_inner_open(parent, name, O_PATH | O_DIRECTORY, 0);
	return made >= 0 ? 0 : fs_inner_failed(path, err);
}

/* Makes room for a new name: removes what has the name, unless it is a directory. */
static int make_room(int parent, const char *name, const char *path, struct err *err)
{
	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno == EISDIR || errno == EPERM)
		return err_set(err, ERR_INVALID, "%.200s is a folder", path);
	return err_sys(err, "replace %.200s", path);
}

int fs_symlink_beneath(int dir_fd, const char *path, const char *target, uid_t uid, gid_t gid,
		       struct err *err)
{
	cleanup_fd int parent = -1;
	const char *name = NULL;

	if (!fs_path_is_safe(path))
		return err_set(err, ERR_INVALID, "not a path inside the workspace: %.200s", path);
	if (fs_inner_parents(dir_fd, path, uid, gid, &parent, &name, err) < 0 ||
	    make_room(parent, name, path, err) < 0)
		return (int)err->code;
	if (symlinkat(target, parent, name) < 0)
		return err_sys(err, "make the link %.200s", path);
	if (uid != (uid_t)-1 && fchownat(parent, name, uid, gid, AT_SYMLINK_NOFOLLOW) < 0)
		return err_sys(err, "give %.200s to the session", path);
	return 0;
}

int fs_link_beneath(int dir_fd, const char *from, const char *path, uid_t uid, gid_t gid,
		    struct err *err)
{
	cleanup_fd int source = -1, parent = -1, file = -1;
	const char *name = NULL, *source_name = NULL;
	struct stat st;

	if (strcmp(from, path) == 0)
		return err_set(err, ERR_INVALID, "%.200s is a link to itself", path);
	if (fs_open_file_beneath(dir_fd, from, &file, &st, err) < 0 ||
	    fs_inner_parent(dir_fd, from, &source, &source_name, err) < 0 ||
	    fs_inner_parents(dir_fd, path, uid, gid, &parent, &name, err) < 0 ||
	    make_room(parent, name, path, err) < 0)
		return (int)err->code;
	if (linkat(source, source_name, parent, name, 0) < 0)
		return err_sys(err, "make the link %.200s", path);
	return 0;
}

static int move_failed(const char *from, const char *to, struct err *err)
{
	switch (errno) {
	case ENOENT:
		return err_set(err, ERR_NOT_FOUND, "no file %.200s in the workspace", from);
	case EEXIST:
		(void)err_set(err, ERR_DENIED, "%.200s exists", to);
		return err_remedy(err, "say \"overwrite\": true, or choose another name");
	case EISDIR:
		return err_set(err, ERR_INVALID, "%.200s is a folder", to);
	case ENOTDIR:
		return err_set(err, ERR_INVALID, "%.200s is not a folder", to);
	case ENOTEMPTY:
		return err_set(err, ERR_INVALID, "the folder %.200s is not empty", to);
	case EINVAL:
		return err_set(err, ERR_INVALID, "a folder cannot be moved into itself");
	default:
		return err_sys(err, "move %.100s to %.100s", from, to);
	}
}

int fs_move_between(int from_fd, const char *from, int to_fd, const char *to, int overwrite,
		    uid_t uid, gid_t gid, struct err *err)
{
	cleanup_fd int source = -1, target = -1;
	const char *from_name = NULL, *to_name = NULL;
	struct stat st;

	if (!fs_path_is_safe(to))
		return err_set(err, ERR_INVALID, "not a path inside the workspace: %.200s", to);
	if (fs_inner_parent(from_fd, from, &source, &from_name, err) < 0)
		return (int)err->code;
	/* Check the source before creating anything for it. */
	if (fstatat(source, from_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return move_failed(from, to, err);
	if (fs_inner_parents(to_fd, to, uid, gid, &target, &to_name, err) < 0)
		return (int)err->code;
	if (renameat2(source, from_name, target, to_name, overwrite ? 0 : RENAME_NOREPLACE) < 0)
		return move_failed(from, to, err);
	return 0;
}

int fs_move_beneath(int dir_fd, const char *from, const char *to, int overwrite, uid_t uid,
		    gid_t gid, struct err *err)
{
	return fs_move_between(dir_fd, from, dir_fd, to, overwrite, uid, gid, err);
}

/* ---- removing ------------------------------------------------------------------------------- */

struct emptying {
	int top_fd;
	uint64_t removed;
	uint64_t moved; /* numbers the names of moved directories */
};

/* Moves a directory that lies too deep for our descriptors to the top. */
static bool move_up(struct emptying *at, int dir_fd, const char *name)
{
	char fresh[40];

	(void)snprintf(fresh, sizeof(fresh), ".deep-%llu", (unsigned long long)at->moved);
	if (renameat2(dir_fd, name, at->top_fd, fresh, RENAME_NOREPLACE) < 0)
		return false;
	at->moved++;
	return true;
}

static void empty_dir(struct emptying *at, int dir_fd, unsigned depth)
{
	cleanup_dir DIR *dir = fdopendir(dir_fd); /* closes dir_fd */
	const struct dirent *entry;

	if (dir == NULL) {
		(void)close(dir_fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		const char *name = entry->d_name;
		int below;

		if (text_is_dots(name))
			continue;
		if (unlinkat(dirfd(dir), name, 0) == 0) {
			at->removed++;
			continue;
		}
		if (depth >= DEPTH_MAX) {
			(void)move_up(at, dirfd(dir), name);
			continue;
		}
		below = fs_inner_open(dirfd(dir), name, O_RDONLY | O_DIRECTORY, 0);
		if (below >= 0)
			empty_dir(at, below, depth + 1);
		if (unlinkat(dirfd(dir), name, AT_REMOVEDIR) == 0)
			at->removed++;
	}
}

int fs_empty(int dir_fd, uint64_t *ret_removed, struct err *err)
{
	struct emptying at = { .top_fd = dir_fd };
	uint64_t before, moved;
	int fd;

	/* If a round neither removed nor moved anything, the next ones would not either. */
	for (unsigned round = 0; round < ROUNDS_MAX; round++) {
		before = at.removed;
		moved = at.moved;
		fd = fs_inner_open(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0);
		if (fd < 0)
			return fs_inner_failed(".", err);
		empty_dir(&at, fd, 0);
		if (at.removed == before && at.moved == moved)
			break;
	}
	*ret_removed = at.removed;
	return 0;
}
