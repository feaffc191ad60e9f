/*
 * page.c - selects a bounded part of a long output and says how to continue.
 *
 * Runs in:  reckon, reckond, reckon-agent.
 * Reads:    stored bytes of a box, as lines.
 * Never:    returns more than a page unless the caller wants all, or less without saying so.
 */
#include "codec/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

#define PAGE_SPARE ((size_t)4096)

struct lines {
	const char *bytes;
	size_t len;
	uint64_t count;
};

/* The part of the lines that was returned. */
struct given {
	uint64_t first, last;	  /* the requested lines that exist */
	uint64_t matches, shown;
	uint64_t next_line; /* where to continue; 0: nothing left */
	size_t next_byte;   /* the same inside a line; 0: at its start */
};

static const char *line_end(const struct lines *lines, const char *line)
{
	const char *end = lines->bytes + lines->len;
	const char *newline = memchr(line, '\n', (size_t)(end - line));

	return newline != NULL ? newline + 1 : end;
}

static uint64_t count_lines(const struct lines *lines)
{
	const char *at = lines->bytes, *end = lines->bytes + lines->len;
	uint64_t count = 0;

	for (; at < end; at = line_end(lines, at))
		count++;
	return count;
}

static const char *line_start(const struct lines *lines, uint64_t number)
{
	const char *at = lines->bytes;

	while (--number > 0)
		at = line_end(lines, at);
	return at;
}

/* Maps the choice to numbers of existing lines. */
static int choose_lines(const struct page_choice *choice, const struct lines *lines,
			struct given *given, struct err *err)
{
	given->first = choice->has_lines ? choice->first : 1;
	given->last = choice->has_lines ? choice->last : lines->count;
	if (choice->head > 0)
		given->last = choice->head;
	if (choice->tail > 0 && choice->tail < lines->count)
		given->first = lines->count - choice->tail + 1;
	if (given->last > lines->count)
		given->last = lines->count;
	if (given->first > given->last && lines->count > 0)
		return err_set(err, ERR_INVALID, "there are %" PRIu64 " lines, none from %" PRIu64,
			       lines->count, given->first);
	return 0;
}

/* If a tail is longer than a page, returns the end of it. */
static void shorten_tail(const struct lines *lines, size_t max, struct given *given)
{
	const char *at = line_start(lines, given->first), *end = lines->bytes + lines->len;

	while (given->first < given->last && (size_t)(end - at) > max) {
		at = line_end(lines, at);
		given->first++;
	}
}

/* A page ends at a line break, except that a line longer than a page is cut between characters. */
static int give_line(const char *line, size_t len, const char *label, size_t max, uint64_t number,
		     struct given *given, struct buf *ret, struct err *err)
{
	const size_t label_len = strlen(label);

	if (ret->len > 0 && (ret->len + label_len + len > max || given->next_line > 0)) {
		given->next_line = given->next_line > 0 ? given->next_line : number;
		return 0;
	}
	if (label_len + len > max) {
		len = max - label_len;
		len -= utf8_incomplete_tail(line, len);
		given->next_line = number;
		given->next_byte = len;
	}
	given->shown++;
	if (buf_adds(ret, label, err) < 0)
		return (int)err->code;
	return buf_add(ret, line, len, err);
}

static int give_lines(const struct page_choice *choice, const struct lines *lines, size_t max,
		      struct given *given, struct buf *ret, struct err *err)
{
	const char *line = line_start(lines, given->first);
	char label[32] = "";

	for (uint64_t number = given->first; number <= given->last; number++) {
		const char *end = line_end(lines, line);
		const size_t len = (size_t)(end - line), had = given->next_byte;

		if (choice->needle == NULL ||
		    memmem(line, len, choice->needle, strlen(choice->needle)) != NULL) {
			given->matches++;
			if (choice->needle != NULL)
				(void)snprintf(label, sizeof(label), "%" PRIu64 ":", number);
			if (give_line(line, len, label, max, number, given, ret, err) < 0)
				return (int)err->code;
		}
		if (given->next_byte > had)
			given->next_byte += (size_t)(line - lines->bytes);
		/* The page is full; go on only to count matches. */
		if (given->next_line > 0 && choice->needle == NULL)
			return 0;
		line = end;
	}
	return 0;
}

static size_t page_size(const struct page_choice *choice)
{
	return choice->page_bytes > 0 && choice->page_bytes < PAGE_BYTES ? choice->page_bytes
									 : PAGE_BYTES;
}

