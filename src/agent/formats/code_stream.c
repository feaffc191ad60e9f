/*
 * code_stream.c - extracts the code from a call's arguments while they arrive.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    incomplete output of a model.
 * Never:    returns a part of an escape or of a character.
 */
#include "agent/formats/code_stream.h"

#include <string.h>

#include "agent/conversation/model.h"
#include "base/cleanup.h"
#include "base/utf8.h"

static size_t skip_blank(const char *text, size_t at, size_t len)
{
	while (at < len && memchr(" \t\r\n", text[at], 4) != NULL)
		at++;
	return at;
}

/* Skips white space and `word`. 1: done; -1: something else is there; 0: more input is needed. */
static int take_word(const char *text, size_t *at, size_t len, const char *word)
{
	const size_t start = skip_blank(text, *at, len), size = strlen(word);
	const size_t n = len - start < size ? len - start : size;

	if (memcmp(text + start, word, n) != 0)
		return -1;
	if (n < size)
		return 0;
	*at = start + size;
	return 1;
}

/* Skips `{"code": "`. */
static void find_text(struct code_stream *stream, const char *args, size_t len)
{
	static const char *const words[] = { "{", "\"" MODEL_CODE "\"", ":", "\"" };
	size_t at = 0;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const int found = take_word(args, &at, len, words[i]);

		stream->is_over = found < 0;
		if (found <= 0)
			return;
	}
	stream->in_text = true;
	stream->at = at;
}

static bool read_hex(const char *text, uint32_t *ret)
{
	*ret = 0;
	for (size_t i = 0; i < 4; i++) {
		const char c = text[i];
		const int digit = c >= '0' && c <= '9'	 ? c - '0'
				  : c >= 'a' && c <= 'f' ? c - 'a' + 10
				  : c >= 'A' && c <= 'F' ? c - 'A' + 10
							 : -1;

		if (digit < 0)
			return false;
		*ret = *ret << 4 | (uint32_t)digit;
	}
	return true;
}

static int add_letter(uint32_t code, struct buf *ret, struct err *err)
{
	char bytes[4];
	size_t len = 0;

	if (code < 0x80) {
		bytes[len++] = (char)code;
	} else if (code < 0x800) {
		bytes[len++] = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		bytes[len++] = (char)(0xe0 | code >> 12);
		bytes[len++] = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		bytes[len++] = (char)(0xf0 | code >> 18);
		bytes[len++] = (char)(0x80 | (code >> 12 & 0x3f));
		bytes[len++] = (char)(0x80 | (code >> 6 & 0x3f));
	}
	if (code >= 0x80)
		bytes[len++] = (char)(0x80 | (code & 0x3f));
	return buf_add(ret, bytes, len, err);
}

/*
 * The length of a \\u escape, with the low surrogate if it needs one; 0: more input is needed; -1:
 * invalid.
 */
static int read_unicode(const char *text, size_t len, uint32_t *ret)
{
	uint32_t low;

	if (len < 6)
		return 0;
	if (!read_hex(text + 2, ret) || (*ret >= 0xdc00 && *ret <= 0xdfff) || *ret == 0)
		return -1;
	if (*ret < 0xd800 || *ret > 0xdbff)
		return 6;
	if (len < 12)
		return 0;
	if (text[6] != '\\' || text[7] != 'u' || !read_hex(text + 8, &low) || low < 0xdc00 ||
	    low > 0xdfff)
		return -1;
	*ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
	return 12;
}

/* Decodes one escape: its length; 0: more input is needed; -1: invalid, or the buffer is full. */
static int take_escape(const char *text, size_t len, struct buf *ret, struct err *err)
{
	static const char names[] = "\"\\/bfnrt", bytes[] = "\"\\/\b\f\n\r\t";
	const char *known;
	uint32_t code;
	int size;

	if (len < 2)
		return 0;
	known = memchr(names, text[1], sizeof(names) - 1);
	if (known != NULL)
		return buf_addc(ret, bytes[known - names], err) < 0 ? -1 : 2;
	if (text[1] != 'u')
		return -1;
	size = read_unicode(text, len, &code);
	if (size > 0 && add_letter(code, ret, err) < 0)
		return -1;
	return size;
}

int code_stream_feed(struct code_stream *stream, const char *args, size_t len, struct buf *ret,
		     struct err *err)
{
	if (!stream->in_text && !stream->is_over)
		find_text(stream, args, len);
	while (stream->in_text && !stream->is_over && stream->at < len) {
		const char *from = args + stream->at, *end = args + len;
		size_t n = 0;
		int size;

		while (from + n < end && from[n] != '"' && from[n] != '\\')
			n++;
		if (from + n == end)
			n -= utf8_incomplete_tail(from, n);
		if (n > 0 && buf_add(ret, from, n, err) < 0)
			return (int)err->code;
		stream->at += n;
		from += n;
		if (from == end || (*from != '"' && *from != '\\'))
			return 0;
		size = *from == '"' ? -1 : take_escape(from, (size_t)(end - from), ret, err);
		stream->is_over = size < 0;
		if (size <= 0)
			return 0;
		stream->at += (size_t)size;
	}
	return 0;
}
