/*
 * names.c - converts Reckon's ids to the id formats of other APIs and back.
 *
 * Reads:    ids that any client may have invented.
 * Never:    returns text that cannot be an id, or a name with a slash or a control character.
 */
#include "dialects/names.h"

#include <stdio.h>
#include <string.h>

#include "base/id.h"

#define DIGITS 32u
static const char hex[] = "0123456789abcdef";

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";

const char *name_id(const char *id)
{
	const size_t len = strlen(id);

	return len > 0 && len < ID_SIZE && strspn(id, letters) == len ? id : "-";
}

bool name_swap(const char *id, const char *from, const char *to, char *ret, size_t size)
{
	const size_t len = strlen(from);
	int written;

	if (strncmp(id, from, len) != 0 || id[len] == '\0' ||
	    id[len + strspn(id + len, letters)] != '\0')
		return false;
	written = snprintf(ret, size, "%s%s", to, id + len);
	return written > 0 && (size_t)written < size;
}

bool name_of_artifact(const char *prefix, const char *artifact, const char *file, char *ret,
		      size_t size)
{
	const char *base = strrchr(file, '/');
	size_t len, used;

	base = base != NULL ? base + 1 : file;
	len = strlen(base);
	if (len > NAME_FILE_MAX) {
		base += len - NAME_FILE_MAX;
		len = NAME_FILE_MAX;
	}
	used = strlen(prefix) + DIGITS + 1;
	if (!name_swap(artifact, "ar_", prefix, ret, size) || strlen(ret) != used - 1 ||
	    used + 2 * len >= size)
		return false;
	ret[used - 1] = '_';
	for (size_t i = 0; i < len; i++) {
		ret[used + 2 * i] = hex[(unsigned char)base[i] >> 4];
		ret[used + 2 * i + 1] = hex[(unsigned char)base[i] & 15];
	}
	ret[used + 2 * len] = '\0';
	return true;
}

static int digit(char c)
{
	const char *at = c != '\0' ? strchr(hex, c) : NULL;

	return at != NULL ? (int)(at - hex) : -1;
}

bool name_read_artifact(const char *prefix, const char *name, char *ret_artifact, size_t size,
			char *ret_file, size_t file_size)
{
	const size_t len = strlen(prefix);
	const char *at;
	size_t count = 0;

	if (strncmp(name, prefix, len) != 0 || strspn(name + len, hex) != DIGITS ||
	    name[len + DIGITS] != '_' || size < DIGITS + 4)
		return false;
	(void)snprintf(ret_artifact, size, "ar_%.*s", (int)DIGITS, name + len);
	for (at = name + len + DIGITS + 1; *at != '\0'; at += 2) {
		const int high = digit(at[0]), low = high >= 0 ? digit(at[1]) : -1;
		const int byte = low >= 0 ? high * 16 + low : -1;

		if (byte < 0x20 || byte == 0x7f || byte == '/' || byte == '\\' ||
		    count + 1 >= file_size)
			return false;
		ret_file[count++] = (char)byte;
	}
	ret_file[count] = '\0';
	return count > 0;
}
