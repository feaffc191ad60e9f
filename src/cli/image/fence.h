/*
 * fence.h - decodes hostile images in a sandboxed child process.
 *
 * libpng decodes a PNG from a box in a child process that can only compute and write to one pipe
 * (seccomp's strict mode: read, write, exit; all memory is mapped in advance). The parent accepts
 * only a size and exactly that many pixels.
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
 * The parent's side: reads the head and pixels from `fd` until `deadline_ns` (monotonic clock). The
 * result is an image of an allowed size, or ERR_PROTOCOL or ERR_TIMEOUT.
 */
int image_receive(int fd, uint64_t deadline_ns, struct image *ret, struct err *err);
