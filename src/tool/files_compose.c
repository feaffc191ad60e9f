/*
 * files_compose.c - joins several files to one.
 *
 * Runs in:  a box, as part of reckon-files.
 * Reads:    files of the box.
 * Never:    changes the destination or removes a source before the joined file is complete.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "tool/files.h"

#define CHUNK 65536u
#define PART_NAME ".compose-XXXXXX" /* temporary file in the destination's folder */

/* The path of a source. NULL: it is not valid, and an error was printed. */
static const char *source_at(const struct json_value *paths, size_t at)
{
	size_t len;
	const char *path = json_read_text(json_read_at(paths, at), &len);

	if (path != NULL && path[0] == '/' && strlen(path) == len && len < PATH_MAX)
		return path;
	(void)files_fail("invalid", "paths: absolute paths are required");
	return NULL;
}

/* Whether each source is a file, and none is the destination. False: an error was printed. */
static bool are_good(const struct json_value *paths, const char *to)
{
	struct stat source, target;
	const bool has_target = lstat(to, &target) == 0;

	for (size_t i = 0; i < json_read_count(paths); i++) {
		const char *path = source_at(paths, i);

		if (path == NULL)
			return false;
		if (stat(path, &source) < 0)
			(void)files_fail_as(errno, path);
		else if (!S_ISREG(source.st_mode))
			(void)files_fail("invalid", "source path is not a regular file: %s", path);
		else if (has_target && source.st_dev == target.st_dev &&
			 source.st_ino == target.st_ino)
			(void)files_fail("invalid",
					 "source path cannot be the same as destination: %s", path);
		else
			continue;
		return false;
	}
	return true;
}

/* Negative: see errno. */
static int append(const char *path, int to)
{
	cleanup_fd int from = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char chunk[CHUNK];
	struct err err;
	ssize_t n;

	if (from < 0)
		return -1;
	while ((n = read(from, chunk, sizeof(chunk))) > 0)
		if (fd_write_full(to, chunk, (size_t)n, &err) < 0) {
			errno = err.errnum;
			return -1;
		}
	return n < 0 ? -1 : 0;
}

static int write_part(const struct json_value *paths, int fd)
{
	for (size_t i = 0; i < json_read_count(paths); i++)
		if (append(json_read_text(json_read_at(paths, i), NULL), fd) < 0)
			return -1;
	return fchmod(fd, 0644);
}

/* Negative: see errno; the temporary file is removed. */
static int make(const struct json_value *paths, const char *to)
{
	const int folder = (int)(strrchr(to, '/') - to) + 1;
	char part[PATH_MAX + sizeof(PART_NAME)];
	cleanup_fd int fd = -1;
	int number;

	(void)snprintf(part, sizeof(part), "%.*s%s", folder, to, PART_NAME);
	fd = mkostemp(part, O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (write_part(paths, fd) == 0 && rename(part, to) == 0)
		return 0;
	number = errno;
	(void)unlink(part);
	errno = number;
	return -1;
}

int files_compose(const struct json_value *paths, const char *to)
{
	if (json_read_count(paths) == 0)
		return files_fail("invalid", "paths: at least one is required");
	if (!are_good(paths, to))
		return EXIT_FAILURE;
	if (files_make_folders(to, false) < 0 || make(paths, to) < 0)
		return files_fail_as(errno, to);
	for (size_t i = 0; i < json_read_count(paths); i++)
		(void)unlink(json_read_text(json_read_at(paths, i), NULL));
	return EXIT_SUCCESS;
}
