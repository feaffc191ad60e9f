/*
 * fuzz_path.c - a safe path has no "..", no control characters, and is within its limits.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    opens what they name.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	cleanup_free char *path = malloc(size + 1);
	cleanup_free char *framed = malloc(size + 3);
	size_t len;

	if (path == NULL || framed == NULL)
		return 0;
	if (size > 0)
		memcpy(path, data, size);
	path[size] = '\0';
	if (!fs_path_is_safe(path))
		return 0;
	/* Between two slashes, each forbidden component is a plain substring. */
	len = strlen(path);
	(void)snprintf(framed, len + 3, "/%s/", path);
	if (len == 0 || len >= 4096 || !utf8_is_valid(path, len))
		abort();
	if (strstr(framed, "//") != NULL || strstr(framed, "/./") != NULL ||
	    strstr(framed, "/../") != NULL)
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] < 0x20 || path[i] == 0x7f)
			abort();
	return 0;
}
