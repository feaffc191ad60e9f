/* watch.h - what watch.c and watch_tree.c share. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reckon_watch.h"

/* A folder that is watched; of the first one the path is "". */
struct watch_folder {
	int wd;
	char *path;
};

struct watch_told {
	struct watch_told *next;
	enum reckon_watch_kind kind;
	char *path, *from;
	bool is_folder;
};

struct reckon_watch {
	int fd;
	int workspace; /* the folder itself is not held open: its end would not be told */
	char *prefix;  /* of the folder in it, or "" */
	bool is_recursive, is_over;
	bool is_limited; /* that was told */
	unsigned folders_max;
	struct watch_folder *folders;
	size_t folder_count, folder_capacity;
	struct watch_told *first, *last;
	unsigned told_count;
	bool has_dropped; /* more than can wait */
	struct watch_told *told; /* that the caller has */
	char *from; /* moved away, by `cookie`; NULL: nothing */
	bool from_is_folder;
	uint32_t cookie;
	size_t at, len;
	_Alignas(8) char buffer[16384];
};

void watch_tell(struct reckon_watch *watch, enum reckon_watch_kind kind, const char *path,
		const char *from, bool is_folder);

/* Watches the folder and, if wanted, those below; `tells`: what is in them has just been made. */
void watch_tree_add(struct reckon_watch *watch, const char *path, bool tells);
/* It and those below have left. */
void watch_tree_drop(struct reckon_watch *watch, const char *path);
void watch_tree_rename(struct reckon_watch *watch, const char *from, const char *to);
/* The system watches it no more. */
void watch_tree_forget(struct reckon_watch *watch, int wd);
const struct watch_folder *watch_tree_find(const struct reckon_watch *watch, int wd);
/* Folders of our own, in which uploads become whole. */
bool watch_tree_is_hidden(const struct reckon_watch *watch, const char *path);
char *watch_tree_path(const char *folder, const char *name); /* the caller's */
void watch_tree_done(struct reckon_watch *watch);
