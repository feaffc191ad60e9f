/*
 * text.c - makes text of a hostile program readable.
 *
 * Runs in:  libreckon.
 * Reads:    hostile bytes.
 * Never:    splits a character, or lets an escape sequence through.
 */
#include "lib/record/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/file/fs.h"
#include "base/utf8.h"

static void put(struct buf *ret, const char *bytes, size_t len)
{
	struct err ignored; /* at the ceiling text is cut, as the header says */
	size_t room = ret->max - ret->len;

	if (len > room)
		len = room;
	(void)buf_add(ret, bytes, len, &ignored);
}

/* Bytes of a string (OSC, DCS, …) including its end: BEL, or ESC backslash. */
static size_t string_length(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\a')
			return i + 1;
		if (text[i] == '\x1b')
			return i + 1 < len && text[i + 1] == '\\' ? i + 2 : i;
		/* An unterminated string must not swallow later lines. */
		if (text[i] == '\n')
			return i;
	}
	return len;
}

/* Length of the escape sequence that begins at `text` with ESC. */
static size_t escape_length(const char *text, size_t len)
{
	size_t i = 1;

	if (len < 2)
		return len;
	if (text[1] == '[') {
		for (i = 2; i < len && text[i] >= 0x20 && text[i] <= 0x3f; i++)
			;
		return i < len && text[i] >= 0x40 && text[i] <= 0x7e ? i + 1 : i;
	}
	if (strchr("]PX^_", text[1]) != NULL && text[1] != '\0')
		return 2 + string_length(text + 2, len - 2);
	while (i < len && text[i] >= 0x20 && text[i] <= 0x2f)
		i++;
	return i < len && text[i] >= 0x30 && text[i] <= 0x7e ? i + 1 : i;
}

/* C1 control characters, U+0080 to U+009F, act like ESC in some terminals. */
static bool is_c1(const char *text, size_t width)
{
	return width == 2 && text[0] == '\xc2' && (unsigned char)text[1] < 0xa0;
}

/* Whether the character at `text` is shown unchanged. */
static bool is_shown(const char *text, size_t width)
{
	unsigned char byte = (unsigned char)text[0];

	if (byte == '\n' || byte == '\t')
		return true;
	return width > 0 && byte >= 0x20 && byte != 0x7f && !is_c1(text, width);
}

static void clean(const char *text, size_t len, bool keep_returns, struct buf *ret)
{
	size_t start = 0, at = 0;

	buf_clear(ret);
	while (at < len) {
		size_t width = utf8_sequence(text + at, len - at);

		if (is_shown(text + at, width)) {
			at += width;
			continue;
		}
		put(ret, text + start, at - start);
		if (width == 0)
			put(ret, "\xef\xbf\xbd", 3);
		else if (text[at] == '\r' && (at + 1 == len || text[at + 1] != '\n'))
			put(ret, keep_returns ? "\r" : "\n", 1);
		else if (text[at] == '\b' && keep_returns)
			put(ret, "\b", 1);
		if (text[at] == '\x1b')
			at += escape_length(text + at, len - at);
		else
			at += width > 0 ? width : 1;
		start = at;
	}
	put(ret, text + start, at - start);
}

void text_plain(const char *text, size_t len, struct buf *ret)
{
	clean(text, len, false, ret);
}

/* Copies a line to `out` and applies its backspaces; returns its new length. */
static size_t backspaced(char *out, const char *line, size_t len)
{
	size_t used = 0;

	if (memchr(line, '\b', len) == NULL) {
		memmove(out, line, len);
		return len;
	}
	for (size_t i = 0; i < len; i++) {
		if (line[i] != '\b')
			out[used++] = line[i];
		else if (used > 0)
			used = text_boundary_down(out, used, used - 1);
	}
	return used;
}

/* Of each line, keeps the text after the last carriage return that is not at its end. */
void text_settled(const char *text, size_t len, struct buf *ret)
{
	size_t line = 0, out = 0;

	clean(text, len, true, ret);
	while (line < ret->len) {
		const char *start = ret->data + line;
		const char *newline = memchr(start, '\n', ret->len - line);
		size_t width = newline != NULL ? (size_t)(newline - start) : ret->len - line;
		size_t end = width;
		const char *back;

		while (end > 0 && (start[end - 1] == '\r' || start[end - 1] == '\b'))
			end--;
		back = end > 0 ? memrchr(start, '\r', end) : NULL;
		if (back != NULL) {
			end -= (size_t)(back + 1 - start);
			start = back + 1;
		}
		out += backspaced(ret->data + out, start, end);
		line += width;
		if (newline != NULL) {
			ret->data[out++] = '\n';
			line++;
		}
	}
	if (ret->data != NULL)
		ret->data[ret->len = out] = '\0';
}

