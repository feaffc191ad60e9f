/*
 * runs.h - the folder of stored runs: STATE/runs/ID/run.jsonl.
 *
 * Folders are 0700, files 0600. One program at a time holds a run's lock and appends lines to it; a
 * line is on disk before the person sees what it reports. The most recently used runs are kept: at
 * most RUNS_COUNT_MAX, and RUNS_BYTES_MAX together.
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

/* Opens the folder; creates it if `make` is set. ERR_NOT_FOUND: no run was ever stored. */
int runs_open(bool make, int *ret_dir, struct err *err);

/* Lists all runs, the most recently used first; the caller frees *ret. */
int runs_list(int dir, struct runs_entry **ret, size_t *ret_count, struct err *err);

/* Whether `text` is an id or the beginning of one. No word can be mistaken for an id. */
bool runs_is_id(const char *text);
/*
 * Finds the run that `given` names: an id, its beginning, or the part after its '-', if only one
 * run has it; "last" or NULL is the most recently used run.
 */
int runs_find(int dir, const char *given, char ret_id[JOURNAL_ID_SIZE], struct err *err);

/* Creates an empty run, which is locked while *ret_fd is open. */
int runs_new(int dir, char ret_id[JOURNAL_ID_SIZE], int *ret_fd, struct err *err);
/*
 * Loads and locks a run to append to it; cuts off an incomplete last line. ERR_DENIED while another
 * program writes to it.
 */
int runs_continue(int dir, const char *id, struct journal *journal, int *ret_fd, struct err *err);
/* Without `records` they are skipped without parsing. */
int runs_load(int dir, const char *id, bool records, struct journal *journal, struct err *err);

/* Appends one line and waits until it is on disk. */
int runs_append(int fd, const struct buf *line, struct err *err);

int runs_remove(int dir, const char *id, struct err *err);
/* Removes the least recently used runs until the rest is within both limits; skips runs in use. */
int runs_prune(int dir, size_t count_max, uint64_t bytes_max, size_t *ret_removed,
	       struct err *err);
