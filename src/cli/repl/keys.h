/*
 * keys.h - internals that editor.c, editor_input.c and keys.c share.
 */
#pragma once

#include <histedit.h>
#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#include "base/buf.h"
#include "cli/repl/editor.h"

#define EDITOR_CELL_MAX ((size_t)4 * 1024 * 1024)

/* Keys that nobody can type, or that we bind ourselves; see editor.c. */
#define KEY_CANCEL L'\x03'
#define KEY_ACCEPT L'\x1c' /* a terminal turns Ctrl-\ into a signal, so the key is free */
#define KEY_LOAD L'\x1d'
#define KEY_KILL L'\x1e'
#define KEY_OLDER L'\x10'
#define KEY_NEWER L'\x0e'

struct editor {
	EditLine *el;
	struct editor_hooks hooks;
	const struct history *history;
	size_t history_at;  /* 0 is the newest */
	wchar_t *history_line;
	wchar_t *prompt;
	size_t pad;
	wchar_t queue[4];
	size_t queued;
	char bytes[4096];   /* read from the terminal, not yet handled */
	size_t at, len;
	bool waited; /* the editor waited for `bytes`, so text after a newline in them was pasted */
	enum editor_end end;
	bool again; /* the editor ended only to print matches; go on with `draft` */
	struct buf draft;
	size_t draft_cursor;
	struct editor_matches matches;
};

/* ---- editor_input.c ---- */

struct editor *editor_of(EditLine *el);
/* Queues a key before the terminal's input. */
void editor_press(struct editor *editor, wchar_t key);
/* Whether more input follows the key that was just read. */
bool editor_has_more(const struct editor *editor);
/* Reads the next character. 1: read; 0: end of file; -1: a signal pressed a key. */
int editor_take(struct editor *editor, wchar_t *ret);

/* Call before a cell is read: forgets queued keys and an earlier interrupt. */
void editor_begin_input(struct editor *editor);

/* ---- keys.c ---- */

void keys_bind(EditLine *el);
void keys_forget_matches(struct editor_matches *matches);
