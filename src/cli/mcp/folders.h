/*
 * folders.h - the tool `session` with action `mount`: a model asks for a folder of this computer,
 * and the person at the client grants or declines it.
 *
 * This process asks, because the person started it: neither a daemon nor its front can grant a
 * folder. An older client gets a request from us; a client of protocol 2026-07-28 gets the question
 * as the result and repeats the call with the answer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/process/grant.h"
#include "cli/mcp/folder.h"
#include "codec/json_read.h"

/* Callbacks into the bridge. */
struct folders_calls {
	/* Sends a line to the client. */
	void (*put)(void *arg, const char *line, size_t len);
	/* Forwards the client's message to the daemon, which opens a session with the folder. */
	void (*forward)(void *arg, const char *line, size_t len);
	/* Grants the folder, after the person agreed. */
	int (*grant)(void *arg, const struct folder *folder, struct grant_folder *ret,
		     struct err *err);
};

struct folders;
struct folders *folders_new(const struct folders_calls *calls, void *arg);
void folders_free(struct folders *folders); /* NULL is fine */

/* Handles a message of the client if it is about folders; true: handled. */
bool folders_take(struct folders *folders, const struct json_value *document, const char *line,
		  size_t len);
