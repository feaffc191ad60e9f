/*
 * folder.h - folders of this computer that a model may ask for.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct folder {
	char real[PATH_MAX]; /* result of realpath() */
	uint64_t device, inode; /* of the folder when the person was asked */
	bool writable;
};

/* Checks a path that a model wrote: absolute, or "~/…". The error text is for the model. */
int folder_check(const char *requested, bool writable, struct folder *ret, struct err *err);

/* Whether `path` is `folder`, or inside it. */
bool folder_is_within(const char *path, const char *folder);
/* Converts "file:///…" to a path; false: not such a URI. */
bool folder_of_uri(const char *uri, char ret[PATH_MAX]);
