/*
 * file_mounts.c - files of a tenant that are mounted read-only into the boxes of its sessions.
 *
 * Runs in:  threads of the pool; file_mounts_sweep() in the loop, before the first request.
 * Reads:    the store.
 * Never:    shares a file between tenants: link counts and locks would reveal who else has it.
 *
 *   mounts/te_…/ar_…     a content, one copy per tenant, under the id of its artifact
 *   mounts/fm_…/PATH     a session's folder: hard links to those; its boxes mount it
 *
 * A folder is synced before its session is answered, and removed with it; the start of the daemon
 * removes what a crash left. A content is removed with the last folder that links to it. It is a
 * copy from the store, which shares blocks with it if the file system supports that.
 */
#include "host/files/file_mounts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/file/tree.h"
#include "base/log.h"
#include "host/host.h"

#define NOBODY ((uid_t)-1), ((gid_t)-1)
#define NAME_SIZE 96u /* of a content, including its tenant */
#define TRIES 3 /* the end of another session may remove a content at the same time */
#define CHUNK ((size_t)16 * 1024 * 1024)

void file_mounts_free(struct file_mount *list)
{
	while (list != NULL) {
		struct file_mount *next = list->next;

		(void)close(list->fd);
		free(list->path);
		free(list);
		list = next;
	}
}

/* Whether `one` is the same path as `other`, or a folder above it. */
static bool are_in_the_way(const char *one, const char *other)
{
	const size_t len = strlen(one);

	return strncmp(one, other, len) == 0 && (other[len] == '\0' || other[len] == '/');
}

int file_mounts_check(const struct file_mount *list, struct err *err)
{
	for (const struct file_mount *at = list; at != NULL; at = at->next) {
		if (!fs_path_is_safe(at->path))
			return err_set(err, ERR_INVALID, "files: %.200s is not a path below %s",
				       at->path, FILE_MOUNTS_TARGET);
		for (const struct file_mount *other = at->next; other != NULL; other = other->next)
			if (are_in_the_way(at->path, other->path) ||
			    are_in_the_way(other->path, at->path))
				return err_set(err, ERR_INVALID, "files: %.150s and %.150s are in "
					       "each other's way", at->path, other->path);
	}
	return 0;
}

static int open_all(const struct host *host)
{
	if (mkdirat(host->place.state_fd, "mounts", 0700) < 0 && errno != EEXIST)
		return -1;
	return openat(host->place.state_fd, "mounts",
		      O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

void file_mounts_source(const struct session *session, char ret[96])
{
	(void)snprintf(ret, 96, "/proc/self/fd/%d/mounts/%s", session->host->place.state_fd,
		       session->row.file_mounts);
}

/* ---- contents ------------------------------------------------------------------------------- */

static int copy_bytes(int from, int to, struct err *err)
{
	off_t at = 0;
	ssize_t n;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	while ((n = sendfile(to, from, &at, CHUNK)) > 0)
		;
	return n < 0 ? err_sys(err, "copy a file that a session has") : 0;
}

static int add_content(int all, const char *tenant, const struct file_mount *mount, struct err *err)
{
	char fresh[NAME_SIZE], name[NAME_SIZE], id[ID_SIZE];
	cleanup_fd int to = -1;
	int code;

	if (id_new(id, "new", err) < 0)
		return (int)err->code;
	(void)snprintf(fresh, sizeof(fresh), "%s/%s", tenant, id);
	(void)snprintf(name, sizeof(name), "%s/%s", tenant, mount->artifact);
	if (fs_create_beneath(all, fresh, NOBODY, &to, err) < 0)
		return (int)err->code;
	code = copy_bytes(mount->fd, to, err);
	if (code == 0 && fchmod(to, 0444) < 0)
		code = err_sys(err, "fchmod");
	if (code == 0)
		code = fs_move_beneath(all, fresh, name, 1, NOBODY, err);
	if (code < 0)
		(void)unlinkat(all, fresh, 0);
	return code;
}

static int link_one(const struct session *session, int all, const struct file_mount *mount,
		    struct err *err)
{
	const char *tenant = session->row.tenant;
	char from[NAME_SIZE], path[4096 + ID_SIZE];
	int code = -1;

	(void)snprintf(from, sizeof(from), "%s/%s", tenant, mount->artifact);
	(void)snprintf(path, sizeof(path), "%s/%s", session->row.file_mounts, mount->path);
	for (int i = 0; i < TRIES && code < 0; i++) {
		if (faccessat(all, from, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
		    add_content(all, tenant, mount, err) < 0)
			return (int)err->code;
		code = fs_link_beneath(all, from, path, NOBODY, err);
	}
	return code;
}

/* Removes the tenant's contents that no folder links to. */
static void drop_contents(int all, const char *tenant)
{
	const int fd = openat(all, tenant, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	struct stat st;

	if (dir == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, "ar_", 3) == 0 &&
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_nlink == 1)
			(void)unlinkat(fd, entry->d_name, 0);
	(void)closedir(dir);
	(void)unlinkat(all, tenant, AT_REMOVEDIR); /* fails if it is not empty */
}

/* ---- folders -------------------------------------------------------------------------------- */

static void remove_folder(int all, const char *name)
{
	const int fd = openat(all, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	uint64_t removed;
	struct err err;

	if (fd < 0)
		return;
	if (fs_empty(fd, &removed, &err) < 0)
		log_line(LOG_WARN, "files that a session had are left", "folder=%s why=\"%s\"",
			 name, err.text);
	(void)close(fd);
	(void)unlinkat(all, name, AT_REMOVEDIR);
}

int file_mounts_make(const struct session *session, const struct file_mount *list, struct err *err)
{
	cleanup_fd int all = open_all(session->host);

	if (all < 0)
		return err_sys(err, "make the folder of files that sessions have");
	if (fs_mkdir_beneath(all, session->row.file_mounts, NOBODY, err) < 0)
		return (int)err->code;
	for (const struct file_mount *at = list; at != NULL; at = at->next)
		if (link_one(session, all, at, err) < 0)
			return err_wrap(err, "files: %.200s", at->path);
	if (session->host->config.durability == 0 && syncfs(all) < 0)
		return err_sys(err, "sync the files that a session has");
	return 0;
}

void file_mounts_remove(const struct session *session)
{
	cleanup_fd int all = session->row.file_mounts[0] != '\0' ? open_all(session->host) : -1;

	if (all < 0)
		return;
	remove_folder(all, session->row.file_mounts);
	drop_contents(all, session->row.tenant);
}

static bool is_had(const struct host *host, const char *name)
{
	const struct session *at = host->sessions.first;

	while (at != NULL && strcmp(at->row.file_mounts, name) != 0)
		at = at->next;
	return at != NULL;
}

/* Called for folders first, because contents without links can be removed afterwards. */
static void sweep(struct host *host, int all, bool are_folders)
{
	const int fd = openat(all, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (dir == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return;
	}
	while ((entry = readdir(dir)) != NULL) {
		const bool is_folder = strncmp(entry->d_name, "fm_", 3) == 0;

		if (entry->d_name[0] == '.' || is_folder != are_folders)
			continue;
		if (!is_folder)
			drop_contents(all, entry->d_name);
		else if (!is_had(host, entry->d_name))
			remove_folder(all, entry->d_name);
	}
	(void)closedir(dir);
}

void file_mounts_sweep(struct host *host)
{
	cleanup_fd int all = openat(host->place.state_fd, "mounts",
				    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (all < 0)
		return;
	sweep(host, all, true);
	sweep(host, all, false);
}
