/*
 * utf8.c - strict UTF-8.
 *
 * Runs in:  every process.
 * Reads:    hostile bytes.
 * Never:    reads past the length it was given.
 */
#include "base/utf8.h"

#include <stdint.h>

static size_t expected(unsigned char lead)
{
	if (lead < 0x80)
		return 1;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 2;
	if (lead >= 0xe0 && lead <= 0xef)
		return 3;
	if (lead >= 0xf0 && lead <= 0xf4)
		return 4;
	return 0;
}

/* Whether `second` may follow `lead` (Unicode 15, table 3-7). */
static bool second_fits(unsigned char lead, unsigned char second)
{
	unsigned char low = 0x80, high = 0xbf;

	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	return second >= low && second <= high;
}

size_t utf8_sequence(const char *text, size_t len)
{
	const unsigned char *byte = (const unsigned char *)text;
	size_t want;

	if (len == 0)
		return 0;
	want = expected(byte[0]);
	if (want == 0 || want > len)
		return 0;
	if (want > 1 && !second_fits(byte[0], byte[1]))
		return 0;
	for (size_t i = 2; i < want; i++)
		if ((byte[i] & 0xc0) != 0x80)
			return 0;
	return want;
}

bool utf8_is_valid(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		size_t n = utf8_sequence(text + i, len - i);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

size_t utf8_incomplete_tail(const char *text, size_t len)
{
	const unsigned char *byte = (const unsigned char *)text;

	for (size_t back = 1; back <= 3 && back <= len; back++) {
		unsigned char lead = byte[len - back];

		if ((lead & 0xc0) == 0x80)
			continue;
		if (expected(lead) <= back)
			return 0;
		if (back >= 2 && !second_fits(lead, byte[len - back + 1]))
			return 0;
		return back;
	}
	return 0;
}

size_t utf8_count(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}
