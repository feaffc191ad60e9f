/*
 * runs.h - the folder with the runs that are kept: STATE/runs/ID/run.jsonl.
 *
 * Folders are 0700, files 0600. A run is appended to, line by line, by one program at a time, which
 * holds a lock on it; what a line says is on the disk before a person is shown that it happened.
 * The runs that were used last are kept: RUNS_COUNT_MAX of them, RUNS_BYTES_MAX together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/options/opt.h"
#include "cli/journal/journal.h"

#define RUNS_COUNT_MAX 500u
#define RUNS_BYTES_MAX (UINT64_C(1) << 30)

struct runs_entry {
	char id[JOURNAL_ID_SIZE];
	struct timespec used;
	uint64_t bytes;
};

/* The folder; with `make` it is made. ERR_NOT_FOUND: nothing was ever kept. */
int runs_open(bool make, int *ret_dir, struct err *err);

/* All that are there, those used last first; the caller frees *ret. */
int runs_list(int dir, struct runs_entry **ret, size_t *ret_count, struct err *err);

/* Whether `text` is one, or the beginning of one; no word of a language is. */
bool runs_is_id(const char *text);
/*
 * The run that `given` names: an id, its beginning or what stands behind its '-', when that is one
 * run's alone; "last", or NULL, is the one used last.
 */
int runs_find(int dir, const char *given, char ret_id[JOURNAL_ID_SIZE], struct err *err);

/* A new one, empty, locked while *ret_fd is open. */
int runs_new(int dir, char ret_id[JOURNAL_ID_SIZE], int *ret_fd, struct err *err);
/*
 * One that is there, to be gone on with: loaded, locked; half of a last line is cut off.
 * ERR_DENIED while another program writes to it.
 */
int runs_continue(int dir, const char *id, struct journal *journal, int *ret_fd, struct err *err);
/* Without `records` they are passed over unread. */
int runs_load(int dir, const char *id, bool records, struct journal *journal, struct err *err);

/* One line, to the disk. */
int runs_append(int fd, const struct buf *line, struct err *err);

int runs_remove(int dir, const char *id, struct err *err);
/* Removes those used longest ago until the rest is within both bounds; not those in use. */
int runs_prune(int dir, size_t count_max, uint64_t bytes_max, size_t *ret_removed,
	       struct err *err);