/* Writes the line for stderr: what is missing, and the options that fetch it. */
static void tell(const struct page_choice *choice, const struct lines *lines, const char *handle,
		 const struct given *given, uint64_t tail_first, struct buf *ret)
{
	struct err ignored; /* always fits: numbers and an id */

	if (choice->needle != NULL && given->matches == 0)
		(void)buf_addf(ret, &ignored, "none of %" PRIu64 " lines holds that text",
			       given->last - given->first + 1);
	else if (choice->needle != NULL && given->next_line > 0)
		(void)buf_addf(ret, &ignored,
			       "%" PRIu64 " of %" PRIu64 " matching lines; more: the "
			       "same with --lines %" PRIu64 ":%" PRIu64,
			       given->shown, given->matches,
			       given->next_line + (given->next_byte > 0 ? 1 : 0), given->last);
	else if (given->next_byte > 0)
		(void)buf_addf(ret, &ignored,
			       "line %" PRIu64 " of %" PRIu64 " goes on; more: reckon "
			       "output %s --range %zu-%zu",
			       given->next_line, lines->count, handle, given->next_byte,
			       given->next_byte + page_size(choice) - 1);
	else if (given->next_line > 0)
		(void)buf_addf(ret, &ignored,
			       "lines %" PRIu64 " to %" PRIu64 " of %" PRIu64 "; more: "
			       "reckon output %s --lines %" PRIu64 ":%" PRIu64,
			       given->first, given->next_line - 1, lines->count, handle,
			       given->next_line, given->last);
	else if (tail_first < given->first)
		(void)buf_addf(ret, &ignored, "lines %" PRIu64 " to %" PRIu64 " of %" PRIu64 "; "
			       "before them: reckon output %s --lines %" PRIu64 ":%" PRIu64,
			       given->first, given->last, lines->count, handle, tail_first,
			       given->first - 1);
}

int page_choose(const struct page_choice *choice, const char *bytes, size_t len, const char *handle,
		struct buf *ret, struct buf *ret_notice, struct err *err)
{
	const size_t page = page_size(choice);
	const size_t max = choice->is_all ? len + page : page;
	struct lines lines = { .bytes = bytes, .len = len };
	struct given given = { 0 };
	uint64_t tail_first;

	lines.count = count_lines(&lines);
	if (choose_lines(choice, &lines, &given, err) < 0)
		return (int)err->code;
	if (lines.count == 0)
		return 0;
	tail_first = given.first;
	if (choice->tail > 0 && choice->needle == NULL)
		shorten_tail(&lines, max, &given);
	if (give_lines(choice, &lines, choice->is_all ? SIZE_MAX : max, &given, ret, err) < 0)
		return (int)err->code;
	tell(choice, &lines, handle, &given, tail_first, ret_notice);
	return 0;
}

/* ---- for a model ---- */

/* Takes the bytes of a range, without partial characters at its ends. */
static void choose_bytes(const struct page_choice *choice, const char *bytes, size_t len,
			 const char *handle, struct buf *ret, struct buf *ret_notice)
{
	size_t from = choice->from < len ? (size_t)choice->from : len;
	size_t to = choice->to < len ? (size_t)choice->to + 1 : len;
	struct err ignored; /* at most one page */

	if (to < from)
		to = from;
	if (to - from > page_size(choice))
		to = from + page_size(choice);
	while (from < to && ((unsigned char)bytes[from] & 0xc0) == 0x80)
		from++;
	to -= utf8_incomplete_tail(bytes + from, to - from);
	(void)buf_add(ret, bytes + from, to - from, &ignored);
	if (from == to)
		(void)buf_addf(ret_notice, &ignored, "there are %zu bytes, none in this range",
			       len);
	else if (to < len)
		(void)buf_addf(ret_notice, &ignored,
			       "bytes %zu to %zu of %zu; more: reckon output %s "
			       "--range %zu-%zu",
			       from, to - 1, len, handle, to, to + page_size(choice) - 1);
}

static int add_shown(const char *bytes, size_t len, struct buf *ret, struct err *err)
{
	for (size_t at = 0; at < len;) {
		const unsigned char c = (unsigned char)bytes[at];
		const size_t sequence = utf8_sequence(bytes + at, len - at);
		int rc;

		if (sequence == 0)
			rc = buf_adds(ret, "\xef\xbf\xbd", err);
		else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			rc = buf_addf(ret, err, "\\x%02x", c);
		else
			rc = buf_add(ret, bytes + at, sequence, err);
		if (rc < 0)
			return rc;
		at += sequence > 0 ? sequence : 1;
	}
	return 0;
}

int page_show(const struct page_choice *choice, const char *bytes, size_t len, const char *handle,
	      struct buf *ret, struct err *err)
{
	cleanup_buf struct buf page = BUF_INIT(PAGE_BYTES + PAGE_SPARE);
	cleanup_buf struct buf notice = BUF_INIT(PAGE_SPARE);

	if (choice->has_range)
		choose_bytes(choice, bytes, len, handle, &page, &notice);
	else if (page_choose(choice, bytes, len, handle, &page, &notice, err) < 0)
		return (int)err->code;
	if (memchr(buf_text(&page), '\0', page.len) != NULL)
		return buf_addf(ret, err, "[%s is not text: %zu bytes]", handle, len);
	if (add_shown(buf_text(&page), page.len, ret, err) < 0)
		return (int)err->code;
	if (notice.len == 0)
		return 0;
	return buf_addf(ret, err, "%s[%s]",
			page.len > 0 && page.data[page.len - 1] != '\n' ? "\n" : "", notice.data);
}
