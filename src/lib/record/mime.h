/* mime.h - the media type of a file by its first bytes, then its name. Pure. */
#pragma once

#include <stddef.h>

#define MIME_HEAD_SIZE 4096 /* bytes at the beginning that are examined */

/*
 * `name` is a path or file name (only its extension counts; may be NULL), `head` the first `len`
 * bytes of the file. Returns a static string, "application/octet-stream" at worst.
 */
const char *mime_guess(const char *name, const void *head, size_t len);
