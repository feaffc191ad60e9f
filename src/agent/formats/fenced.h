/*
 * fenced.h - finds code that a model writes as a fenced block in its text. Pure.
 *
 * A fence is a line of three or more backticks or tildes, after at most three spaces. An opening
 * fence is followed by the language; a closing fence has at least as many of the same character and
 * nothing else. Only blocks in the session's language or without a language count, because a model
 * also shows output and data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fenced {
	size_t start;	   /* of the opening fence's line; the text before it is prose */
	size_t code, code_len;
	size_t end;	   /* after the closing fence's line; the text's length if there is none */
	bool complete;	   /* there is a closing fence */
};

/* Finds the first block in `language`, a name of the language table; false: there is none. */
bool fenced_find(const char *text, size_t len, const char *language, struct fenced *ret);

/*
 * The length of the beginning of a growing text that is certainly prose: up to the first block,
 * without a last line that may become a fence.
 */
size_t fenced_prose(const char *text, size_t len, const char *language);
