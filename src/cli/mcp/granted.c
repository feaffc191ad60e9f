/*
 * granted.c - the folders of this host that `reckon mcp` granted.
 *
 * Runs in:  reckon-client.
 * Reads:    the command line; folders that the person granted.
 * Never:    leaves a grant behind.
 */
#include "cli/mcp/granted.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "cli/options/parse.h"
#include "client/client.h"

#define PLACES_MAX (2 * GRANT_FOLDERS_MAX)

int granted_take_mounts(struct granted *granted, const struct client *client,
			const struct mcp_options *options, struct err *err)
{
	granted->has_mounts = options->mount_count > 0;
	if (!granted->has_mounts)
		return 0;
	if (!client_is_private(client)) {
		(void)err_set(err, ERR_INVALID,
			      "--mount: %.200s mounts no folders of this computer",
			      client_name(client));
		return err_remedy(err, "leave out --url and RECKON_URL: your private daemon does");
	}
	if (grant_create(granted->id, &granted->fd, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < options->mount_count; i++) {
		cleanup_free char *source = NULL, *target = NULL;
		struct grant_folder folder;
		bool writable;

		if (parse_mount_spec(options->mounts[i], &source, &target, &writable, err) < 0 ||
		    grant_add(granted->fd, source, target, writable, &folder, err) < 0)
			return err_wrap(err, "--mount");
		granted->for_writing |= writable;
		grant_folder_done(&folder);
	}
	return 0;
}

static int add_at_free_place(int fd, const struct grant_folder *known, struct grant_folder *ret,
			     struct err *err)
{
	const char *name = strrchr(known->source, '/') + 1;
	char target[GRANT_TARGET_SIZE];
	int code = grant_add_known(fd, known, NULL, ret, err);

	/* The name is taken, or not valid as a mount point. */
	for (unsigned i = 2; code == ERR_INVALID && i < 2 + PLACES_MAX; i++) {
		(void)snprintf(target, sizeof(target), "/mnt/%.200s-%u",
			       i < 2 + PLACES_MAX / 2 ? name : "folder", i);
		code = grant_add_known(fd, known, target, ret, err);
	}
	return code;
}

int granted_add_requested(struct granted *granted, const struct folder *folder,
			  struct grant_folder *ret, struct err *err)
{
	cleanup_free char *source = mem_strdup(folder->real);
	const struct grant_folder known = { .source = source,
					    .writable = folder->writable,
					    .device = folder->device,
					    .inode = folder->inode };
	int code;

	if (granted->id[0] == '\0' && grant_create(granted->id, &granted->fd, err) < 0) {
		granted->id[0] = '\0';
		return (int)err->code;
	}
	code = add_at_free_place(granted->fd, &known, ret, err);
	granted->for_writing |= code == 0 && folder->writable;
	return code;
}

void granted_end(struct granted *granted)
{
	if (granted->fd >= 0)
		grant_remove(granted->id, granted->fd);
	granted->fd = -1;
}
