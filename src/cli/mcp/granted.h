/* granted.h - the folders of this host that this process granted, until it ends. */
#pragma once

#include "cli/mcp/folder.h"
#include "cli/mcp/mcp.h"

struct granted {
	char id[ID_SIZE]; /* "": none so far */
	int fd;
	bool for_writing; /* one of them at least */
	bool has_mounts;  /* those of --mount, which each session sees */
};
#define GRANTED_NONE ((struct granted){ .fd = -1 })

/* What --mount names. */
int granted_take_mounts(struct granted *granted, const struct client *client,
			const struct mcp_options *options, struct err *err);
/* What a person granted when a model asked: at /mnt and its name, or the next place that is free. */
int granted_add_asked(struct granted *granted, const struct folder *folder,
		      struct grant_folder *ret, struct err *err);
void granted_end(struct granted *granted);
