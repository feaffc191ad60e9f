/*
 * driver.c - a main() for fuzz targets, so that a corpus replays with any compiler.
 *
 * Runs in:  the fuzz suite, wherever libFuzzer is not linked.
 * Reads:    the files it is given, and the files of the directories it is given.
 * Never:    generates inputs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/file/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_at(int dir_fd, const char *name, unsigned *count)
{
	cleanup_fd int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
	cleanup_buf struct buf bytes = BUF_INIT(64u << 20);
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;
	struct stat st;
	struct err err;

	if (fd < 0 || fstat(fd, &st) < 0) {
		perror(name);
		return -1;
	}
	if (S_ISREG(st.st_mode)) {
		if (fd_read_all(fd, &bytes, &err) < 0) {
			(void)fprintf(stderr, "%s: %s\n", name, err.text);
			return -1;
		}
		(void)printf("%s\n", name);
		(void)fflush(stdout); /* the last name printed is the input that crashed */
		(void)LLVMFuzzerTestOneInput((const uint8_t *)buf_text(&bytes), bytes.len);
		(*count)++;
		return 0;
	}
	dir = fdopendir(TAKE_FD(fd));
	if (dir == NULL) {
		perror(name);
		return -1;
	}
	while ((entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' && replay_at(dirfd(dir), entry->d_name, count) < 0)
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	unsigned count = 0;

	for (int i = 1; i < argc; i++)
		if (replay_at(AT_FDCWD, argv[i], &count) < 0)
			return 1;
	(void)printf("%u inputs\n", count);
	return count > 0 ? 0 : 1; /* an empty corpus tests nothing */
}
