/*
 * store.c - stores content-addressed files below the state directory.
 *
 * Runs in:  libreckon.
 * Reads:    bytes of hostile files, to hash and copy; ids from callers.
 * Never:    leaves an incomplete file under an object's name, or follows a link that it did not
 *           create.
 *
 * Durability: a file is fsynced before it gets its name, so a name never has wrong content. The
 * directory is only fsynced by store_sync(): without it the newest objects may be missing after a
 * power failure, and can be stored again. Runs of zeros become holes, so a sparse file needs no
 * more space here than in a workspace.
 *
 * A temporary file is locked with flock() while it grows. The kernel releases the lock when the
 * process ends, so other processes can distinguish leftovers from files in use without pids.
 */
#include "lib/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/file/fs.h"
#include "base/id.h"
#include "base/mem.h"
#include "lib/store/inner.h"

#define CHUNK (64u * 1024u)
#define ID_DIGITS 32
#define NAME_DIGITS (STORE_SHA256_SIZE - 1)

/* ---- opening ---------------------------------------------------------------------------- */

static void sweep_one(int tmp_fd, const char *name)
{
	cleanup_fd int fd = openat(tmp_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(tmp_fd, name, 0);
}

static void sweep(int tmp_fd)
{
	cleanup_fd int fd = openat(tmp_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;

	if (dir == NULL)
		return;
	fd = -1; /* dir owns it now */
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.')
			sweep_one(tmp_fd, entry->d_name);
}

static int open_dir(const char *path, int *ret_fd, struct err *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return err_sys(err, "open directory %.200s", path);
	*ret_fd = fd;
	return 0;
}

int store_open(const char *state_dir, struct store **ret, struct err *err)
{
	cleanup_store struct store *store = mem_new0(1, sizeof(*store));
	char path[4096];
	int len = snprintf(path, sizeof(path), "%s/artifacts/tmp", state_dir);

	store->root_fd = -1;
	store->tmp_fd = -1;
	if (len < 0 || (size_t)len >= sizeof(path))
		return err_set(err, ERR_INVALID, "the state directory's name is too long");
	if (sodium_init() < 0)
		return err_set(err, ERR_UNAVAILABLE, "libsodium does not start");
	if (fs_mkdir_parents(path, 0700, err) < 0)
		return err_wrap(err, "artifact store");
	if (open_dir(path, &store->tmp_fd, err) < 0)
		return err_wrap(err, "artifact store");
	path[strlen(path) - strlen("/tmp")] = '\0';
	if (open_dir(path, &store->root_fd, err) < 0)
		return err_wrap(err, "artifact store");
	sweep(store->tmp_fd);
	*ret = TAKE_PTR(store);
	return 0;
}

void store_close(struct store *store)
{
	if (store == NULL)
		return;
	store_batch_abandon(store);
	if (store->root_fd >= 0)
		(void)close(store->root_fd);
	if (store->tmp_fd >= 0)
		(void)close(store->tmp_fd);
	free(store->made);
	free(store);
}

void store_closep(struct store **store)
{
	store_close(*store);
}

/* ---- writing ---------------------------------------------------------------------------- */

static void drop_name(struct store_spool *spool)
{
	if (spool->name[0] != '\0')
		(void)unlinkat(spool->store->tmp_fd, spool->name, 0);
	spool->name[0] = '\0';
}

/* Creates and locks a temporary file; tries again if another process deleted it in between. */
static int make_temporary(struct store_spool *spool, struct err *err)
{
	for (int tries = 0; tries < 16; tries++) {
		struct stat st;
		int fd;

		if (id_new(spool->name, "tmp", err) < 0)
			return (int)err->code;
		fd = openat(spool->store->tmp_fd, spool->name,
			    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0) {
			spool->name[0] = '\0';
			return store_disk_err(err, "make a file");
		}
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &st) == 0 && st.st_nlink == 1) {
			spool->fd = fd;
			return 0;
		}
		(void)close(fd);
		drop_name(spool);
	}
	return err_set(err, ERR_SYSTEM, "no temporary file in the artifact store");
}

