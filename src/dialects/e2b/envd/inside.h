/*
 * inside.h - files as a program in the box sees them: reckon-files (src/tool/files.c) is started there.
 *
 * For what reckond does not know of: places beside the workspace, what links lead to, extended
 * attributes. What comes back is what a program of the box said, and is believed no further.
 */
#pragma once

#include "dialects/e2b/envd/entry.h"
#include "dialects/program/program.h"

#define INSIDE_TAG "e2b.files" /* of its processes, which are no commands of the client */
#define INSIDE_ATTRIBUTES "user.e2b."

/* What is asked. `bytes`: what is to be written. */
struct inside_order {
	const char *command, *path;
	const char *to;	       /* of a move */
	int64_t depth;	       /* of a list */
	const char *const *paths; /* of attributes, and of what is composed */
	size_t path_count;
	const char *attributes; /* an object in JSON, in place of those that are there; NULL: none */
	const char *bytes;
	size_t len;
};

/* What was answered, which may be an error; NULL: somebody was told, or is gone. */
struct json_value *inside_ask(const struct e2b *e2b, const struct inside_order *order);
/* Whether it is an error, which is then the answer of the request. */
bool inside_refused(const struct e2b *e2b, const struct json_value *told);
/* An entry of its answers, with texts of the arena. */
void inside_entry(const struct e2b *e2b, const struct json_value *told, struct entry *ret);
/* The whole answer of a GET: the file's bytes. */
void inside_read(const struct e2b *e2b, const struct e2b_path *path, const char *headers);
