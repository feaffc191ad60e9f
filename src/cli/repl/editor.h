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

/* Completions that can replace the bytes [start, end) of a cell. */
struct editor_matches {
	size_t start, end;
	size_t count;
	char *text[EDITOR_MATCHES_MAX]; /* the editor frees them */
};

struct editor_hooks {
	void *arg;
	/* Whether Enter ends the cell; if not, ret_indent gets the indentation of the next line. */
	bool (*is_whole)(void *arg, const char *text, size_t len, struct buf *ret_indent);
	/* Sets count to 0 if nothing matches. */
	void (*complete)(void *arg, const char *text, size_t len, size_t cursor,
			 struct editor_matches *ret);
};

enum editor_end {
	EDITOR_CELL,
	EDITOR_CANCELLED, /* Ctrl-C: the line is discarded */
	EDITOR_EOF,	  /* Ctrl-D on an empty line, or the terminal is gone */
};

/* `history` has to outlive the editor. */
int editor_open(const struct editor_hooks *hooks, const struct history *history,
		struct editor **ret, struct err *err);
void editor_close(struct editor *editor); /* NULL is fine */

/*
 * Reads one cell. `prompt` has no colours; `preload` (or NULL) is the initial text. Appends the
 * cell to `ret` without a final newline.
 */
enum editor_end editor_read(struct editor *editor, const char *prompt, bool coloured,
			    const char *preload, struct buf *ret);

/* Signal handler for SIGINT, SIGWINCH and SIGTSTP; a waiting editor_read() handles them. */
void editor_signal(int signo);