int store_spool_open(struct store *store, uint64_t max_bytes, struct store_spool **ret,
		     struct err *err)
{
	struct store_spool *spool = mem_new0(1, sizeof(*spool));

	spool->store = store;
	spool->fd = -1;
	spool->max_bytes = max_bytes;
	(void)crypto_hash_sha256_init(&spool->hash);
	if (make_temporary(spool, err) < 0) {
		store_spool_abandon(spool);
		return (int)err->code;
	}
	*ret = spool;
	return 0;
}

void store_spool_abandon(struct store_spool *spool)
{
	if (spool == NULL)
		return;
	drop_name(spool);
	if (spool->fd >= 0)
		(void)close(spool->fd);
	free(spool);
}

static int write_chunk(struct store_spool *spool, const unsigned char *bytes, size_t len,
		       struct err *err)
{
	/* Only whole chunks become holes, because small ones are not worth another extent. */
	if (len == CHUNK && mem_is_zero(bytes, len)) {
		if (lseek(spool->fd, (off_t)len, SEEK_CUR) < 0)
			return store_disk_err(err, "write a file");
		spool->ends_in_hole = true;
		return 0;
	}
	spool->ends_in_hole = false;
	for (size_t done = 0; done < len;) {
		ssize_t n = write(spool->fd, bytes + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return store_disk_err(err, "write a file");
		done += (size_t)n;
	}
	return 0;
}

static int append_chunk(struct store_spool *spool, const unsigned char *bytes, size_t len,
			struct err *err)
{
	struct store_object *object = &spool->object;

