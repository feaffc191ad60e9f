/*
 * names.h - converts Reckon's ids to the id formats of other APIs and back.
 *
 * The server stores no mapping: the foreign id contains ours. An invented id names an object that
 * the client's key may see anyway, or nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NAME_SIZE 400 /* of any such id, with its NUL */
#define NAME_FILE_MAX 120u /* bytes of a file's name that are kept, from its end */

/* `id` if it consists of valid characters, else "-", which is never found. */
const char *name_id(const char *id);

/* Replaces the prefix of `id`: "se_01…", "se_", "container_". False if `id` has another prefix or
 * is invalid. */
bool name_swap(const char *id, const char *from, const char *to, char *ret, size_t size);

/* Writes PREFIX, the digits of an artifact's id, '_', the file's name in hexadecimal. */
bool name_of_artifact(const char *prefix, const char *artifact, const char *file, char *ret,
		      size_t size);
/* Reads back what name_of_artifact() wrote. */
bool name_read_artifact(const char *prefix, const char *name, char *ret_artifact, size_t size,
			char *ret_file, size_t file_size);
