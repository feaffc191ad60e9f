/*
 * volume_mounts.c - checks and encodes the volumes of a new session.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls.
 * Never:    gives a session a volume of another tenant, or a mount point outside of /mnt.
 */
#include <stdio.h>
#include <string.h>

#include "base/file/fs.h"
#include "base/mem.h"
#include "base/text.h"
#include "host/calls/answer.h"
#include "host/host.h"
#include "host/volumes/volume.h"

#define LINE_SIZE (ID_SIZE + VOLUME_PATH_SIZE + 8)

static bool refuse_path(struct host *host, const struct request *req, const char *message)
{
	front_fail(host, req->id, API_ERR_INVALID, message, "",
		   "name a path below /mnt, other than /mnt/data and /mnt/files", 0);
	return false;
}

/* Whether a box can have a mount at `path`, together with those in `text`. */
static bool is_free(struct host *host, const struct request *req, const char *path,
		    const char *text)
{
	struct volume_mount other;
	char message[VOLUME_PATH_SIZE + 64];

	if (!text_is_within(path, "/mnt") || path[4] == '\0' || !fs_path_is_safe(path + 1) ||
	    text_is_within(path, "/mnt/data") || text_is_within(path, "/mnt/files")) {
		(void)snprintf(message, sizeof(message), "a volume cannot be mounted at %.200s",
			       path);
		return refuse_path(host, req, message);
	}
	while (volume_mount_next(&text, &other))
		if (text_is_within(path, other.path) || text_is_within(other.path, path))
			return refuse_path(host, req, "two volumes are in each other's way");
	return true;
}

/* A session that writes to a full volume would be ended at once. */
static bool has_room(struct host *host, const struct request *req, const struct volume *volume)
{
	if (volume_room(host, volume) > 0 && volume->entries <= VOLUME_ENTRIES_MAX)
		return true;
	front_fail(host, req->id, API_ERR_LIMIT, "the volume is full", "",
		   "remove files of it, or mount it read-only", 0);
	return false;
}

static bool take_one(struct host *host, const struct request *req,
		     const struct api_volume_mount *given, char *text, size_t size)
{
	const struct volume *volume = volume_find(host, req->tenant, given->volume);
	const size_t len = strlen(text);
	char path[VOLUME_PATH_SIZE], message[128];

	if (given->path != NULL && !is_free(host, req, given->path, text))
		return false;
	if (volume == NULL) {
		(void)snprintf(message, sizeof(message), "there is no volume %.63s", given->volume);
		front_fail(host, req->id, API_ERR_NOT_FOUND, message, "",
			   "make it: POST /reckon/v1/volumes", 0);
		return false;
	}
	if (given->path != NULL)
		(void)snprintf(path, sizeof(path), "%s", given->path);
	else
		(void)snprintf(path, sizeof(path), "/mnt/%s", volume->name);
	if (!is_free(host, req, path, text) ||
	    (!given->read_only && !has_room(host, req, volume)))
		return false;
	(void)snprintf(text + len, size - len, "%s %c %s\n", volume->id,
		       given->read_only ? 'r' : 'w', path);
	return true;
}

bool volume_mounts_take(struct host *host, const struct request *req, const struct api_list *given,
			char **ret)
{
	const struct api_volume_mount *mounts = given->items;
	char text[VOLUME_MOUNTS_MAX * LINE_SIZE] = "";

	*ret = NULL;
	if (given->count == 0)
		return true;
	if (!answer_check_scope(host, req, FRONT_SCOPE_FILES))
		return false;
	for (size_t i = 0; i < given->count && i < VOLUME_MOUNTS_MAX; i++)
		if (!take_one(host, req, &mounts[i], text, sizeof(text)))
			return false;
	*ret = mem_strdup(text);
	return true;
}
