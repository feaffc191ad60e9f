/*
 * edit.c - holds a cell of several lines in a line editor that supports only one.
 *
 * Runs in:  reckon repl.
 * Reads:    what the user types and pastes.
 * Never:    lets a pad get into a cell.
 */
#include "cli/repl/edit.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/utf8.h"

#define SPACE L'\x2007'
#define BAR L'\x2506'
#define UNKNOWN L'\xfffd'

static wchar_t decode(const char *text, size_t n)
{
	static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	wchar_t value = (unsigned char)text[0] & first_bits[n];

	for (size_t i = 1; i < n; i++)
		value = (wchar_t)((value << 6) | ((unsigned char)text[i] & 0x3f));
	return value;
}

wchar_t *edit_pad(const char *text, size_t len, size_t pad)
{
	size_t lines = 0, out = 0;
	wchar_t *line;

	for (size_t i = 0; i < len; i++)
		lines += text[i] == '\n';
	line = calloc(len + lines * pad + 1, sizeof(*line));
	for (size_t at = 0; line != NULL && at < len;) {
		const size_t n = utf8_sequence(text + at, len - at);

		line[out++] = n > 0 ? decode(text + at, n) : UNKNOWN;
		if (text[at] == '\n')
			for (size_t i = 0; i < pad; i++)
				line[out++] = i + 2 == pad ? BAR : SPACE;
		at += n > 0 ? n : 1;
	}
	return line;
}

static int add_code(wchar_t code, struct buf *ret, struct err *err)
{
	const unsigned value = (unsigned)code;
	char text[4];
	size_t n = 0;

	if (value < 0x80) {
		text[n++] = (char)value;
	} else if (value < 0x800) {
		text[n++] = (char)(0xc0 | value >> 6);
		text[n++] = (char)(0x80 | (value & 0x3f));
	} else if (value < 0x10000) {
		text[n++] = (char)(0xe0 | value >> 12);
		text[n++] = (char)(0x80 | (value >> 6 & 0x3f));
		text[n++] = (char)(0x80 | (value & 0x3f));
	} else {
		text[n++] = (char)(0xf0 | value >> 18);
		text[n++] = (char)(0x80 | (value >> 12 & 0x3f));
		text[n++] = (char)(0x80 | (value >> 6 & 0x3f));
		text[n++] = (char)(0x80 | (value & 0x3f));
	}
	return buf_add(ret, text, n, err);
}

int edit_unpad(const wchar_t *line, size_t len, struct buf *ret, struct err *err)
{
	for (size_t i = 0; i < len; i++) {
		if (line[i] == SPACE || (line[i] == BAR && i > 0 && line[i - 1] == SPACE))
			continue;
		if (add_code(line[i], ret, err) < 0)
			return (int)err->code;
	}
	return 0;
}

struct edit_place edit_place_at(const wchar_t *line, size_t len, size_t cursor, size_t pad)
{
	struct edit_place place = { .begin = cursor, .end = cursor };

	while (place.begin > 0 && line[place.begin - 1] != L'\n')
		place.begin--;
	if (place.begin > 0)
		while (place.pad < pad && place.begin < len &&
		       (line[place.begin] == SPACE || line[place.begin] == BAR)) {
			place.begin++;
			place.pad++;
		}
	if (place.end < place.begin)
		place.end = place.begin;
	while (place.end < len && line[place.end] != L'\n')
		place.end++;
	return place;
}

size_t edit_indent(const wchar_t *line, const struct edit_place *place)
{
	size_t at = place->begin;

	while (at < place->end && (line[at] == L' ' || line[at] == L'\t'))
		at++;
	return at - place->begin;
}
