/* entry.h - one file or folder of a sandbox, as filesystem.Filesystem tells it. */
#pragma once

#include "dialects/e2b/envd/envd.h"

/* One file or folder. */
struct entry {
	const char *name, *path; /* whole */
	const char *modified;	 /* as in RFC 3339 */
	uint64_t size;
	bool is_folder;
};

/* What a look has found; LOOK_FAILED: the call knows why. */
enum look { LOOK_GONE = -2, LOOK_FAILED = -1, LOOK_NOTHING = 0, LOOK_FOUND = 1 };

void entry_write(struct json_writer *json, const struct entry *entry);
/* The last part of a path. */
const char *entry_base(const char *path);
enum look entry_look(const struct e2b *e2b, const struct e2b_path *path, struct entry *ret,
		     struct call *call);
/* Adds the member `entry`, when there is something; negative: nobody waits any more. */
int entry_add(const struct e2b *e2b, const char *whole, struct json_writer *json);
