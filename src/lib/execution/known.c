/*
 * known.c - the names of a kernel's variables.
 *
 * Runs in:  libreckon.
 * Reads:    names that a hostile kernel sent.
 * Never:    stores more of them than there is room for.
 */
#include "lib/execution/known.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static size_t find(const struct known *known, const char *name, size_t len)
{
	for (size_t i = 0; i < known->count && memchr(name, '\0', len) == NULL; i++)
		if (strncmp(known->name[i], name, len) == 0 && known->name[i][len] == '\0')
			return i;
	return known->count;
}

bool known_has(const struct known *known, const char *name, size_t len)
{
	return find(known, name, len) < known->count;
}

static void drop_at(struct known *known, size_t at)
{
	free(known->name[at]);
	known->count--;
	memmove(known->name + at, known->name + at + 1,
		(known->count - at) * sizeof(known->name[0]));
}

void known_add(struct known *known, const char *name, size_t len)
{
	char *copy;

	if (len == 0 || len > KNOWN_NAME_MAX || memchr(name, '\0', len) != NULL ||
	    find(known, name, len) < known->count)
		return;
	if (known->count == KNOWN_MAX)
		drop_at(known, 0);
	copy = mem_new0(len + 1, 1);
	memcpy(copy, name, len);
	known->name[known->count++] = copy;
}

void known_drop(struct known *known, const char *name, size_t len)
{
	const size_t at = find(known, name, len);

	if (at < known->count)
		drop_at(known, at);
}

void known_clear(struct known *known)
{
	for (size_t i = 0; i < known->count; i++)
		free(known->name[i]);
	known->count = 0;
}

void known_write_into(const struct known *known, struct json_writer *json)
{
	json_write_array_begin(json);
	for (size_t i = 0; i < known->count; i++)
		json_write_text(json, known->name[i], strlen(known->name[i]));
	json_write_array_end(json);
}

void known_list(const struct known *known, size_t max, struct buf *ret)
{
	struct err ignored; /* a name that does not fit is left out */

	for (size_t i = 0; i < known->count && i < max; i++)
		(void)buf_addf(ret, &ignored, "%s%s", i > 0 ? ", " : "", known->name[i]);
	if (known->count > max)
		(void)buf_addf(ret, &ignored, " and %zu more", known->count - max);
}
