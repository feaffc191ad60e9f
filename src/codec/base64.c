/*
 * base64.c - RFC 4648 base 64.
 *
 * Runs in:  trusted processes and the command line.
 * Reads:    hostile bytes.
 * Never:    accepts two spellings of the same bytes.
 */
#include "codec/base64.h"

#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_encode(const void *bytes, size_t len, struct buf *ret, struct err *err)
{
	const unsigned char *in = bytes;
	char *out;

	if (len > (size_t)-1 / 2)
		return err_set(err, ERR_LIMIT, "too long for base 64");
	if (buf_reserve(ret, (len + 2) / 3 * 4, &out, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < len; i += 3) {
		size_t have = len - i < 3 ? len - i : 3;
		unsigned bits = (unsigned)in[i] << 16;

		if (have > 1)
			bits |= (unsigned)in[i + 1] << 8;
		if (have > 2)
			bits |= in[i + 2];
		out[0] = alphabet[bits >> 18];
		out[1] = alphabet[bits >> 12 & 63];
		out[2] = have > 1 ? alphabet[bits >> 6 & 63] : '=';
		out[3] = have > 2 ? alphabet[bits & 63] : '=';
		out += 4;
	}
	*out = '\0';
	ret->len += (len + 2) / 3 * 4;
	return 0;
}

/* 0..63, or -1 if the character is not in the alphabet. */
static int digit(char c)
{
	const char *at = c != '\0' ? strchr(alphabet, c) : NULL;

	return at != NULL ? (int)(at - alphabet) : -1;
}

/* Decodes four characters into 1..3 bytes; 0 if they are invalid. */
static size_t decode_group(const char *text, bool is_last, unsigned char ret[3])
{
	size_t count = 3;
	unsigned bits = 0;

	if (is_last && text[3] == '=')
		count = text[2] == '=' ? 1 : 2;
	for (size_t i = 0; i < 4; i++) {
		int value = i <= count ? digit(text[i]) : 0;

		if (value < 0)
			return 0;
		bits = bits << 6 | (unsigned)value;
	}
	/* Unused bits must be zero, else several texts would decode to the same bytes. */
	if ((count == 1 && (bits & 0xffff) != 0) || (count == 2 && (bits & 0xff) != 0))
		return 0;
	ret[0] = (unsigned char)(bits >> 16);
	ret[1] = (unsigned char)(bits >> 8 & 0xff);
	ret[2] = (unsigned char)(bits & 0xff);
	return count;
}

/* The number of bytes that a valid text decodes to. Excludes padding, because the caller compares
 * it with its limit. */
static size_t decoded_len(const char *text, size_t len)
{
	const size_t padding =
		len == 0 || text[len - 1] != '=' ? 0 : text[len - 2] != '=' ? 1 : 2;

	return len / 4 * 3 - padding;
}

int base64_decode(const char *text, size_t len, struct buf *ret, struct err *err)
{
	char *out;
	size_t used = 0;

	if (len % 4 != 0)
		return err_set(err, ERR_INVALID, "base 64 of a length that is not a multiple of 4");
	if (buf_reserve(ret, decoded_len(text, len), &out, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < len; i += 4) {
		unsigned char group[3];
		size_t count = decode_group(text + i, i + 4 == len, group);

		if (count == 0) {
			ret->data[ret->len] = '\0';
			return err_set(err, ERR_INVALID, "not base 64 near byte %zu", i);
		}
		memcpy(out + used, group, count);
		used += count;
	}
	ret->len += used;
	ret->data[ret->len] = '\0';
	return 0;
}
