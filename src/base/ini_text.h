/*
 * ini_text.h - the lines of an INI text, as inih asks for them, and what is wrong with them.
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

/* What is wrong with a file, line by line. */
struct ini_problems {
	unsigned count; /* also of those that did not fit */
	struct ini_problem {
		unsigned line; /* 0: of the whole */
		char text[240];
	} list[INI_PROBLEMS_MAX];
};

struct ini_text {
	const char *at, *end; /* what is still to be read; without a NUL at its end */
	struct ini_problems *problems;
	unsigned line;	       /* of what was read last */
	unsigned problem_line; /* the last line that has a problem already */
	/* A line from '[' on, without its newline, which inih does not get to see; NULL: it does. */
	void (*on_section)(void *arg, const char *line, size_t len);
	void *arg;
};

/* inih's reader, whose stream is a struct ini_text. */
char *ini_text_next(char *ret, int size, void *text);

/* A problem of this line, which is its only one; `line` 0: of the whole. */
void ini_text_complain(struct ini_text *text, unsigned line, const char *why);

/* Takes what inih returned. 0, or ERR_INVALID with the first problem. */
int ini_text_end(struct ini_text *text, int parsed, struct err *err);

/* The same when more was judged after that. */
int ini_problems_check(const struct ini_problems *problems, struct err *err);
