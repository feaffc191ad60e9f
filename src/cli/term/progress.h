/*
 * progress.h - how far something is, on one line of stderr: "120 MB of 300 MB, 40 MB/s, 5 s left".
 *
 * Only a terminal has it; a dumb one gets a line of its own now and then. What is over before anybody
 * could read it is not told.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct term_progress {
	const char *what; /* name of the thing, escaped when it is shown; or NULL */
	uint64_t begun_ns, next_ns;
	bool is_shown;
};

void term_progress_begin(struct term_progress *progress, const char *what);
/* `total` is 0 when nobody knows it. */
void term_progress_at(struct term_progress *progress, uint64_t done, uint64_t total);
/* A client_progress_fn; `arg` is the struct term_progress. */
void term_progress_fn(uint64_t done, uint64_t total, void *arg);
/* Takes the line away. */
void term_progress_end(struct term_progress *progress);

/* The line itself. Pure. */
int term_progress_text(const char *what, uint64_t done, uint64_t total, uint64_t elapsed_ns,
		       struct buf *ret, struct err *err);
