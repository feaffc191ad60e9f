/*
 * path.c - clients' paths: below /home/user, which is the workspace that reckond knows, or
 * elsewhere in the box.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    paths from clients.
 * Never:    leaves a ".." in a path.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/envd/envd.h"

#define HOME "/home/user"

const char e2b_path_remedy[] = "the path is too long";

/* Removes "." and "..", and repeated slashes. False: the path is too long. */
static bool clean(const char *path, char *ret, size_t size)
{
	size_t used = 0;

	while (*path != '\0') {
		const size_t slashes = strspn(path, "/");
		const size_t len = strcspn(path + slashes, "/");
		const char *name = path + slashes;

		path = name + len;
		if (len == 0 || (len == 1 && name[0] == '.'))
			continue;
		if (len == 2 && memcmp(name, "..", 2) == 0) {
			while (used > 0 && ret[--used] != '/')
				;
			continue;
		}
		if (used + len + 2 > size)
			return false;
		ret[used++] = '/';
		memcpy(ret + used, name, len);
		used += len;
	}
	ret[used] = '\0';
	return true;
}

bool e2b_path_of(const char *given, struct e2b_path *ret)
{
	static const char *const roots[] = { HOME, "/mnt/data" };
	char whole[2 * E2B_PATH_SIZE];
	int len;

	if (given[0] == '~' && (given[1] == '\0' || given[1] == '/'))
		len = snprintf(whole, sizeof(whole), HOME "%s", given + 1);
	else
		len = snprintf(whole, sizeof(whole), "%s%s", given[0] == '/' ? "" : HOME "/",
			       given);
	if (len < 0 || (size_t)len >= sizeof(whole) ||
	    !clean(whole, ret->whole, sizeof(ret->whole)))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		const size_t root = strlen(roots[i]);

		if (strncmp(ret->whole, roots[i], root) != 0 ||
		    (ret->whole[root] != '\0' && ret->whole[root] != '/'))
			continue;
		ret->inside = ret->whole + root + (ret->whole[root] == '/' ? 1 : 0);
		return true;
	}
	ret->inside = NULL;
	if (ret->whole[0] == '\0')
		memcpy(ret->whole, "/", 2);
	return true;
}
