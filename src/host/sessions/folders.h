/* folders.h - folders of the host that a person granted to a session; see base/process/grant.h. */
#pragma once

#include "host/calls/answer.h"
#include "host/volumes/volume.h"

/* An open session's mounts, while its box is made. */
struct folders_open {
	/* And one for files of the tenant, and its volumes. */
	reckon_mount mounts[GRANT_FOLDERS_MAX + 1 + VOLUME_MOUNTS_MAX];
	char sources[GRANT_FOLDERS_MAX][32];
	int fds[GRANT_FOLDERS_MAX];
	size_t count;
};
#define FOLDERS_NONE ((struct folders_open){ .count = 0 })

/* What the grant of this id holds, for a session that is to be opened; false when it was answered
 * that there is none. `id` NULL: nothing. */
bool folders_take(struct host *host, const struct request *req, const char *id, struct grant *ret);
void folders_show(struct arena *arena, const struct session *session, struct api_session *ret);
/* In a thread of the pool. False: job->error says why. */
bool folders_open(struct job *job, struct folders_open *ret);
void folders_close(struct folders_open *open);
#define cleanup_folders __attribute__((cleanup(folders_close)))
/* What was granted, for a session that gets a new box; nothing when it is granted no more. */
void folders_again(struct session *session);
/* Whether it has folders that are granted no more. */
bool folders_are_over(const struct session *session);