/* ---- where text may be cut -------------------------------------------------------------- */

/* At most this many combining marks stay together: some text consists of marks only. */
#define MARKS_MAX 32u

/* Invalid UTF-8 may consist of continuation bytes only: three steps are enough. */
static size_t down(const char *text, size_t at)
{
	for (int i = 0; i < 3 && at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80; i++)
		at--;
	return at;
}

static size_t up(const char *text, size_t len, size_t at)
{
	for (int i = 0; i < 3 && at < len && ((unsigned char)text[at] & 0xc0) == 0x80; i++)
		at++;
	return at;
}

static uint32_t decode(const char *text, size_t width)
{
	static const unsigned char first[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = (unsigned char)text[0] & first[width];

	for (size_t i = 1; i < width; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3fu);
	return code;
}

/* Whether the character is drawn with the one before it: accents, variants, skin tones, joiners. */
static bool is_joined(const char *text, size_t len)
{
	static const uint32_t ranges[][2] = {
		{ 0x0300, 0x036f }, { 0x0483, 0x0489 }, { 0x0591, 0x05bd },   { 0x064b, 0x065f },
		{ 0x093a, 0x094f }, { 0x0e31, 0x0e3a }, { 0x0e47, 0x0e4e },   { 0x1ab0, 0x1aff },
		{ 0x1dc0, 0x1dff }, { 0x200d, 0x200d }, { 0x20d0, 0x20ff },   { 0x3099, 0x309a },
		{ 0xfe00, 0xfe0f }, { 0xfe20, 0xfe2f }, { 0x1f3fb, 0x1f3ff }, { 0xe0100, 0xe01ef },
	};
	size_t width = utf8_sequence(text, len);
	uint32_t code = width > 1 ? decode(text, width) : 0;

	for (size_t i = 0; i < ARRAY_LEN(ranges) && code >= ranges[0][0]; i++)
		if (code >= ranges[i][0] && code <= ranges[i][1])
			return true;
	return false;
}

/* Whether a zero width joiner ends at `at`: the next character is drawn with the previous one. */
static bool is_after_joiner(const char *text, size_t at)
{
	return at >= 3 && memcmp(text + at - 3, "\xe2\x80\x8d", 3) == 0;
}

size_t text_boundary_down(const char *text, size_t len, size_t at)
{
	size_t first;

	if (at >= len)
		return len;
	first = at = down(text, at);
	for (size_t i = 0; i < MARKS_MAX && at > 0; i++) {
		if (!is_joined(text + at, len - at) && !is_after_joiner(text, at))
			return at;
		at = down(text, at - 1);
	}
	return at == 0 ? 0 : first;
}

size_t text_boundary_up(const char *text, size_t len, size_t at)
{
	size_t first = at = up(text, len, at);

	for (size_t i = 0; i < MARKS_MAX && at < len; i++) {
		if (!is_joined(text + at, len - at) && !is_after_joiner(text, at))
			return at;
		at = up(text, len, at + 1);
	}
	return at == len ? len : first;
}

void text_count(uint64_t count, char ret[TEXT_COUNT_SIZE])
{
	char digits[24];
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (int i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0)
			ret[used++] = ',';
		ret[used++] = digits[i];
	}
	ret[used] = '\0';
}

void text_cut(const char *text, size_t len, size_t max, struct buf *ret)
{
	/* The mark has 26 bytes without its number, which has at most 20. */
	const size_t mark_max = 48;
	size_t head, tail;
	struct err ignored;

	if (len <= max) {
		put(ret, text, len);
		return;
	}
	if (max < 2 * mark_max) {
		put(ret, text, text_boundary_down(text, len, max));
		return;
	}
	head = text_boundary_down(text, len, (max - mark_max) / 2);
	tail = text_boundary_up(text, len, len - (max - mark_max) / 2);
	put(ret, text, head);
	(void)buf_addf(ret, &ignored, "\n\xe2\x80\xa6 %zu bytes left out \xe2\x80\xa6\n",
		       tail - head);
	put(ret, text + tail, len - tail);
}

void text_show_path(const char *path, struct buf *ret)
{
	size_t len = strlen(path);
	struct err ignored;

	buf_clear(ret);
	if (fs_path_is_safe(path)) {
		put(ret, path, len);
		return;
	}
	for (size_t at = 0; at < len;) {
		unsigned char byte = (unsigned char)path[at];
		size_t width = utf8_sequence(path + at, len - at);

		if (byte == '\\')
			put(ret, "\\\\", 2);
		else if (width == 0 || byte < 0x20 || byte == 0x7f)
			(void)buf_addf(ret, &ignored, "\\x%02x", byte);
		else
			put(ret, path + at, width);
		at += width > 0 ? width : 1;
	}
}
