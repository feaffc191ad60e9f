/*
 * text.c - breaks styled text into lines that fit a terminal.
 *
 * Runs in:  reckon.
 * Reads:    hostile text.
 * Never:    writes text unescaped, or a hyperlink whose address is not visible.
 */
#include "cli/term/text.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "cli/term/term.h"
#include "cli/term/width.h"

void term_text_init(struct term_text *text)
{
	*text = (struct term_text){ BUF_INIT(TERM_TEXT_MAX), BUF_INIT(TERM_TEXT_MAX) };
}

void term_text_done(struct term_text *text)
{
	buf_done(&text->text);
	buf_done(&text->styles);
}

void term_text_clear(struct term_text *text)
{
	buf_clear(&text->text);
	buf_clear(&text->styles);
}

static int add_styles(struct term_text *text, unsigned styles, struct err *err)
{
	const size_t missing = text->text.len - text->styles.len;
	char *space;

	if (missing == 0)
		return 0;
	if (buf_reserve(&text->styles, missing, &space, err) < 0)
		return (int)err->code;
	memset(space, (int)styles, missing);
	text->styles.len += missing;
	return 0;
}

int term_text_add(struct term_text *text, unsigned styles, const char *bytes, size_t len,
		  struct err *err)
{
	while (len > 0) {
		const char *tab = memchr(bytes, '\t', len);
		const size_t n = tab != NULL ? (size_t)(tab - bytes) : len;

		if (term_escape_prose(bytes, n, &text->text, err) < 0 ||
		    (tab != NULL && buf_adds(&text->text, "    ", err) < 0))
			return (int)err->code;
		bytes += n + (tab != NULL);
		len -= n + (tab != NULL);
	}
	return add_styles(text, styles, err);
}

int term_text_break(struct term_text *text, struct err *err)
{
	if (buf_addc(&text->text, '\n', err) < 0)
		return (int)err->code;
	return add_styles(text, 0, err);
}

/* A line may break between two wide characters, but not before closing punctuation. */
static bool may_break_before(const char *text, size_t n)
{
	static const char closing[] = "、。，．：；？！）」』】〕》〉…ー”’";

	if (n < 2)
		return false;
	for (size_t i = 0; i + n < sizeof(closing); i++)
		if (memcmp(closing + i, text, n) == 0)
			return false;
	return true;
}

size_t term_text_wrap(const struct term_text *text, size_t from, size_t width, size_t *ret_end)
{
	const char *bytes = buf_text(&text->text);
	const size_t len = text->text.len;
	size_t used = 0, at = from, space = 0, wide = 0;
	bool was_wide = false;

	while (at < len && bytes[at] != '\n') {
		const size_t n = utf8_sequence(bytes + at, len - at);
		const size_t columns = term_width(bytes + at, n > 0 ? n : 1);

		if (bytes[at] == ' ')
			space = at;
		else if (at > from && (columns == 2 || (was_wide && columns > 0)) &&
			 may_break_before(bytes + at, n > 0 ? n : 1))
			wide = at;
		if (used + columns > width && at > from)
			break;
		was_wide = columns == 2;
		used += columns;
		at += n > 0 ? n : 1;
	}
	if (at == len || bytes[at] == '\n') {
		*ret_end = at;
		return at + (at < len);
	}
	if (space > from && space >= wide) {
		*ret_end = space;
		while (*ret_end > from && bytes[*ret_end - 1] == ' ')
			--*ret_end;
		while (space < len && bytes[space] == ' ')
			space++;
		return space;
	}
	*ret_end = wide > from ? wide : at;
	return *ret_end;
}

size_t term_text_width(const struct term_text *text, size_t from, size_t end)
{
	const char *bytes = buf_text(&text->text);
	size_t widest = 0;

	while (from < end) {
		const char *newline = memchr(bytes + from, '\n', end - from);
		const size_t n = newline != NULL ? (size_t)(newline - bytes) - from : end - from;
		const size_t width = term_width(bytes + from, n);

		widest = width > widest ? width : widest;
		from += n + 1;
	}
	return widest;
}

static int put_style(unsigned styles, struct buf *ret, struct err *err)
{
	static const char *const codes[] = { ";1", ";3", ";4", ";9", ";2", ";36", ";34;4" };

	if (buf_adds(ret, "\x1b[0", err) < 0)
		return (int)err->code;
	for (unsigned i = 0; i < ARRAY_LEN(codes); i++)
		if ((styles >> i & 1u) != 0 && buf_adds(ret, codes[i], err) < 0)
			return (int)err->code;
	return buf_addc(ret, 'm', err);
}

/* Only characters that need no escape, so that the link opens exactly the visible address. */
static bool is_address(const char *text, size_t len)
{
	if (len > 2000 || ((len < 9 || memcmp(text, "https://", 8) != 0) &&
			   (len < 8 || memcmp(text, "http://", 7) != 0)))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f ||
		    text[i] == '\\')
			return false;
	return true;
}

/*
 * Writes the hyperlink for the whole address of which [from, end) is a part, even if it is wrapped.
 */
static int put_address(const struct term_text *text, size_t from, size_t end, struct buf *ret,
		       struct err *err)
{
	const char *bytes = buf_text(&text->text), *styles = buf_text(&text->styles);
	size_t first = from, last = end;
	bool is_whole;

	while (first > 0 && (styles[first - 1] & (int)TERM_ADDRESS) != 0)
		first--;
	while (last < text->text.len && (styles[last] & (int)TERM_ADDRESS) != 0)
		last++;
	is_whole = is_address(bytes + first, last - first);
	if (is_whole && buf_addf(ret, err, "\x1b]8;;%.*s\x1b\\", (int)(last - first),
				 bytes + first) < 0)
		return (int)err->code;
	if (buf_add(ret, bytes + from, end - from, err) < 0)
		return (int)err->code;
	return is_whole ? buf_adds(ret, "\x1b]8;;\x1b\\", err) : 0;
}

int term_text_put(const struct term_text *text, size_t from, size_t end, unsigned styles,
		  struct buf *ret, struct err *err)
{
	const char *bytes = buf_text(&text->text), *own = buf_text(&text->styles);

	while (from < end) {
		const unsigned style = styles | (unsigned char)own[from];
		size_t to = from;
		int rc;

		while (to < end && own[to] == own[from])
			to++;
		if (style != 0 && put_style(style, ret, err) < 0)
			return (int)err->code;
		rc = (style & TERM_ADDRESS) != 0 ? put_address(text, from, to, ret, err)
						 : buf_add(ret, bytes + from, to - from, err);
		if (rc < 0 || (style != 0 && buf_adds(ret, "\x1b[0m", err) < 0))
			return (int)err->code;
		from = to;
	}
	return 0;
}
