/*
 * inside.h - files as a program in the box sees them: runs reckon-files (src/tool/files.c) there.
 *
 * For what reckond does not know: files outside the workspace, targets of links, extended
 * attributes. Another program in the box may forge the answer, so it counts only for that box.
 */
#pragma once

#include "dialects/e2b/envd/entry.h"
#include "dialects/program/program.h"

#define INSIDE_TAG "e2b.files" /* marks its processes, which are not the client's */
#define INSIDE_ATTRIBUTES "user.e2b."

/* A request. `bytes`: the content to write. */
struct inside_order {
	const char *command, *path;
	const char *to;	       /* of a move */
	int64_t depth;	       /* of a list */
	const char *const *paths; /* for attributes, and to join */
	size_t path_count;
	const char *attributes; /* a JSON object that replaces the existing ones; NULL: none */
	const char *bytes;
	size_t len;
};

/* Runs it and returns its answer, which may be an error. NULL: answered with an error, or the
 * client disconnected. */
struct json_value *inside_ask(const struct e2b *e2b, const struct inside_order *order);
/* Whether the answer is an error; then it answers the request with it. */
bool inside_refused(const struct e2b *e2b, const struct json_value *answer);
/* Reads an entry of an answer; copies its texts into the arena. */
void inside_entry(const struct e2b *e2b, const struct json_value *answer, struct entry *ret);
/* Answers a GET with the file's bytes. */
void inside_read(const struct e2b *e2b, const struct e2b_path *path, const char *headers);
