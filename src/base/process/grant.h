/*
 * grant.h - folders of this host that a person lets sessions of the private daemon see.
 *
 * A grant is a file in the user's runtime directory, which a process of the user's own writes and holds
 * a lock on. Who knows its id can have those folders mounted, and nothing else; it ends with the process
 * that made it, however that ends. Programs that speak with clients can make none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"

#define GRANT_FOLDERS_MAX 8u
#define GRANT_TARGET_SIZE 256

struct grant_folder {
	char *source; /* as realpath() gives it */
	char target[GRANT_TARGET_SIZE]; /* "/mnt/NAME" */
	bool writable;
	uint64_t device, inode; /* what was there when it was granted */
};

struct grant {
	struct grant_folder folders[GRANT_FOLDERS_MAX];
	size_t count;
};

/* One without folders. *ret_fd holds its lock. */
int grant_create(char ret_id[ID_SIZE], int *ret_fd, struct err *err);
/*
 * Adds a folder; `target` NULL: /mnt and its own name. Never "/"; with `writable` none that holds the
 * user's home, or what Reckon keeps. *ret is what was added; grant_folder_done() it.
 */
int grant_add(int fd, const char *source, const char *target, bool writable,
	      struct grant_folder *ret, struct err *err);
/*
 * The same of a folder that was looked at before: `known` has its source, as realpath() gives it, its
 * device and inode, and whether it is for writing. ERR_DENIED when something else is there now.
 */
int grant_add_known(int fd, const struct grant_folder *known, const char *target,
		    struct grant_folder *ret, struct err *err);
/* Whether `folder`, as realpath() gives it, is never granted: see grant_add(). */
bool grant_is_too_much(const char *folder, bool writable);
void grant_remove(const char *id, int fd);

/* ERR_NOT_FOUND: there is none of that id, or its process has ended. */
int grant_read(int runtime_fd, const char *id, struct grant *ret, struct err *err);
bool grant_is_alive(int runtime_fd, const char *id);
/* The folder itself. ERR_DENIED when something else is there now. */
int grant_folder_open(const struct grant_folder *folder, int *ret_fd, struct err *err);

void grant_folder_done(struct grant_folder *folder);
void grant_done(struct grant *grant);
