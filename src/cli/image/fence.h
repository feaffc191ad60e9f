/*
 * fence.h - hostile pictures become pixels behind a fence of their own.
 *
 * A PNG from a box is decoded by libpng in a child process that can do nothing but compute and
 * write to one pipe (seccomp's strict mode: read, write, exit; everything it needs is mapped
 * before). What comes back is a size and that many pixels, no more and no less; only they are used.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define IMAGE_SIDE_MAX 4096u
#define IMAGE_PNG_MAX ((size_t)32 * 1024 * 1024)

struct image {
	uint32_t width, height;
	unsigned char *rgba; /* width * height * 4 bytes, not premultiplied */
};

/* What the child writes before the pixels. */
struct image_head {
	uint32_t magic;
	uint32_t width, height;
};
#define IMAGE_MAGIC 0x31474b52u /* "RKG1" */

int image_decode_png(const void *png, size_t len, struct image *ret, struct err *err);
void image_done(struct image *image);

/*
 * The parent's side alone: takes head and pixels from `fd` until `deadline_ns` (monotonic). Whatever
 * comes, the result is a picture of an allowed size, or ERR_PROTOCOL, ERR_TIMEOUT.
 */
int image_receive(int fd, uint64_t deadline_ns, struct image *ret, struct err *err);
