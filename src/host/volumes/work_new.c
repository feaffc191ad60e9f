/*
 * work_new.c - creates and frees jobs on volumes.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "host/volumes/work.h"

struct volume_work *volume_work_new(enum volume_op op, const struct volume *volume,
				    const char *path)
{
	struct volume_work *work = mem_new0(1, sizeof(*work));

	work->op = op;
	work->tenant = volume->tenant;
	memcpy(work->id, volume->id, sizeof(work->id));
	work->path = mem_strdup(path != NULL ? path : "");
	work->parents = true;
	return work;
}

void volume_work_free(struct volume_work *work)
{
	if (work == NULL)
		return;
	arena_done(&work->arena);
	free(work->path);
	free(work);
}
