/*
 * arena.c - memory of one request, released at once.
 *
 * Runs in:  any process that handles calls.
 * Reads:    nothing.
 * Never:    fails: when memory runs out the process aborts, as in mem.c.
 */
#include "api/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define BLOCK_BYTES 4096u

struct arena_block {
	struct arena_block *older;
	size_t used, size;
	alignas(max_align_t) char bytes[];
};

static struct arena_block *add_block(struct arena *arena, size_t need)
{
	const size_t size = need > BLOCK_BYTES ? need : BLOCK_BYTES;
	struct arena_block *block = mem_new0(1, sizeof(*block) + size);

	block->size = size;
	block->older = arena->blocks;
	arena->blocks = block;
	return block;
}

void *arena_new(struct arena *arena, size_t count, size_t size)
{
	const size_t unit = alignof(max_align_t);
	struct arena_block *block = arena->blocks;
	size_t need;
	void *space;

	if (__builtin_mul_overflow(count, size, &need) || need > SIZE_MAX / 2)
		abort();
	need = (need + unit - 1) / unit * unit;
	if (block == NULL || block->size - block->used < need)
		block = add_block(arena, need);
	space = block->bytes + block->used;
	block->used += need;
	return space;
}

char *arena_text(struct arena *arena, const char *text, size_t len)
{
	char *copy = arena_new(arena, len + 1, 1);

	if (len > 0)
		memcpy(copy, text, len);
	return copy;
}

void arena_done(struct arena *arena)
{
	while (arena->blocks != NULL) {
		struct arena_block *older = arena->blocks->older;

		free(arena->blocks);
		arena->blocks = older;
	}
}

const char *arena_text_or_null(struct arena *arena, const char *text)
{
	return text[0] != '\0' ? arena_text(arena, text, strlen(text)) : NULL;
}
