/*
 * grant.h - folders of this host that a person lets sessions of the private daemon see.
 *
 * A grant is a file in the user's runtime directory that one of the user's processes writes and
 * keeps locked. A client that knows its id can mount those folders, and nothing else; the grant
 * ends with that process, even if it is killed. Programs that serve clients cannot create grants.
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
	uint64_t device, inode; /* of the folder when it was granted */
};

struct grant {
	struct grant_folder folders[GRANT_FOLDERS_MAX];
	size_t count;
};

/* Creates a grant without folders. *ret_fd holds its lock. */
int grant_create(char ret_id[ID_SIZE], int *ret_fd, struct err *err);
/*
 * Adds a folder; `target` NULL: /mnt and the folder's name. Refuses "/" and every folder inside
 * Reckon's own directories; with `writable` also folders that contain one of those or the user's
 * home. *ret is the added folder; release it with grant_folder_done().
 */
int grant_add(int fd, const char *source, const char *target, bool writable,
	      struct grant_folder *ret, struct err *err);
/*
 * The same for a folder that was examined before: `known` has its source (as realpath() gives it),
 * device, inode, and whether it is writable. ERR_DENIED if another folder has the path now.
 */
int grant_add_known(int fd, const struct grant_folder *known, const char *target,
		    struct grant_folder *ret, struct err *err);
/* Whether grant_add() always refuses `folder` (as realpath() gives it). */
bool grant_is_too_much(const char *folder, bool writable);
void grant_remove(const char *id, int fd);

/* ERR_NOT_FOUND: no grant has this id, or its process has ended. */
int grant_read(int runtime_fd, const char *id, struct grant *ret, struct err *err);
bool grant_is_alive(int runtime_fd, const char *id);
/* Opens the folder itself. ERR_DENIED if another folder has its path now. */
int grant_folder_open(const struct grant_folder *folder, int *ret_fd, struct err *err);

void grant_folder_done(struct grant_folder *folder);
void grant_done(struct grant *grant);
