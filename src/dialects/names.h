/*
 * names.h - ids of ours under the names that other APIs have for such things.
 *
 * Nothing is remembered for this: what an id of ours is, the other one says. Whoever makes one up
 * names what its key may see anyway, or nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NAME_SIZE 400 /* of any of them, with its NUL */
#define NAME_FILE_MAX 120u /* bytes of a file's name that are kept; its end counts */

/* What an id can be made of; anything else becomes "-", which nothing is called. */
const char *name_id(const char *id);

/* `id` with another prefix: "se_01…", "se_", "container_". False when it has not that prefix, or
 * cannot be an id. */
bool name_swap(const char *id, const char *from, const char *to, char *ret, size_t size);

/* PREFIX, the digits of an artifact, '_', the file's name in hexadecimal digits. */
bool name_of_artifact(const char *prefix, const char *artifact, const char *file, char *ret,
		      size_t size);
/* What it was made of. */
bool name_read_artifact(const char *prefix, const char *name, char *ret_artifact, size_t size,
			char *ret_file, size_t file_size);
