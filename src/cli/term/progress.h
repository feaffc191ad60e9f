/*
 * progress.h - prints progress on one line of stderr: "120 MB of 300 MB, 40 MB/s, 5 s left".
 *
 * It is printed only to a terminal; a dumb terminal gets a new line now and then. Short operations
 * print nothing.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct term_progress {
	const char *what; /* name of the object, which is escaped; or NULL */
	uint64_t begun_ns, next_ns;
	bool is_shown;
};

void term_progress_begin(struct term_progress *progress, const char *what);
/* `total` is 0 if it is not known. */
void term_progress_at(struct term_progress *progress, uint64_t done, uint64_t total);
/* A client_progress_fn; `arg` is the struct term_progress. */
void term_progress_fn(uint64_t done, uint64_t total, void *arg);
/* Clears the line. */
void term_progress_end(struct term_progress *progress);

/* Appends the text of the line. Pure. */
int term_progress_text(const char *what, uint64_t done, uint64_t total, uint64_t elapsed_ns,
		       struct buf *ret, struct err *err);
