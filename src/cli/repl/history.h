/*
 * history.h - what was typed before, kept whole, cell by cell.
 *
 * One line of the file is one cell, with \n, \r and \\ written so. Sessions that run side by side
 * append to one file; each reads it when it starts.
 */
#pragma once

#include <limits.h>
#include <stddef.h>

#include "base/err.h"

#define HISTORY_CELLS_MAX 2000
#define HISTORY_CELL_BYTES_MAX 65536u
#define HISTORY_FILE_MAX ((size_t)16 * 1024 * 1024)

struct history;

/* $XDG_STATE_HOME/reckon/history, else below ~/.local/state. */
int history_path(char ret[PATH_MAX], struct err *err);

/*
 * Reads the file (what is wrong in it is left out), made with mode 0600 when it is missing and
 * made shorter when it grew past twice the bound. `path` NULL: kept in memory alone. On failure
 * *ret is one without a file, and usable.
 */
int history_open(const char *path, struct history **ret, struct err *err);
void history_free(struct history *history); /* NULL is fine */

/* Not added: what is empty, too long, or the same as the last one. */
void history_add(struct history *history, const char *text, size_t len);

size_t history_count(const struct history *history);
/* 0 is the oldest. */
const char *history_at(const struct history *history, size_t index);
