/*
 * store_persist.c - durability of the store, and deleting unneeded objects.
 *
 * Runs in:  libreckon.
 * Reads:    names and ages in the store; bytes of an object, uninterpreted.
 * Never:    gives a name to a file that is not on disk, or deletes a new object.
 */
#include "lib/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "lib/store/inner.h"

#define BATCH_MAX 64u
#define SYNC_EACH_MAX 8u /* for more files or directories, sync the whole file system */

struct store_batch {
	size_t count;
	struct batch_file {
		int fd;
		char name[ID_SIZE];
		char sha256[STORE_SHA256_SIZE];
	} files[BATCH_MAX];
};

bool store_is_sha256(const char *text)
{
	return strspn(text, "0123456789abcdef") == STORE_SHA256_SIZE - 1 &&
	       text[STORE_SHA256_SIZE - 1] == '\0';
}

/* ---- reading -------------------------------------------------------------------------------- */

int store_open_sha256(struct store *store, const char *sha256, int *ret_fd, uint64_t *ret_size,
		      struct err *err)
{
	char path[STORE_SHA256_SIZE + 4];
	cleanup_fd int fd = -1;
	struct stat st;

	if (!store_is_sha256(sha256))
		return err_set(err, ERR_INVALID, "not a SHA-256: %.70s", sha256);
	(void)snprintf(path, sizeof(path), "%.2s/%s", sha256, sha256);
	fd = openat(store->root_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, "no object %.16s… in the store", sha256);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open object %.16s…", sha256);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_NOT_FOUND, "object %.16s… is not a file", sha256);
	*ret_fd = TAKE_FD(fd);
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

static void damaged_path(const char *sha256, char *ret, size_t size)
{
	(void)snprintf(ret, size, "%.2s/%.64s.damaged", sha256, sha256);
}

void store_set_damaged(struct store *store, const char *sha256)
{
	char from[STORE_SHA256_SIZE + 4], to[STORE_SHA256_SIZE + 16];

	(void)snprintf(from, sizeof(from), "%.2s/%s", sha256, sha256);
	damaged_path(sha256, to, sizeof(to));
	(void)renameat(store->root_fd, from, store->root_fd, to);
}

bool store_has_damaged(struct store *store, const char *sha256)
{
	char path[STORE_SHA256_SIZE + 16];

	damaged_path(sha256, path, sizeof(path));
	return faccessat(store->root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int store_describe(struct store *store, const char *sha256, struct store_object *ret,
		   struct err *err)
{
	cleanup_fd int fd = -1;
	ssize_t len;

	memset(ret, 0, sizeof(*ret));
	if (store_open_sha256(store, sha256, &fd, &ret->size, err) < 0)
		return (int)err->code;
	len = fd_read_full(fd, ret->head, sizeof(ret->head), err);
	if (len < 0)
		return (int)err->code;
	ret->head_len = (size_t)len;
	memcpy(ret->sha256, sha256, sizeof(ret->sha256));
	(void)snprintf(ret->id, sizeof(ret->id), "ar_%.32s", sha256);
	return 0;
}

/* ---- durable names -------------------------------------------------------------------------- */

void store_relax(struct store *store)
{
	store->is_relaxed = true;
}

bool store_is_relaxed(const struct store *store)
{
	return store->is_relaxed;
}

static int sync_directory(struct store *store, unsigned shard, struct err *err)
{
	cleanup_fd int fd = -1;
	char name[8];

	(void)snprintf(name, sizeof(name), "%02x", shard);
	fd = openat(store->root_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return store_disk_err(err, "sync a directory");
	return 0;
}

static int sync_directories(struct store *store, struct err *err)
{
	for (unsigned shard = 0; shard < STORE_SHARDS; shard++)
		if ((store->dirty[shard / 64] >> shard % 64 & 1u) != 0 &&
		    sync_directory(store, shard, err) < 0)
			return (int)err->code;
	if (store->root_is_dirty && fsync(store->root_fd) < 0)
		return store_disk_err(err, "sync a directory");
	return 0;
}

int store_sync(struct store *store, struct err *err)
{
	unsigned count = 0;

	for (unsigned shard = 0; shard < STORE_SHARDS; shard++)
		count += (unsigned)(store->dirty[shard / 64] >> shard % 64 & 1u);
	if (count > SYNC_EACH_MAX && !store->is_relaxed) {
		if (syncfs(store->root_fd) < 0)
			return store_disk_err(err, "sync");
	} else if (!store->is_relaxed && sync_directories(store, err) < 0) {
		return (int)err->code;
	}
	memset(store->dirty, 0, sizeof(store->dirty));
	store->root_is_dirty = false;
	return 0;
}

/* ---- a batch -------------------------------------------------------------------------------- */

void store_batch_begin(struct store *store)
{
	if (store->batch == NULL)
		store->batch = mem_new0(1, sizeof(*store->batch));
}

static void batch_clear(struct store *store)
{
	struct store_batch *batch = store->batch;

	for (size_t i = 0; i < batch->count; i++) {
		if (batch->files[i].name[0] != '\0')
			(void)unlinkat(store->tmp_fd, batch->files[i].name, 0);
		(void)close(batch->files[i].fd);
	}
	batch->count = 0;
}

void store_batch_abandon(struct store *store)
{
	if (store->batch == NULL)
		return;
	batch_clear(store);
	free(store->batch);
	store->batch = NULL;
}

static int batch_sync(struct store *store, struct err *err)
{
	const struct store_batch *batch = store->batch;

	if (store->is_relaxed || batch->count == 0)
		return 0;
	if (batch->count > SYNC_EACH_MAX)
		return syncfs(store->root_fd) < 0 ? store_disk_err(err, "sync") : 0;
	for (size_t i = 0; i < batch->count; i++)
		if (fsync(batch->files[i].fd) < 0)
			return store_disk_err(err, "sync a file");
	return 0;
}

static int batch_name(struct store *store, struct batch_file *file, struct err *err)
{
	cleanup_fd int dir_fd = -1;

	if (store_open_shard(store, file->sha256, &dir_fd, err) < 0)
		return (int)err->code;
	if (renameat(store->tmp_fd, file->name, dir_fd, file->sha256) < 0)
		return store_disk_err(err, "name a file");
	file->name[0] = '\0';
	return 0;
}

static int batch_flush(struct store *store, struct err *err)
{
	if (batch_sync(store, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < store->batch->count; i++)
		if (batch_name(store, &store->batch->files[i], err) < 0)
			return (int)err->code;
	batch_clear(store);
	return 0;
}

int store_batch_take(struct store_spool *spool, struct err *err)
{
	struct store *store = spool->store;
	struct batch_file *file;

	if (store->batch->count == BATCH_MAX && batch_flush(store, err) < 0)
		return (int)err->code;
	file = &store->batch->files[store->batch->count++];
	file->fd = TAKE_FD(spool->fd);
	memcpy(file->name, spool->name, sizeof(file->name));
	memcpy(file->sha256, spool->object.sha256, sizeof(file->sha256));
	spool->name[0] = '\0';
	return 0;
}

int store_batch_commit(struct store *store, struct err *err)
{
	int result = 0;

	if (store->batch != NULL)
		result = batch_flush(store, err);
	store_batch_abandon(store);
	return result;
}

/* ---- collecting ----------------------------------------------------------------------------- */

struct collecting {
	int dir_fd;
	time_t born_before;
	reckon_needed_fn *is_needed;
	void *arg;
	reckon_collected *add;
};

static void collect_one(const struct collecting *collecting, const char *name)
{
	reckon_collected *add = collecting->add;
	struct stat st;

	if (!store_is_sha256(name) ||
	    fstatat(collecting->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return;
	if (st.st_mtim.tv_sec >= collecting->born_before ||
	    collecting->is_needed(name, collecting->arg) != 0 ||
	    unlinkat(collecting->dir_fd, name, 0) < 0) {
		add->kept++;
		add->kept_bytes += (uint64_t)st.st_blocks * 512;
		return;
	}
	add->objects++;
	add->bytes += (uint64_t)st.st_blocks * 512;
}

int store_collect(struct store *store, unsigned directory, uint64_t age_s,
		  reckon_needed_fn *is_needed, void *arg, reckon_collected *add,
		  struct err *err)
{
	struct collecting collecting = { .is_needed = is_needed, .arg = arg, .add = add };
	cleanup_fd int fd = -1;
	cleanup_dir DIR *dir = NULL;
	const struct dirent *entry;
	char name[8];

	(void)snprintf(name, sizeof(name), "%02x", directory % STORE_SHARDS);
	fd = openat(store->root_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_sys(err, "open artifact directory %s", name);
	/* Another process is using the directory, so skip it this time. */
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return 0;
	collecting.dir_fd = fd;
	collecting.born_before = time(NULL) - (time_t)age_s;
	dir = fdopendir(fcntl(fd, F_DUPFD_CLOEXEC, 0));
	if (dir == NULL)
		return err_sys(err, "read artifact directory %s", name);
	while ((entry = readdir(dir)) != NULL)
		collect_one(&collecting, entry->d_name);
	return 0;
}
