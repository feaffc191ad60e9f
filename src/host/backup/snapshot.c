/*
 * snapshot.c - finds, reads and removes the snapshots of a backup.
 *
 * Runs in:  a separate reckond, for `reckon backup` and `reckon restore`.
 * Reads:    TARGET/snapshots, and the lists in them.
 * Never:    removes an object that a remaining snapshot names.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/backup/backup.h"

#define ID_LEN (BACKUP_ID_SIZE - 8) /* 20261125T101500Z; an unfinished one has a suffix */

struct ids {
	char (*id)[BACKUP_ID_SIZE];
	size_t count;
};

static int compare_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Oldest first. */
static int list_ids(int target_fd, struct ids *ret, struct err *err)
{
	const int fd =
		openat(target_fd, "snapshots", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;

	*ret = (struct ids){ 0 };
	if (dir == NULL) {
		(void)err_sys(err, "open snapshots");
		return err_remedy(err, "is this what `reckon backup` made?");
	}
	while ((entry = readdir(dir)) != NULL) {
		if (strlen(entry->d_name) != ID_LEN || entry->d_name[ID_LEN - 1] != 'Z')
			continue;
		ret->id = mem_grow(ret->id, ret->count + 1, sizeof(*ret->id));
		memcpy(ret->id[ret->count++], entry->d_name, ID_LEN + 1);
	}
	(void)closedir(dir);
	if (ret->count > 0)
		qsort(ret->id, ret->count, sizeof(*ret->id), compare_text);
	return 0;
}

static int open_one(int target_fd, const char *id, int *ret_fd, struct err *err)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "snapshots/%.40s", id);
	*ret_fd = openat(target_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return *ret_fd >= 0 ? 0 : err_sys(err, "open snapshot %.40s", id);
}

int snapshot_open(int target_fd, const char *id, char ret_id[BACKUP_ID_SIZE], int *ret_fd,
		  struct err *err)
{
	struct ids ids;
	int code = list_ids(target_fd, &ids, err);

	if (code == 0 && id == NULL && ids.count == 0)
		code = err_set(err, ERR_NOT_FOUND, "there is no snapshot");
	if (code == 0 && id != NULL && strchr(id, '/') != NULL)
		code = err_set(err, ERR_INVALID, "'%.40s' is not a snapshot of this backup", id);
	if (code == 0) {
		(void)snprintf(ret_id, BACKUP_ID_SIZE, "%s",
			       id != NULL ? id : ids.id[ids.count - 1]);
		code = open_one(target_fd, ret_id, ret_fd, err);
	}
	free(ids.id);
	return code;
}

int snapshot_each(int snapshot_fd, const char *list, line_fn *fn, void *arg, struct err *err)
{
	const int fd = openat(snapshot_fd, list, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char name[128];
	uint64_t size;
	int code = 0, found;

	if (file == NULL)
		return err_sys(err, "open %s", list);
	/* NOLINTNEXTLINE(cert-err34-c): verifying finds a size that is too large. */
	while (code >= 0 && (found = fscanf(file, "%127s %" SCNu64, name, &size)) == 2)
		code = strchr(name, '/') != NULL
			       ? err_set(err, ERR_INVALID, "%s is damaged", list)
			       : fn(name, size, arg, err);
	if (code >= 0 && found != EOF)
		code = err_set(err, ERR_INVALID, "%s is damaged", list);
	(void)fclose(file);
	return code < 0 ? code : 0;
}

/* ---- removal -------------------------------------------------------------------------------- */

struct needed {
	char (*sha256)[BACKUP_SHA256_SIZE];
	size_t count, room;
	int objects_fd;
};

static int note_needed(const char *name, uint64_t size, void *arg, struct err *err)
{
	struct needed *needed = arg;

	(void)size;
	(void)err;
	if (needed->count == needed->room) {
		needed->room = needed->room * 2 + 1024;
		needed->sha256 = mem_grow(needed->sha256, needed->room, sizeof(*needed->sha256));
	}
	(void)snprintf(needed->sha256[needed->count++], BACKUP_SHA256_SIZE, "%s", name);
	return 0;
}

static int remove_unneeded(const char *sha256, void *arg, struct err *err)
{
	const struct needed *needed = arg;
	char path[80];

	if (needed->count > 0 && bsearch(sha256, needed->sha256, needed->count,
					 sizeof(*needed->sha256), compare_text) != NULL)
		return 0;
	(void)snprintf(path, sizeof(path), "%.2s/%.64s", sha256, sha256);
	return unlinkat(needed->objects_fd, path, 0) < 0 ? err_sys(err, "remove an object") : 0;
}

static int remove_snapshot(int target_fd, const char *id, struct err *err)
{
	static const char *const names[] = { "objects", "segments", "reckond.db" };
	cleanup_fd int fd = -1;
	char path[64];

	if (open_one(target_fd, id, &fd, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (unlinkat(fd, names[i], 0) < 0 && errno != ENOENT)
			return err_sys(err, "remove snapshot %s", id);
	(void)snprintf(path, sizeof(path), "snapshots/%s", id);
	return unlinkat(target_fd, path, AT_REMOVEDIR) < 0 ? err_sys(err, "remove snapshot %s", id)
							   : 0;
}

/* Reads the lists of all remaining snapshots before anything is removed. */
static int gather(int target_fd, const struct ids *ids, size_t from, struct needed *needed,
		  struct err *err)
{
	for (size_t i = from; i < ids->count; i++) {
		cleanup_fd int fd = -1;

		if (open_one(target_fd, ids->id[i], &fd, err) < 0 ||
		    snapshot_each(fd, "objects", note_needed, needed, err) < 0)
			return (int)err->code;
	}
	if (needed->count > 0)
		qsort(needed->sha256, needed->count, sizeof(*needed->sha256), compare_text);
	return 0;
}

int snapshot_prune(int target_fd, int objects_fd, uint64_t keep, struct err *err)
{
	struct needed needed = { .objects_fd = objects_fd };
	struct ids ids;
	size_t from;
	int code;

	if (list_ids(target_fd, &ids, err) < 0)
		return (int)err->code;
	from = ids.count > keep ? ids.count - keep : 0;
	code = from == 0 ? 0 : gather(target_fd, &ids, from, &needed, err);
	for (size_t i = 0; i < from && code >= 0; i++)
		code = remove_snapshot(target_fd, ids.id[i], err);
	if (code >= 0 && from > 0)
		code = objects_each(objects_fd, remove_unneeded, &needed, err);
	free(needed.sha256);
	free(ids.id);
	return code < 0 ? code : 0;
}
