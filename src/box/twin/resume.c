/*
 * resume.c - tells a branch which files its parent had open.
 *
 * Runs in:  the warden, while the parent is stopped.
 * Reads:    /proc/PID/fd and fdinfo of the kernel; paths are only sent back into a box.
 * Never:    opens what the links point to.
 */
#include "box/twin/resume.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "box/procfile.h"
#include "wire/kernel.h"

static void read_position(pid_t kernel, struct resume_file *file)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "fdinfo/%d", file->fd);
	file->offset = procfile_number(kernel, name, "pos:", 10, 0);
	file->flags = (int)procfile_number(kernel, name, "flags:", 8, 0);
}

void resume_collect(struct resume *ret, pid_t kernel)
{
	char path[64];
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;

	ret->count = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)kernel);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL && ret->count < RESUME_FILES_MAX) {
		struct resume_file *file = &ret->files[ret->count];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, file->path,
				       sizeof(file->path) - 1);

		if (n <= 0)
			continue;
		file->path[n] = '\0';
		file->fd = (int)strtol(entry->d_name, NULL, 10);
		if (file->fd <= KERNEL_FD || strncmp(file->path, "/mnt/data/", 10) != 0 ||
		    strstr(file->path, " (deleted)") != NULL)
			continue;
		read_position(kernel, file);
		ret->count++;
	}
}

static int pack_number(struct buf *payload, enum kernel_tag tag, unsigned long long value,
		       struct err *err)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "%llu", value);

	return kernel_pack(payload, tag, text, (size_t)len, err);
}

int resume_send(const struct resume *resume, int control_fd, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(256 * 1024);

	for (size_t i = 0; i < resume->count; i++) {
		const struct resume_file *file = &resume->files[i];
		/* Creating or truncating the file again would lose the copied contents. */
		const int flags = file->flags & ~(O_CREAT | O_EXCL | O_TRUNC);

		if (pack_number(&payload, KERNEL_TAG_OPEN_FD, (unsigned)file->fd, err) < 0 ||
		    kernel_pack(&payload, KERNEL_TAG_OPEN_PATH, file->path, strlen(file->path),
				err) < 0 ||
		    pack_number(&payload, KERNEL_TAG_OPEN_FLAGS, (unsigned)flags, err) < 0 ||
		    pack_number(&payload, KERNEL_TAG_OPEN_OFFSET, file->offset, err) < 0)
			return (int)err->code;
	}
	return kernel_send(control_fd, KERNEL_RESUME, 0, &payload, NULL, 0, err);
}
