/*
 * history.h - the history of complete cells.
 *
 * Each line of the file is one cell, with
 * , \r and \\ escaped. Concurrent sessions append to the same file; each reads it when it starts.
 */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "base/err.h"

#define HISTORY_CELLS_MAX 2000
#define HISTORY_CELL_BYTES_MAX 65536u
#define HISTORY_FILE_MAX ((size_t)16 * 1024 * 1024)

struct history;

/* $XDG_STATE_HOME/reckon/history, or by default ~/.local/state/reckon/history. */
int history_path(char ret[PATH_MAX], struct err *err);

/*
 * Reads the file and skips invalid lines. Creates it with mode 0600 if it is missing; shortens it
 * if it has more than twice the limit. `path` NULL: keep the history only in memory. On failure
 * *ret is a usable history without a file.
 */
int history_open(const char *path, struct history **ret, struct err *err);
void history_free(struct history *history); /* NULL is fine */

/* Adds a cell, unless it is empty, too long, or the same as the last one. */
void history_add(struct history *history, const char *text, size_t len);

size_t history_count(const struct history *history);
/* 0 is the oldest cell. */
const char *history_at(const struct history *history, size_t index);
