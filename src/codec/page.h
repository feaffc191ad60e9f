/* page.h - selects a bounded part of a long output and says how to continue. No side effects. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define PAGE_BYTES ((size_t)16 * 1024)

/* All zero: the first page. */
struct page_choice {
	bool has_lines;
	uint64_t first, last; /* with has_lines; from 1, inclusive */
	uint64_t head, tail;  /* number of lines; 0: not requested */
	const char *needle;   /* or NULL: only lines that contain it, with their numbers */
	bool is_all;	      /* without a page limit */
	size_t page_bytes;    /* a smaller limit; 0: PAGE_BYTES */
	/* only for page_show() */
	bool has_range;
	uint64_t from, to; /* bytes, from 0, inclusive */
};

/*
 * Appends the chosen lines to `ret`: the last page of a tail, else the first page. Appends to
 * `ret_notice` one line about what is missing and how to get it, or nothing. ERR_INVALID: no such
 * lines.
 */
int page_choose(const struct page_choice *choice, const char *bytes, size_t len, const char *handle,
		struct buf *ret, struct buf *ret_notice, struct err *err);

/*
 * The same, or a range of bytes, for a model: as text, with control characters escaped, and a last
 * line in brackets about what is missing. For bytes that are not text it only says so.
 */
int page_show(const struct page_choice *choice, const char *bytes, size_t len, const char *handle,
	      struct buf *ret, struct err *err);
