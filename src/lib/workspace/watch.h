/*
 * watch.h - declarations shared by watch.c and watch_tree.c.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reckon_watch.h"

/* A watched folder; the root's path is "". */
struct watch_folder {
	int wd;
	char *path;
};

struct watch_event {
	struct watch_event *next;
	enum reckon_watch_kind kind;
	char *path, *from;
	bool is_folder;
};

struct reckon_watch {
	int fd;
	/* the folder itself is not kept open, else its deletion would not be reported */
	int workspace;
	char *prefix;  /* of the watched folder, relative to the workspace, or "" */
	bool is_recursive, is_over;
	bool is_limited; /* the event RECKON_WATCH_LIMIT was queued */
	unsigned folders_max;
	struct watch_folder *folders;
	size_t folder_count, folder_capacity;
	struct watch_event *first, *last;
	unsigned event_count;
	bool has_dropped; /* events were dropped, because the queue was full */
	struct watch_event *current; /* the event that the caller has */
	char *from; /* moved away, with `cookie`; NULL: nothing */
	bool from_is_folder;
	uint32_t cookie;
	size_t at, len;
	_Alignas(8) char buffer[16384];
};

void watch_tell(struct reckon_watch *watch, enum reckon_watch_kind kind, const char *path,
		const char *from, bool is_folder);

/*
 * Watches the folder and, if recursive, those below. `tells`: reports their content as just
 * created.
 */
void watch_tree_add(struct reckon_watch *watch, const char *path, bool tells);
/* The folder and those below were moved away or deleted. */
void watch_tree_drop(struct reckon_watch *watch, const char *path);
void watch_tree_rename(struct reckon_watch *watch, const char *from, const char *to);
/* inotify does not watch it any more. */
void watch_tree_forget(struct reckon_watch *watch, int wd);
const struct watch_folder *watch_tree_find(const struct reckon_watch *watch, int wd);
/* Whether it is a hidden folder, for uploads. */
bool watch_tree_is_hidden(const struct reckon_watch *watch, const char *path);
char *watch_tree_path(const char *folder, const char *name); /* the caller frees it */
void watch_tree_done(struct reckon_watch *watch);
