/*
 * term.c - filters text from a box for a terminal.
 *
 * Runs in:  reckon.
 * Reads:    hostile text, cut at any byte.
 * Never:    passes a control character that is not listed in term.h.
 */
#include "cli/term/term.h"

#include <string.h>

#include "base/reveal.h"
#include "base/utf8.h"

#define ESC 0x1b

static int show_byte(unsigned char byte, struct buf *ret, struct err *err)
{
	return buf_addf(ret, err, "\\x%02x", byte);
}

/* U+0080 to U+009F are control characters; some terminals interpret them in UTF-8. */
static bool is_c1(const unsigned char *sequence, size_t len)
{
	return len == 2 && sequence[0] == 0xc2 && sequence[1] < 0xa0;
}

/* The length of a complete SGR sequence at `text`; 0: it is none; SIZE_MAX: its end is missing. */
static size_t sgr_length(const char *text, size_t len)
{
	size_t at = 2;

	if (len < 2)
		return SIZE_MAX;
	if (text[1] != '[')
		return 0;
	while (at < len && ((text[at] >= '0' && text[at] <= '9') || text[at] == ';' ||
			    text[at] == ':'))
		at++;
	if (at >= TERM_PENDING_MAX)
		return 0;
	if (at == len)
		return SIZE_MAX;
	return text[at] == 'm' ? at + 1 : 0;
}

static bool is_reset(const char *sgr, size_t len)
{
	for (size_t i = 2; i + 1 < len; i++)
		if (sgr[i] != '0')
			return false;
	return true;
}

/*
 * Writes what can be decided at the start of `text`. Returns the number of bytes used, 0 if more
 * are needed (never with `last`), or a negative code.
 */
static int step(struct term_filter *filter, const char *text, size_t len, bool last,
		struct buf *ret, struct err *err)
{
	const unsigned char byte = (unsigned char)text[0];
	size_t n;

	if (byte == ESC) {
		n = sgr_length(text, len);
		if (n == SIZE_MAX && !last)
			return 0;
		if (n == 0 || n == SIZE_MAX)
			return show_byte(byte, ret, err) < 0 ? (int)err->code : 1;
		if (filter->plain)
			return (int)n;
		filter->coloured = !is_reset(text, n);
		return buf_add(ret, text, n, err) < 0 ? (int)err->code : (int)n;
	}
	if (byte < 0x20 && byte != '\n' && byte != '\r' && byte != '\t')
		return show_byte(byte, ret, err) < 0 ? (int)err->code : 1;
	if (byte == 0x7f)
		return show_byte(byte, ret, err) < 0 ? (int)err->code : 1;
	n = utf8_sequence(text, len);
	if (n == 0) {
		if (!last && utf8_incomplete_tail(text, len) == len)
			return 0;
		return show_byte(byte, ret, err) < 0 ? (int)err->code : 1;
	}
	if (is_c1((const unsigned char *)text, n))
		return show_byte((unsigned char)text[1], ret, err) < 0 ? (int)err->code : 2;
	return buf_add(ret, text, n, err) < 0 ? (int)err->code : (int)n;
}

static int pass(struct term_filter *filter, const char *text, size_t len, bool last,
		size_t *ret_used, struct buf *ret, struct err *err)
{
	size_t at = 0;

	while (at < len) {
		int n = step(filter, text + at, len - at, last, ret, err);

		if (n < 0)
			return n;
		if (n == 0)
			break;
		at += (size_t)n;
	}
	*ret_used = at;
	return 0;
}

int term_filter_add(struct term_filter *filter, const char *text, size_t len, struct buf *ret,
		    struct err *err)
{
	size_t used = 0;

	if (len > 0)
		filter->mid_line = text[len - 1] != '\n';
	if (!filter->escape)
		return buf_add(ret, text, len, err);
	while (filter->pending_len > 0 && len > 0) {
		filter->pending[filter->pending_len++] = *text++;
		len--;
		if (pass(filter, filter->pending, filter->pending_len, false, &used, ret, err) < 0)
			return (int)err->code;
		filter->pending_len -= used;
		memmove(filter->pending, filter->pending + used, filter->pending_len);
	}
	if (len == 0)
		return 0;
	if (pass(filter, text, len, false, &used, ret, err) < 0)
		return (int)err->code;
	/* What is undecided is shorter than the longest SGR sequence that we accept. */
	filter->pending_len = len - used;
	memcpy(filter->pending, text + used, filter->pending_len);
	return 0;
}

int term_filter_end(struct term_filter *filter, struct buf *ret, struct err *err)
{
	size_t used;

	if (!filter->escape)
		return 0;
	if (pass(filter, filter->pending, filter->pending_len, true, &used, ret, err) < 0)
		return (int)err->code;
	filter->pending_len = 0;
	if (filter->coloured && buf_adds(ret, "\x1b[0m", err) < 0)
		return (int)err->code;
	filter->coloured = false;
	return 0;
}

static int escape_line(const char *text, size_t len, bool reveals, struct buf *ret, struct err *err)
{
	for (size_t at = 0; at < len;) {
		const unsigned char byte = (unsigned char)text[at];
		const size_t n = utf8_sequence(text + at, len - at);
		uint32_t character;
		int rc;

		if (n == 0 || byte < 0x20 || byte == 0x7f) {
			if (byte == '\n' ? buf_adds(ret, "\\n", err) < 0
					 : show_byte(byte, ret, err) < 0)
				return (int)err->code;
			at++;
			continue;
		}
		character = reveal_decode(text + at, n);
		if (is_c1((const unsigned char *)text + at, n))
			rc = show_byte((unsigned char)text[at + 1], ret, err);
		else if (reveals && reveal_is_hidden(character))
			rc = reveal_character(character, ret, err);
		else
			rc = buf_add(ret, text + at, n, err);
		if (rc < 0)
			return rc;
		at += n;
	}
	return 0;
}

int term_escape_line(const char *text, size_t len, struct buf *ret, struct err *err)
{
	return escape_line(text, len, true, ret, err);
}

int term_escape_prose(const char *text, size_t len, struct buf *ret, struct err *err)
{
	return escape_line(text, len, false, ret, err);
}
