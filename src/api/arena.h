/* arena.h - memory of one request, released at once. */
#pragma once

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
};

/* Zeroed, never NULL, aligned for any type. */
void *arena_new(struct arena *arena, size_t count, size_t size)
	__attribute__((returns_nonnull));
/* A NUL-terminated copy. */
char *arena_text(struct arena *arena, const char *text, size_t len)
	__attribute__((returns_nonnull));
const char *arena_text_or_null(struct arena *arena, const char *text); /* NULL when it is "" */
void arena_done(struct arena *arena); /* it may be used again */
#define cleanup_arena __attribute__((cleanup(arena_done)))
