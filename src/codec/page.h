/* page.h - a bounded part of a long output, and how to go on from there. Pure. */
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
	uint64_t first, last; /* with has_lines; from 1, the last one included */
	uint64_t head, tail;  /* lines; 0: not asked for */
	const char *needle;   /* or NULL: only lines that hold it, with their numbers */
	bool is_all;	      /* without the bound of a page */
	size_t page_bytes;    /* a smaller bound; 0: PAGE_BYTES */
	/* page_show() alone */
	bool has_range;
	uint64_t from, to; /* bytes, from 0, the last one included */
};

/*
 * Appends the lines chosen to `ret`, of the last page for a tail and else of the first, and to
 * `ret_told` one line about what is missing and how to have it, nothing when nothing is.
 * ERR_INVALID: there are no such lines.
 */
int page_choose(const struct page_choice *choice, const char *bytes, size_t len, const char *handle,
		struct buf *ret, struct buf *ret_told, struct err *err);

/*
 * The same, or a range of bytes, for a model: as text, with control characters escaped, and what is
 * missing as a last line in brackets. Of bytes that are not text only so much is said.
 */
int page_show(const struct page_choice *choice, const char *bytes, size_t len, const char *handle,
	      struct buf *ret, struct err *err);
