/*
 * objects.c - copies objects of a store, which are named by their hash.
 *
 * Runs in:  a separate reckond, for `reckon backup` and `reckon restore`.
 * Reads:    objects of a store and of a backup; it hashes each byte that it copies.
 * Never:    gives an object a name that is not its hash.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "host/backup/backup.h"

#define CHUNK ((size_t)256 * 1024)
#define PART "part"

static bool is_sha256(const char *name)
{
	return strlen(name) == BACKUP_SHA256_SIZE - 1 &&
	       strspn(name, "0123456789abcdef") == BACKUP_SHA256_SIZE - 1;
}

static void path_of(const char *sha256, char ret[80])
{
	(void)snprintf(ret, 80, "%.2s/%.64s", sha256, sha256);
}

bool object_is_there(int root_fd, const char *sha256, uint64_t *ret_size)
{
	char path[80];
	struct stat st;

	path_of(sha256, path);
	if (fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
		return false;
	*ret_size = (uint64_t)st.st_size;
	return true;
}

/* Copies all bytes of `from` to `to` (-1: nowhere) and hashes them. */
static int pour(int from, int to, char ret_hex[BACKUP_SHA256_SIZE], uint64_t *ret_size,
		struct err *err)
{
	cleanup_free unsigned char *chunk = mem_new0(1, CHUNK);
	unsigned char digest[crypto_hash_sha256_BYTES];
	crypto_hash_sha256_state hash;
	ssize_t n;

	*ret_size = 0;
	(void)crypto_hash_sha256_init(&hash);
	while ((n = fd_read_full(from, chunk, CHUNK, err)) > 0) {
		(void)crypto_hash_sha256_update(&hash, chunk, (size_t)n);
		*ret_size += (uint64_t)n;
		if (to >= 0 && fd_write_full(to, chunk, (size_t)n, err) < 0)
			return (int)err->code;
	}
	if (n < 0)
		return (int)err->code;
	(void)crypto_hash_sha256_final(&hash, digest);
	(void)sodium_bin2hex(ret_hex, BACKUP_SHA256_SIZE, digest, sizeof(digest));
	return 0;
}

static int open_object(int root_fd, const char *sha256, int *ret_fd, struct err *err)
{
	char path[80];

	path_of(sha256, path);
	*ret_fd = openat(root_fd, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (*ret_fd >= 0)
		return 0;
	return errno == ENOENT ? err_set(err, ERR_NOT_FOUND, "object %.16s… is missing", sha256)
			       : err_sys(err, "open object %.16s…", sha256);
}

static int make_part(int from, int to_fd, const char *sha256, uint64_t *ret_size, struct err *err)
{
	cleanup_fd int to =
		openat(to_fd, PART, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	char hex[BACKUP_SHA256_SIZE];

	if (to < 0)
		return err_sys(err, "make a file");
	if (pour(from, to, hex, ret_size, err) < 0)
		return (int)err->code;
	if (strcmp(hex, sha256) != 0)
		return err_set(err, ERR_LOST, "object %.16s… is damaged", sha256);
	return 0;
}

int object_copy(int from_fd, int to_fd, const char *sha256, uint64_t *ret_size, struct err *err)
{
	const char shard[3] = { sha256[0], sha256[1], '\0' };
	cleanup_fd int from = -1;
	char path[80];

	if (object_is_there(to_fd, sha256, ret_size))
		return 1;
	if (open_object(from_fd, sha256, &from, err) < 0)
		return (int)err->code;
	if (make_part(from, to_fd, sha256, ret_size, err) < 0) {
		(void)unlinkat(to_fd, PART, 0);
		return (int)err->code;
	}
	path_of(sha256, path);
	if ((mkdirat(to_fd, shard, 0700) < 0 && errno != EEXIST) ||
	    renameat(to_fd, PART, to_fd, path) < 0)
		return err_sys(err, "name object %.16s…", sha256);
	return 0;
}

int object_verify(int root_fd, const char *sha256, uint64_t size, struct err *err)
{
	cleanup_fd int fd = -1;
	char hex[BACKUP_SHA256_SIZE];
	uint64_t found;

	if (open_object(root_fd, sha256, &fd, err) < 0 || pour(fd, -1, hex, &found, err) < 0)
		return (int)err->code;
	if (found != size || strcmp(hex, sha256) != 0)
		return err_set(err, ERR_LOST, "object %.16s… is damaged", sha256);
	return 0;
}

int objects_sync(int root_fd, struct err *err)
{
	return syncfs(root_fd) < 0 ? err_sys(err, "sync") : 0;
}

static int each_in(int root_fd, const char *shard, object_fn *fn, void *arg, struct err *err)
{
	const int fd = openat(root_fd, shard, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *entry;
	int code = 0;

	if (dir == NULL) {
		if (fd >= 0)
			(void)close(fd);
		return errno == ENOENT ? 0 : err_sys(err, "open objects %s", shard);
	}
	while (code >= 0 && (entry = readdir(dir)) != NULL)
		if (is_sha256(entry->d_name))
			code = fn(entry->d_name, arg, err);
	(void)closedir(dir);
	return code < 0 ? code : 0;
}

int objects_each(int root_fd, object_fn *fn, void *arg, struct err *err)
{
	char shard[8];

	for (unsigned i = 0; i < 256; i++) {
		(void)snprintf(shard, sizeof(shard), "%02x", i);
		if (each_in(root_fd, shard, fn, arg, err) < 0)
			return (int)err->code;
	}
	return 0;
}

int plain_copy(int from_dir, const char *name, int to_dir, const char *to_name, struct err *err)
{
	cleanup_fd int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	cleanup_fd int to = -1;
	char hex[BACKUP_SHA256_SIZE];
	struct stat have, want;
	uint64_t size;

	if (from < 0 || fstat(from, &want) < 0)
		return err_sys(err, "open %.100s", name);
	if (fstatat(to_dir, to_name, &have, AT_SYMLINK_NOFOLLOW) == 0 &&
	    have.st_size == want.st_size)
		return 0;
	to = openat(to_dir, PART, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return err_sys(err, "make %.100s", to_name);
	if (pour(from, to, hex, &size, err) < 0)
		return (int)err->code;
	if (fsync(to) < 0 || renameat(to_dir, PART, to_dir, to_name) < 0)
		return err_sys(err, "name %.100s", to_name);
	return 0;
}
