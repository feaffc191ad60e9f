/* resume.h - tells a branch which files its parent had open. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define RESUME_FILES_MAX 64

struct resume_file {
	int fd;
	int flags;
	uint64_t offset;
	char path[512]; /* as the box sees it */
};

struct resume {
	struct resume_file files[RESUME_FILES_MAX];
	size_t count;
};

/* Lists the files below /mnt/data that a stopped kernel has open, at most RESUME_FILES_MAX. Never
 * fails: what it cannot read is not opened again, and the branch sees EBADF. */
void resume_collect(struct resume *ret, pid_t kernel);

/* Sends KERNEL_RESUME as the branch's first packet. */
int resume_send(const struct resume *resume, int control_fd, struct err *err);
