/*
 * editor.h - the line editor of the REPL: libedit, with cells of several lines, paste and Tab.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct editor;
struct history;

#define EDITOR_MATCHES_MAX 1000

/* What may stand in place of the bytes [start, end) of a cell. */
struct editor_matches {
	size_t start, end;
	size_t count;
	char *text[EDITOR_MATCHES_MAX]; /* the editor frees them */
};

struct editor_hooks {
	void *arg;
	/* Whether Enter ends the cell; if not, ret_indent gets what the next line begins with. */
	bool (*is_whole)(void *arg, const char *text, size_t len, struct buf *ret_indent);
	/* Leaves count 0 when nothing fits. */
	void (*complete)(void *arg, const char *text, size_t len, size_t cursor,
			 struct editor_matches *ret);
};

enum editor_end {
	EDITOR_CELL,
	EDITOR_CANCELLED, /* Ctrl-C: the line is void */
	EDITOR_EOF,	  /* Ctrl-D on an empty line, or the terminal went away */
};

/* `history` is lent. */
int editor_open(const struct editor_hooks *hooks, const struct history *history,
		struct editor **ret, struct err *err);
void editor_close(struct editor *editor); /* NULL is fine */

/*
 * One cell. `prompt` without colours; `preload` (or NULL) stands on the line to begin with. The
 * cell is appended to `ret` without a newline at its end.
 */
enum editor_end editor_read(struct editor *editor, const char *prompt, bool coloured,
			    const char *preload, struct buf *ret);

/* For signal handlers of SIGINT, SIGWINCH and SIGTSTP: noticed by the editor that waits. */
void editor_signal(int signo);
