/*
 * mem.c - allocation that aborts instead of failing.
 *
 * Runs in:  every process.
 * Reads:    nothing.
 * Never:    is given a size that a peer chose.
 */
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void *mem_new0(size_t count, size_t size)
{
	void *ptr = calloc(count, size);

	if (ptr == NULL)
		abort();
	return ptr;
}

char *mem_strdup(const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		abort();
	return copy;
}

void *mem_grow(void *ptr, size_t count, size_t size)
{
	void *grown = reallocarray(ptr, count, size);

	if (grown == NULL)
		abort();
	return grown;
}

bool mem_is_zero(const unsigned char *bytes, size_t len)
{
	return len > 0 && bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0;
}