	if (write_chunk(spool, bytes, len, err) < 0)
		return (int)err->code;
	(void)crypto_hash_sha256_update(&spool->hash, bytes, len);
	if (object->head_len < sizeof(object->head)) {
		size_t room = sizeof(object->head) - object->head_len;
		size_t n = len < room ? len : room;

		memcpy(object->head + object->head_len, bytes, n);
		object->head_len += n;
	}
	object->size += len;
	return 0;
}

int store_spool_append(struct store_spool *spool, const void *bytes, size_t len, struct err *err)
{
	const unsigned char *at = bytes;
	uint64_t room = spool->max_bytes - spool->object.size;
	size_t fits = len < room ? len : (size_t)room;

	/* After a failed write the file is incomplete, so nothing may be appended. */
	if (spool->name[0] == '\0')
		return err_set(err, ERR_SYSTEM, "an earlier write to the artifact store failed");
	while (fits > 0) {
		size_t n = fits < CHUNK ? fits : CHUNK;

		if (append_chunk(spool, at, n, err) < 0) {
			drop_name(spool);
			return (int)err->code;
		}
		at += n;
		fits -= n;
		len -= n;
	}
	if (len > 0)
		return err_set(err, ERR_LIMIT, "stream is longer than %" PRIu64 " bytes",
			       spool->max_bytes);
	return 0;
}

uint64_t store_spool_size(const struct store_spool *spool)
{
	return spool->object.size;
}

/*
 * Whether the content already exists. If so, updates its time under a shared lock (the collector
 * takes an exclusive one), so that an object about to be used is not collected.
 */
static bool is_there(int dir_fd, const struct store_object *object)
{
	struct stat st;
	bool is_same;

	(void)flock(dir_fd, LOCK_SH);
	/* An object of another size is damaged, and will be replaced. */
	is_same = fstatat(dir_fd, object->sha256, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		  S_ISREG(st.st_mode) && (uint64_t)st.st_size == object->size &&
		  utimensat(dir_fd, object->sha256, NULL, AT_SYMLINK_NOFOLLOW) == 0;
	(void)flock(dir_fd, LOCK_UN);
	return is_same;
}

/* Renames the complete temporary file to its hash, unless the content already exists. */
static int file_away(struct store_spool *spool, struct err *err)
{
	struct store_object *object = &spool->object;
	cleanup_fd int dir_fd = -1;

	if (spool->ends_in_hole && ftruncate(spool->fd, (off_t)object->size) < 0)
		return store_disk_err(err, "write a file");
	if (store_open_shard(spool->store, object->sha256, &dir_fd, err) < 0)
		return (int)err->code;
	if (is_there(dir_fd, object)) {
		drop_name(spool);
		return 0;
	}
	object->was_new = true;
	if (spool->store->batch != NULL)
		return store_batch_take(spool, err);
	if (fsync(spool->fd) < 0)
		return store_disk_err(err, "sync a file");
	if (renameat(spool->store->tmp_fd, spool->name, dir_fd, object->sha256) < 0)
		return store_disk_err(err, "name a file");
	spool->name[0] = '\0';
	return 0;
}

/* Not unbounded: the limits of an execution bound the number of objects. */
static void note_made(struct store *store, const struct store_object *object)
{
	if (store->made_count == store->made_room) {
		store->made_room = store->made_room * 2 + 8;
		store->made = mem_grow(store->made, store->made_room, sizeof(*store->made));
	}
	memcpy(store->made[store->made_count].id, object->id, sizeof(object->id));
	store->made[store->made_count++].size = object->size;
}

const struct store_note *store_made(const struct store *store, size_t index)
{
	return index < store->made_count ? &store->made[index] : NULL;
}

void store_forget_made(struct store *store)
{
	store->made_count = 0;
}

static int finish(struct store_spool *spool, const char *prefix, struct store_object *ret,
		  struct err *err)
{
	unsigned char digest[crypto_hash_sha256_BYTES];
	struct store_object *object = &spool->object;

	if (spool->name[0] == '\0')
		return err_set(err, ERR_SYSTEM, "an earlier write to the artifact store failed");
	(void)crypto_hash_sha256_final(&spool->hash, digest);
	(void)sodium_bin2hex(object->sha256, sizeof(object->sha256), digest, sizeof(digest));
	(void)snprintf(object->id, sizeof(object->id), "%s_%.*s", prefix, ID_DIGITS,
		       object->sha256);
	if (file_away(spool, err) < 0)
		return (int)err->code;
	note_made(spool->store, object);
	*ret = *object;
	return 0;
}

int store_spool_finish(struct store_spool *spool, struct store_object *ret, struct err *err)
{
	int result = finish(spool, "out", ret, err);

	store_spool_abandon(spool);
	return result;
}

static int copy_in(struct store_spool *spool, int fd, uint64_t size_max, struct err *err)
{
	cleanup_free unsigned char *chunk = mem_new0(1, CHUNK);
	uint64_t left = size_max;

	while (left > 0) {
		ssize_t n = fd_read_full(fd, chunk, left < CHUNK ? (size_t)left : CHUNK, err);

		if (n < 0)
			return (int)err->code;
		if (n == 0)
			return 0;
		if (append_chunk(spool, chunk, (size_t)n, err) < 0)
			return (int)err->code;
		left -= (uint64_t)n;
	}
	return 0;
}

int store_put_fd(struct store *store, int fd, uint64_t size_max, struct store_object *ret,
		 struct err *err)
{
	struct store_spool *spool;
	int result;

	if (store_spool_open(store, size_max, &spool, err) < 0)
		return (int)err->code;
	result = copy_in(spool, fd, size_max, err);
	if (result >= 0)
		result = finish(spool, "ar", ret, err);
	store_spool_abandon(spool);
	return result;
}

int store_put_bytes(struct store *store, const char *prefix, const void *bytes, size_t len,
		    struct store_object *ret, struct err *err)
{
	struct store_spool *spool;
	int result;

	if (store_spool_open(store, len, &spool, err) < 0)
		return (int)err->code;
	result = store_spool_append(spool, bytes, len, err);
	if (result >= 0)
		result = finish(spool, prefix, ret, err);
	store_spool_abandon(spool);
	return result;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* The digits of a valid id, or NULL. */
static const char *id_digits(const char *id)
{
	const char *digits;

	if (strncmp(id, "ar_", 3) == 0)
		digits = id + 3;
	else if (strncmp(id, "out_", 4) == 0)
		digits = id + 4;
	else
		return NULL;
	return strspn(digits, "0123456789abcdef") == ID_DIGITS && digits[ID_DIGITS] == '\0' ? digits
											    : NULL;
}

static int find_name(int dir_fd, const char *digits, char ret_name[STORE_SHA256_SIZE],
		     struct err *err)
{
	cleanup_fd int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_dir DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int found = 0;

	if (dir == NULL)
		return err_sys(err, "read an artifact directory");
	fd = -1; /* dir owns it now */
	while ((entry = readdir(dir)) != NULL) {
		if (strncmp(entry->d_name, digits, ID_DIGITS) != 0 ||
		    strlen(entry->d_name) != NAME_DIGITS)
			continue;
		memcpy(ret_name, entry->d_name, STORE_SHA256_SIZE);
		found++;
	}
	if (found > 1)
		return err_set(err, ERR_NOT_FOUND, "more than one artifact begins with %s", digits);
	if (found == 0)
		return err_set(err, ERR_NOT_FOUND, "no artifact %s", digits);
	return 0;
}

int store_open_object(struct store *store, const char *id, int *ret_fd, uint64_t *ret_size,
		      struct err *err)
{
	const char *digits = id_digits(id);
	cleanup_fd int dir_fd = -1;
	cleanup_fd int fd = -1;
	char name[STORE_SHA256_SIZE];
	char shard[3] = { 0 };
	struct stat st;

	if (digits == NULL)
		return err_set(err, ERR_INVALID, "not an artifact's id: %.60s", id);
	memcpy(shard, digits, 2);
	dir_fd = openat(store->root_fd, shard, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0 && errno == ENOENT)
		return err_set(err, ERR_NOT_FOUND, "no artifact %s", id);
	if (dir_fd < 0)
		return err_sys(err, "open artifact directory %s", shard);
	if (find_name(dir_fd, digits, name, err) < 0)
		return (int)err->code;
	fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_sys(err, "open artifact %s", id);
	if (!S_ISREG(st.st_mode))
		return err_set(err, ERR_NOT_FOUND, "artifact %s is not a file", id);
	*ret_fd = TAKE_FD(fd);
	*ret_size = (uint64_t)st.st_size;
	return 0;
}

int store_stat(struct store *store, const char *id, uint64_t *ret_size, struct err *err)
{
	cleanup_fd int fd = -1;

	return store_open_object(store, id, &fd, ret_size, err);
}

int store_get(struct store *store, const char *id, uint64_t offset, uint64_t length, int target_fd,
	      struct err *err)
{
	cleanup_free unsigned char *chunk = NULL;
	cleanup_fd int fd = -1;
	uint64_t size, left;

	if (store_open_object(store, id, &fd, &size, err) < 0)
		return (int)err->code;
	if (offset > size)
		return err_set(err, ERR_INVALID, "%s ends at %" PRIu64 ", before offset %" PRIu64,
			       id, size, offset);
	left = length == 0 || length > size - offset ? size - offset : length;
	if (lseek(fd, (off_t)offset, SEEK_SET) < 0)
		return err_sys(err, "seek in artifact %s", id);
	chunk = mem_new0(1, CHUNK);
	while (left > 0) {
		ssize_t n = fd_read_full(fd, chunk, left < CHUNK ? (size_t)left : CHUNK, err);

		if (n < 0)
			return err_wrap(err, "artifact %s", id);
		if (n == 0)
			return err_set(err, ERR_SYSTEM, "artifact %s ended early", id);
		if (fd_write_full(target_fd, chunk, (size_t)n, err) < 0)
			return err_wrap(err, "artifact %s", id);
		left -= (uint64_t)n;
	}
	return 0;
}
