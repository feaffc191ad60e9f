/*
 * mem.h - memory whose size is known at compile time or already bounded.
 *
 * These functions abort when memory runs out: a size that a peer can choose belongs in a `struct
 * buf`, whose ceiling turns into ERR_LIMIT instead.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * A large stack variable that is written before it is read. The compiler zeroes all others
 * (-ftrivial-auto-var-init), which for 64 KiB takes a noticeable part of a short cell's time.
 */
#define MEM_UNINIT __attribute__((uninitialized))

/* Zeroed memory, never NULL; release with free(). */
void *mem_new0(size_t count, size_t size)
	__attribute__((malloc, returns_nonnull, alloc_size(1, 2)));

/* A copy of a NUL-terminated string, never NULL; release with free(). */
char *mem_strdup(const char *text) __attribute__((malloc, returns_nonnull));

/* realloc() for arrays that aborts on failure or overflow; never NULL. */
void *mem_grow(void *ptr, size_t count, size_t size) __attribute__((returns_nonnull));

bool mem_is_zero(const unsigned char *bytes, size_t len); /* there are some, and each is 0 */
