/*
 * decoder.c - decodes a PNG in a process that can only compute and write to one pipe.
 *
 * Runs in:  a child process of reckon, for one image.
 * Reads:    a PNG that a box made.
 * Never:    makes a system call other than write and exit in the sandbox; never returns.
 *
 * Strict seccomp allows read, write, exit and sigreturn. libpng allocates from an arena that is
 * mapped in advance; nothing is freed, because the process ends soon.
 */
#include "cli/image/decoder.h"

#include <linux/seccomp.h>
#include <png.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/image/fence.h"

#define OUT_FD 3
#define CPU_SECONDS 5
#define CHUNK_MAX ((png_alloc_size_t)8 * 1024 * 1024)
/*
 * The pixels of the largest image (interlaced images are decoded as a whole), and working memory.
 */
#define ARENA_SIZE ((size_t)IMAGE_SIDE_MAX * IMAGE_SIDE_MAX * 4 + (size_t)64 * 1024 * 1024)

static struct {
	unsigned char *base;
	size_t used;
	const unsigned char *png;
	size_t len, at;
} decoder;

/* Strict mode does not allow exit_group(). */
static void __attribute__((noreturn)) leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit, status);
}

static void *arena_take(size_t size)
{
	const size_t step = alignof(max_align_t);
	void *memory;

	if (size > ARENA_SIZE - step)
		return NULL;
	size = (size + step - 1) / step * step;
	if (size > ARENA_SIZE - decoder.used)
		return NULL;
	memory = decoder.base + decoder.used;
	decoder.used += size;
	return memory;
}

static png_voidp png_take(png_structp png, png_alloc_size_t size)
{
	(void)png;
	return arena_take(size);
}

static void png_give(png_structp png, png_voidp memory)
{
	(void)png;
	(void)memory;
}

static void on_error(png_structp png, png_const_charp message)
{
	(void)png;
	(void)message;
	leave(1);
}

static void on_warning(png_structp png, png_const_charp message)
{
	(void)png;
	(void)message;
}

static void read_bytes(png_structp png, png_bytep bytes, size_t len)
{
	if (len > decoder.len - decoder.at)
		png_error(png, "end of data");
	memcpy(bytes, decoder.png + decoder.at, len);
	decoder.at += len;
}

static void write_all(const void *bytes, size_t len)
{
	for (size_t at = 0; at < len;) {
		const ssize_t n = write(OUT_FD, (const char *)bytes + at, len - at);

		if (n <= 0)
			leave(1);
		at += (size_t)n;
	}
}

/* Converts every format to 8-bit RGBA. */
static void set_transforms(png_structp png, png_infop info)
{
	png_set_expand(png);
	png_set_scale_16(png);
	png_set_gray_to_rgb(png);
	png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
	(void)png_set_interlace_handling(png);
	png_read_update_info(png, info);
}

static void decode(void)
{
	png_structp png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, NULL, on_error,
						   on_warning, NULL, png_take, png_give);
	png_infop info = png != NULL ? png_create_info_struct(png) : NULL;
	struct image_head head = { .magic = IMAGE_MAGIC };
	png_bytep *rows;

	if (info == NULL)
		leave(1);
	png_set_user_limits(png, IMAGE_SIDE_MAX, IMAGE_SIDE_MAX);
	png_set_chunk_malloc_max(png, CHUNK_MAX);
	png_set_chunk_cache_max(png, 16);
	png_set_read_fn(png, NULL, read_bytes);
	png_read_info(png, info);
	head.width = png_get_image_width(png, info);
	head.height = png_get_image_height(png, info);
	set_transforms(png, info);
	if (png_get_rowbytes(png, info) != (size_t)head.width * 4)
		leave(1);
	rows = arena_take(head.height * sizeof(*rows));
	for (uint32_t y = 0; rows != NULL && y < head.height; y++) {
		rows[y] = arena_take((size_t)head.width * 4);
		if (rows[y] == NULL)
			leave(1);
	}
	if (rows == NULL)
		leave(1);
	png_read_image(png, rows);
	write_all(&head, sizeof(head));
	for (uint32_t y = 0; y < head.height; y++)
		write_all(rows[y], (size_t)head.width * 4);
}

/* Closes all descriptors but the pipe, and limits descriptors, CPU time and core dumps. */
static bool close_doors(int out)
{
	const struct rlimit cpu = { CPU_SECONDS, CPU_SECONDS };
	const struct rlimit none = { 0, 0 };

	if (dup2(out, OUT_FD) < 0 || syscall(SYS_close_range, OUT_FD + 1, ~0u, 0) < 0)
		return false;
	(void)close(STDIN_FILENO);
	(void)close(STDOUT_FILENO);
	(void)close(STDERR_FILENO);
	return setrlimit(RLIMIT_CPU, &cpu) == 0 && setrlimit(RLIMIT_CORE, &none) == 0 &&
	       setrlimit(RLIMIT_FSIZE, &none) == 0 && prctl(PR_SET_DUMPABLE, 0) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

void image_decoder_main(const void *png, size_t len, int out)
{
	decoder.png = png;
	decoder.len = len;
	decoder.base = mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (decoder.base == MAP_FAILED || !close_doors(out) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		_exit(2); /* without the sandbox there is no image */
	decode();
	leave(0);
}
