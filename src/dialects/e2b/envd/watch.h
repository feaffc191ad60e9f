/*
 * watch.h - changes of files: what watch.c (a stream) and watcher.c (for those who ask) share.
 */
#pragma once

#include "dialects/e2b/envd/entry.h"

#define WATCH_EVENT_MAX ((size_t)1 << 20)
#define WATCH_MISSED "watcher error: changes were missed, list the folder"
#define WATCH_LIMITED "more folders than can be watched: watch a smaller one, or without recursive"

/* What is watched. */
struct watch {
	const struct e2b *e2b;
	const char *root; /* whole */
	bool has_entry;	  /* what is there is told with what happened to it */
};

/* A change of ours is up to two of theirs: a rename is one of the old name, and a new name. */
struct watch_change {
	const char *type, *name;
};

/* What is asked to be watched; false: answered. */
bool watch_take(struct e2b *e2b, const struct json_value *message, struct watch *watch,
		struct api_watch_in *in);
void watch_refuse(const struct watch *watch, const struct api_failure *failure);
/* One that E2B knows. Negative: nobody waits any more. */
int watch_write_change(const struct watch *watch, struct json_writer *json, const char *type,
		       const char *name);
size_t watch_changes_of(const char *event, const struct json_value *value,
			struct watch_change ret[2]);
/* What a watch cannot go on after; NULL: it can. */
const char *watch_error_of(const char *event, const struct json_value *value,
			   const char **ret_code);
