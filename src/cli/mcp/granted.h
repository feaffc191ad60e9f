/*
 * granted.h - folders of this host that this process grants until it ends.
 */
#pragma once

#include "cli/mcp/folder.h"
#include "cli/mcp/mcp.h"

struct granted {
	char id[ID_SIZE]; /* "": none yet */
	int fd;
	bool for_writing; /* at least one is writable */
	bool has_mounts;  /* folders of --mount, which every session sees */
};
#define GRANTED_NONE ((struct granted){ .fd = -1 })

/* Grants the folders of --mount. */
int granted_take_mounts(struct granted *granted, const struct client *client,
			const struct mcp_options *options, struct err *err);
/* Grants a folder that a model asked for: at /mnt/NAME, or at the next free mount point. */
int granted_add_requested(struct granted *granted, const struct folder *folder,
			  struct grant_folder *ret, struct err *err);
void granted_end(struct granted *granted);
