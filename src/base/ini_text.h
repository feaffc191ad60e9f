/*
 * ini_text.h - gives inih the lines of an INI text, and lists the problems in them.
 *
 * inih cuts a long line, ends one at a NUL byte, and adds one that begins with a space to the value
 * before it. Here each of these is a problem of its line, and inih gets an empty line instead:
 *
 *   struct ini_text text = { .at = bytes, .end = bytes + len, .problems = &problems };
 *   code = ini_text_end(&text, ini_parse_stream(ini_text_next, &text, on_pair, &mine), &err);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define INI_PROBLEMS_MAX 20

/* The problems of a file, line by line. */
struct ini_problems {
	unsigned count; /* including those that did not fit */
	struct ini_problem {
		unsigned line; /* 0: the whole file */
		char text[240];
	} list[INI_PROBLEMS_MAX];
};

struct ini_text {
	const char *at, *end; /* the unread rest; no NUL at its end */
	struct ini_problems *problems;
	unsigned line;	       /* number of the line read last */
	unsigned problem_line; /* the last line with a reported problem */
	/* Handles a line that begins with '[' (without its newline) instead of inih; NULL: inih
	 * gets it. */
	void (*on_section)(void *arg, const char *line, size_t len);
	void *arg;
};

/* inih's reader, whose stream is a struct ini_text. */
char *ini_text_next(char *ret, int size, void *text);

/* Reports a problem of this line, at most one per line; `line` 0: of the whole file. */
void ini_text_complain(struct ini_text *text, unsigned line, const char *why);

/* Takes inih's result. Returns 0, or ERR_INVALID with the first problem. */
int ini_text_end(struct ini_text *text, int parsed, struct err *err);

/* The same, after further checks of the file's content. */
int ini_problems_check(const struct ini_problems *problems, struct err *err);
