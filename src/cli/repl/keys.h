/*
 * keys.h - the editor's inside: what repl_editor.c and repl_keys.c share.
 */
#pragma once

#include <histedit.h>
#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#include "base/buf.h"
#include "cli/repl/editor.h"

#define EDITOR_CELL_MAX ((size_t)4 * 1024 * 1024)

/* Keys that nobody can type, or that have a meaning of ours: see editor.c. */
#define KEY_CANCEL L'\x03'
#define KEY_ACCEPT L'\x1c' /* Ctrl-\ is a signal to a terminal, and so free */
#define KEY_LOAD L'\x1d'
#define KEY_KILL L'\x1e'
#define KEY_OLDER L'\x10'
#define KEY_NEWER L'\x0e'

struct editor {
	EditLine *el;
	struct editor_hooks hooks;
	const struct history *history;
	size_t history_at;  /* counts from the newest, 0 */
	wchar_t *history_line;
	wchar_t *prompt;
	size_t pad;
	wchar_t queue[4];
	size_t queued;
	char bytes[4096];   /* read and not yet taken */
	size_t at, len;
	bool waited;	    /* for the bytes: what follows a newline in them was pasted */
	enum editor_end end;
	bool again;	    /* left only to print matches; goes on with `kept` */
	struct buf kept;
	size_t kept_cursor;
	struct editor_matches matches;
};

/* ---- editor_input.c ---- */

struct editor *editor_of(EditLine *el);
/* Puts a key in front of what comes from the terminal. */
void editor_press(struct editor *editor, wchar_t key);
/* Whether something follows the key that was just taken. */
bool editor_has_more(const struct editor *editor);
/* The next character of the terminal: 1; 0: end of file; -1: a signal pressed a key. */
int editor_take(struct editor *editor, wchar_t *ret);

/* A cell is to be read: what came before is forgotten. */
void editor_begin_input(struct editor *editor);

/* ---- keys.c ---- */

void keys_bind(EditLine *el);
void keys_forget_matches(struct editor_matches *matches);
