/*
 * watch.h - changes of files: shared by watch.c (a stream) and watcher.c (for clients that poll).
 */
#pragma once

#include "dialects/e2b/envd/entry.h"

#define WATCH_EVENT_MAX ((size_t)1 << 20)
#define WATCH_MISSED "watcher error: changes were missed, list the folder"
#define WATCH_LIMITED "more folders than can be watched: watch a smaller one, or without recursive"

/* A watched folder. */
struct watch {
	const struct e2b *e2b;
	const char *root; /* absolute path */
	bool has_entry;	  /* events include the entry of the changed file */
};

/* A change in E2B's form. A rename in reckond is two: RENAME of the old name, CREATE of the new. */
struct watch_change {
	const char *type, *name;
};

/* Reads a request for a watch. False: answered with an error. */
bool watch_take(struct e2b *e2b, const struct json_value *message, struct watch *watch,
		struct api_watch_in *in);
void watch_refuse(const struct watch *watch, const struct api_failure *failure);
/* Writes one change. Negative: the client disconnected. */
int watch_write_change(const struct watch *watch, struct json_writer *json, const char *type,
		       const char *name);
/* Converts an event of reckond; 0: it is no change. */
size_t watch_changes_of(const char *event, const struct json_value *value,
			struct watch_change ret[2]);
/* The error that ends a watch, for an event that means lost changes; NULL: none. */
const char *watch_error_of(const char *event, const struct json_value *value,
			   const char **ret_code);
