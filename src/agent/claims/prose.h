/*
 * prose.h - separates the prose of an answer from code and addresses. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PROSE_COUNTS_MAX 64u

struct prose {
	const char *text;
	size_t len;
	bool *hidden; /* for each byte: part of code, an address or a tag */
	/*
	 * Numbers of items in its lists and of rows in its tables, which "5 findings:" may count.
	 */
	size_t counts[PROSE_COUNTS_MAX];
	size_t count_count;
};

/* `text` has to outlive `prose`. */
void prose_init(struct prose *prose, const char *text, size_t len);
void prose_done(struct prose *prose);
bool prose_counts(const struct prose *prose, double value);
