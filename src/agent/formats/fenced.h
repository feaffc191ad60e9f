/*
 * fenced.h - code that a model writes as a fenced block in its text. Pure.
 *
 * A fence is a line of three or more backticks or tildes, after at most three spaces; behind an
 * opening one stands the language, a closing one has at least as many of the same and nothing else.
 * Only blocks in the session's language, or in none, count: a model also shows output and data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct fenced {
	size_t start;	   /* of the opening fence's line; text before it is prose */
	size_t code, code_len;
	size_t end;	   /* behind the closing fence's line; the text's length when there is none */
	bool complete;	   /* the closing fence was there */
};

/* The first block of `language`, a name of the language table; false: there is none. */
bool fenced_find(const char *text, size_t len, const char *language, struct fenced *ret);

/*
 * How much of a text that still grows is surely prose: up to the first such block, and not a last
 * line that may yet become a fence.
 */
size_t fenced_prose(const char *text, size_t len, const char *language);
