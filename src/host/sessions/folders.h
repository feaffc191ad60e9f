/* folders.h - folders of the host that a person granted to a session; see base/process/grant.h. */
#pragma once

#include "host/calls/answer.h"
#include "host/volumes/volume.h"

/* Mounts of a session while its box is made. */
struct folders_open {
	/* One more for files of the tenant, and some for its volumes. */
	reckon_mount mounts[GRANT_FOLDERS_MAX + 1 + VOLUME_MOUNTS_MAX];
	char sources[GRANT_FOLDERS_MAX][32];
	int fds[GRANT_FOLDERS_MAX];
	size_t count;
};
#define FOLDERS_NONE ((struct folders_open){ .count = 0 })

/*
 * Reads the grant with this id for a session that is to be opened. If it is not valid, answers the
 * request and returns false. `id` NULL: no folders.
 */
bool folders_take(struct host *host, const struct request *req, const char *id, struct grant *ret);
void folders_show(struct arena *arena, const struct session *session, struct api_session *ret);
/* Runs in a thread of the pool. False: job->error has the reason. */
bool folders_open(struct job *job, struct folders_open *ret);
void folders_close(struct folders_open *open);
#define cleanup_folders __attribute__((cleanup(folders_close)))
/* Reads the grant again, for a session that gets a new box; no folders if it is no longer valid. */
void folders_again(struct session *session);
/* Whether the session has a grant that is no longer valid. */
bool folders_are_over(const struct session *session);
