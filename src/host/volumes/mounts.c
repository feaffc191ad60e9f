/*
 * mounts.c - the volumes that a session mounts, and where.
 *
 * Runs in:  reckond's loop; volume_mounts_open() in a thread of the pool.
 * Reads:    rows of sessions, which calls/tenants/volume_mounts.c made.
 * Never:    mounts a volume whose folder is missing.
 *
 * A session's row has a line for each mount: the id, "w" or "r", the path.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/host.h"
#include "host/volumes/volume.h"

bool volume_mount_next(const char **text, struct volume_mount *ret)
{
	const char *line = *text, *end = line != NULL ? strchr(line, '\n') : NULL;
	const char *path;

	if (end == NULL)
		return false;
	path = memchr(line, ' ', (size_t)(end - line));
	if (path == NULL || end - path < 4 || path - line >= ID_SIZE ||
	    end - path - 3 >= VOLUME_PATH_SIZE)
		return false;
	(void)snprintf(ret->id, sizeof(ret->id), "%.*s", (int)(path - line), line);
	ret->is_read_only = path[1] == 'r';
	(void)snprintf(ret->path, sizeof(ret->path), "%.*s", (int)(end - path - 3), path + 3);
	*text = end + 1;
	return true;
}

/* ---- queries -------------------------------------------------------------------------------- */

void volume_mounts_show(struct arena *arena, const struct session *session,
			struct api_session *ret)
{
	struct api_mounted_volume *items;
	const char *text = session->row.volumes;
	struct volume_mount mount;
	size_t count = 0;

	if (text == NULL)
		return;
	items = arena_new(arena, VOLUME_MOUNTS_MAX, sizeof(*items));
	while (count < VOLUME_MOUNTS_MAX && volume_mount_next(&text, &mount)) {
		const struct volume *volume = volume_by_id(session->host, mount.id);
		const char *name = volume != NULL ? volume->name : "";

		items[count++] = (struct api_mounted_volume){
			.id = arena_text(arena, mount.id, strlen(mount.id)),
			.name = arena_text(arena, name, strlen(name)),
			.path = arena_text(arena, mount.path, strlen(mount.path)),
			.read_only = mount.is_read_only,
		};
	}
	ret->volumes = (struct api_list){ items, count };
}

size_t volume_users(const struct host *host, const struct volume *volume)
{
	size_t count = 0;

	for (const struct session *at = host->sessions.first; at != NULL; at = at->next)
		if (at->row.volumes != NULL && !life_has_ended(at->life) &&
		    strstr(at->row.volumes, volume->id) != NULL)
			count++;
	return count;
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool is_there(struct job *job, const char *source, const char *id)
{
	if (faccessat(AT_FDCWD, source, F_OK, 0) == 0)
		return true;
	job->error.code = RECKON_EUNAVAILABLE;
	(void)snprintf(job->error.message, sizeof(job->error.message),
		       "the content of the volume %s is missing", id);
	(void)snprintf(job->error.remedy, sizeof(job->error.remedy),
		       "bring back volumes/%s of the state directory from a backup", id);
	return false;
}

bool volume_mounts_open(struct job *job, struct volume_sources *space, reckon_mount *to,
			size_t *count)
{
	const struct session *session = job->session;
	const char *text = session->row.volumes;
	struct volume_mount mount;

	for (size_t i = 0; i < VOLUME_MOUNTS_MAX && volume_mount_next(&text, &mount); i++) {
		(void)snprintf(space->sources[i], VOLUME_SOURCE_SIZE, "/proc/self/fd/%d/volumes/%s",
			       session->host->place.state_fd, mount.id);
		(void)snprintf(space->targets[i], VOLUME_PATH_SIZE, "%s", mount.path);
		if (!is_there(job, space->sources[i], mount.id))
			return false;
		to[(*count)++] = (reckon_mount){ .source = space->sources[i],
						 .target = space->targets[i],
						 .writable = !mount.is_read_only };
	}
	return true;
}
