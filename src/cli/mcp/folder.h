/* folder.h - folders of this computer that a model may ask its person for. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct folder {
	char real[PATH_MAX]; /* as realpath() gives it */
	uint64_t device, inode; /* what was there when the person was asked */
	bool writable;
};

/* Of a path that a model wrote: absolute, or "~/…". The error is for the model. */
int folder_check(const char *asked, bool writable, struct folder *ret, struct err *err);

/* Whether `path` is `folder`, or in it. */
bool folder_is_within(const char *path, const char *folder);
/* The folder of "file:///…"; false when it is none. */
bool folder_of_uri(const char *uri, char ret[PATH_MAX]);
