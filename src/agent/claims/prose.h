/*
 * prose.h - which part of an answer says something: not code, not addresses. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PROSE_COUNTS_MAX 64u

struct prose {
	const char *text;
	size_t len;
	bool *hidden; /* by byte: code, addresses, tags */
	/* How many items its lists have, and rows its tables: "5 findings:" counts these. */
	size_t counts[PROSE_COUNTS_MAX];
	size_t count_count;
};

/* `text` is lent. */
void prose_init(struct prose *prose, const char *text, size_t len);
void prose_done(struct prose *prose);
bool prose_counts(const struct prose *prose, double value);
