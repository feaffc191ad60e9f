/* entry.h - one file or folder of a sandbox, as filesystem.Filesystem tells it. */
#pragma once

#include "dialects/e2b/envd/envd.h"

/* One file or folder. Modes are those of stat(); what a link leads to is in `mode`. */
struct entry {
	const char *name, *path; /* whole */
	const char *modified;	 /* as in RFC 3339 */
	const char *owner, *group; /* NULL: user */
	const char *target;	   /* of a link; NULL: it is none, or leads nowhere */
	const char *metadata;	   /* an object in JSON; NULL: none */
	uint64_t size;
	unsigned mode, link_mode;
};

/* What a look has found; LOOK_FAILED: the call knows why; LOOK_TOLD: that was answered. */
enum look { LOOK_TOLD = -3, LOOK_GONE = -2, LOOK_FAILED = -1, LOOK_NOTHING = 0, LOOK_FOUND = 1 };

void entry_write(struct json_writer *json, const struct entry *entry);
/* The last part of a path. */
const char *entry_moment(const struct e2b *e2b, uint64_t ms);
/* What of a file's extended attributes is a client's metadata; NULL: none. */
const char *entry_metadata(const struct e2b *e2b, const struct json_value *attributes);
/* One of a list of reckond, with details. False: it is a link, of which reckond knows no more. */
bool entry_of_listed(const struct e2b *e2b, const struct json_value *file, struct entry *ret);
/* `may_ask`: of what reckond does not know a program in the box may be asked. */
enum look entry_look(const struct e2b *e2b, const struct e2b_path *path, bool may_ask,
		     struct entry *ret, struct call *call);
/* Adds the member `entry`, when there is something; negative: nobody waits any more. */
int entry_add(const struct e2b *e2b, const char *whole, struct json_writer *json);
