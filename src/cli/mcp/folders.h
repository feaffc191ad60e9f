/*
 * folders.h - the tool `session` with action `mount`: a model asks for a folder of this computer, and
 * the client's person grants it, or does not.
 *
 * Who asks is this process, which its person started: neither a daemon nor what speaks for it with
 * clients can grant a folder. An older client is asked by a request of ours; one of 2026-07-28 gets
 * the question as the result, and calls again with the answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/process/grant.h"
#include "cli/mcp/folder.h"
#include "codec/json_read.h"

/* What the bridge does for it. */
struct folders_calls {
	/* A line for the client. */
	void (*put)(void *arg, const char *line, size_t len);
	/* A message of the client goes on to the daemon, which opens a session with the folder. */
	void (*forward)(void *arg, const char *line, size_t len);
	/* The person granted it. */
	int (*grant)(void *arg, const struct folder *folder, struct grant_folder *ret,
		     struct err *err);
};

struct folders;
struct folders *folders_new(const struct folders_calls *calls, void *arg);
void folders_free(struct folders *folders); /* NULL is fine */

/* A message of the client; true when it is about folders, and has been dealt with. */
bool folders_take(struct folders *folders, const struct json_value *document, const char *line,
		  size_t len);
