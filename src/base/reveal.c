/*
 * reveal.c - makes every character of a text visible.
 *
 * Runs in:  reckon.
 * Reads:    hostile text.
 * Never:    passes a character that a terminal may interpret or hide.
 */
#include "base/reveal.h"

#include "base/cleanup.h"
#include "base/utf8.h"

/*
 * Unicode 15: Cc, Cf, Zl, Zp, Zs (except the space and the ideographic space, which is wide), Co,
 * noncharacters, Default_Ignorable_Code_Point, and blanks in other categories. Sorted.
 */
static const struct {
	uint32_t first, last;
} hidden[] = {
	{ 0x00, 0x1f },	      { 0x7f, 0xa0 },	    { 0xad, 0xad },
	{ 0x34f, 0x34f },     { 0x600, 0x605 },	    { 0x61c, 0x61c },
	{ 0x6dd, 0x6dd },     { 0x70f, 0x70f },	    { 0x890, 0x891 },
	{ 0x8e2, 0x8e2 },     { 0x115f, 0x1160 },   { 0x1680, 0x1680 },
	{ 0x17b4, 0x17b5 },   { 0x180b, 0x180f },   { 0x2000, 0x200f },
	{ 0x2028, 0x202f },   { 0x205f, 0x206f },   { 0x2800, 0x2800 },
	{ 0x3164, 0x3164 },   { 0xd800, 0xf8ff },   { 0xfdd0, 0xfdef },
	{ 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 },
	{ 0xfff0, 0xfffb },   { 0xfffe, 0xffff },   { 0x110bd, 0x110bd },
	{ 0x110cd, 0x110cd }, { 0x13430, 0x13455 }, { 0x1bca0, 0x1bca3 },
	{ 0x1d159, 0x1d159 }, { 0x1d173, 0x1d17a }, { 0x1fffe, 0x1ffff },
	{ 0x2fffe, 0x2ffff }, { 0x3fffe, 0x10ffff }, /* tags, selectors, private use */
};

bool reveal_is_hidden(uint32_t character)
{
	size_t lo = 0, hi = ARRAY_LEN(hidden);

	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;

		if (character > hidden[mid].last)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < ARRAY_LEN(hidden) && character >= hidden[lo].first;
}

uint32_t reveal_decode(const char *sequence, size_t n)
{
	static const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	const unsigned char *byte = (const unsigned char *)sequence;
	uint32_t value = byte[0] & first_bits[n];

	for (size_t i = 1; i < n; i++)
		value = value << 6 | (byte[i] & 0x3fu);
	return value;
}

int reveal_character(uint32_t character, struct buf *ret, struct err *err)
{
	return buf_addf(ret, err, character > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)character);
}

static int show_escape(const char *text, size_t n, struct buf *ret, struct err *err)
{
	const uint32_t character = n > 0 ? reveal_decode(text, n) : (unsigned char)text[0];

	if (character == '\t')
		return buf_adds(ret, "\\t", err);
	if (character == '\r')
		return buf_adds(ret, "\\r", err);
	if (character <= 0xff)
		return buf_addf(ret, err, "\\x%02x", (unsigned)character);
	return reveal_character(character, ret, err);
}

int reveal_line(const char *text, size_t len, bool coloured, struct buf *ret, struct err *err)
{
	size_t at = 0;

	for (; at < len && text[at] == '\t'; at++)
		if (buf_adds(ret, "    ", err) < 0)
			return (int)err->code;
	while (at < len) {
		const size_t n = utf8_sequence(text + at, len - at);

		if (n > 0 && !reveal_is_hidden(reveal_decode(text + at, n))) {
			if (buf_add(ret, text + at, n, err) < 0)
				return (int)err->code;
		} else if ((coloured && buf_adds(ret, "\x1b[7m", err) < 0) ||
			   show_escape(text + at, n, ret, err) < 0 ||
			   (coloured && buf_adds(ret, "\x1b[0m", err) < 0)) {
			return (int)err->code;
		}
		at += n > 0 ? n : 1;
	}
	return 0;
}
