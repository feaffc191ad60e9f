/* entry.h - one file or folder of a sandbox, in the form of filesystem.Filesystem. */
#pragma once

#include "dialects/e2b/envd/envd.h"

/* Modes are those of stat(). For a link, `mode` is that of its target, and `link_mode` its own. */
struct entry {
	const char *name, *path; /* absolute */
	const char *modified;	 /* as in RFC 3339 */
	const char *owner, *group; /* NULL: user */
	const char *target;	   /* of a link; NULL: not a link, or its target does not exist */
	const char *metadata;	   /* a JSON object; NULL: none */
	uint64_t size;
	unsigned mode, link_mode;
};

/*
 * LOOK_FAILED: the call has the error; LOOK_ANSWERED: the client already has an answer; LOOK_GONE:
 * the client disconnected.
 */
enum look {
	LOOK_ANSWERED = -3,
	LOOK_GONE = -2,
	LOOK_FAILED = -1,
	LOOK_NOTHING = 0,
	LOOK_FOUND = 1
};

void entry_write(struct json_writer *json, const struct entry *entry);
/* The time as in RFC 3339, in the arena of the request. */
const char *entry_moment(const struct e2b *e2b, uint64_t ms);
/* The client's metadata among a file's extended attributes; NULL: none. */
const char *entry_metadata(const struct e2b *e2b, const struct json_value *attributes);
/*
 * From an item of reckond's list with details. False: it is a link, whose target the list does not
 * describe.
 */
bool entry_of_listed(const struct e2b *e2b, const struct json_value *file, struct entry *ret);
/* `may_ask`: may run a program in the box for what reckond does not know. */
enum look entry_look(const struct e2b *e2b, const struct e2b_path *path, bool may_ask,
		     struct entry *ret, struct call *call);
/* Adds the member `entry` if the file exists. Negative: the client disconnected. */
int entry_add(const struct e2b *e2b, const char *whole, struct json_writer *json);
