/*
 * folders.c - folders of the host that a person granted to a session.
 *
 * Runs in:  reckond's loop; folders_open() in a thread of the pool.
 * Reads:    ids of grants from clients, files of grants in the user's runtime directory.
 * Never:    mounts a folder without a grant of a program that the same user runs, or any folder for
 *           clients of a daemon that is not private.
 */
#include "host/sessions/folders.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/host.h"

bool folders_take(struct host *host, const struct request *req, const char *id, struct grant *ret)
{
	struct err err;

	*ret = (struct grant){ 0 };
	if (id == NULL)
		return true;
	if (!host->config.is_private) {
		front_fail(host, req->id, API_ERR_DENIED,
			  "this daemon mounts no folders of its host", "it is not a private one",
			  "use `reckon mcp` on the machine where the folder is", 0);
		return false;
	}
	if (grant_read(host->door.runtime_fd, id, ret, &err) == 0)
		return true;
	front_fail(host, req->id, API_ERR_DENIED, err.text, "", "start `reckon mcp` again", 0);
	return false;
}

void folders_show(struct arena *arena, const struct session *session, struct api_session *ret)
{
	struct api_mount *mounts;

	if (session->box.folders.count == 0)
		return;
	mounts = arena_new(arena, session->box.folders.count, sizeof(*mounts));
	for (size_t i = 0; i < session->box.folders.count; i++) {
		const struct grant_folder *folder = &session->box.folders.folders[i];

		mounts[i] = (struct api_mount){
			.target = arena_text(arena, folder->target, strlen(folder->target)),
			.source = arena_text(arena, folder->source, strlen(folder->source)),
			.writable = folder->writable,
		};
	}
	ret->mounts = (struct api_list){ mounts, session->box.folders.count };
}

bool folders_open(struct job *job, struct folders_open *ret)
{
	const struct grant *grant = &job->session->box.folders;
	struct err err;

	*ret = FOLDERS_NONE;
	for (size_t i = 0; i < grant->count; i++) {
		if (grant_folder_open(&grant->folders[i], &ret->fds[i], &err) < 0) {
			job->error.code = RECKON_EDENIED;
			(void)snprintf(job->error.message, sizeof(job->error.message), "%s",
				       err.text);
			(void)snprintf(job->error.remedy, sizeof(job->error.remedy), "%s",
				       err.remedy);
			return false;
		}
		(void)snprintf(ret->sources[i], sizeof(ret->sources[i]), "/proc/self/fd/%d",
			       ret->fds[i]);
		ret->mounts[ret->count++] =
			(reckon_mount){ .source = ret->sources[i],
					.target = grant->folders[i].target,
					.writable = grant->folders[i].writable };
	}
	return true;
}

void folders_close(struct folders_open *open)
{
	for (size_t i = 0; i < open->count; i++)
		(void)close(open->fds[i]);
	open->count = 0;
}

void folders_again(struct session *session)
{
	struct err ignored;

	if (session->persisted.grant[0] == '\0' || !session->host->config.is_private)
		return;
	grant_done(&session->box.folders);
	(void)grant_read(session->host->door.runtime_fd, session->persisted.grant,
			 &session->box.folders, &ignored);
}

bool folders_are_over(const struct session *session)
{
	return session->persisted.grant[0] != '\0' &&
	       (!session->host->config.is_private ||
		!grant_is_alive(session->host->door.runtime_fd, session->persisted.grant));
}
