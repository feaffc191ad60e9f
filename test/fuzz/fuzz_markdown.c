/*
 * fuzz_markdown.c - hostile answers in Markdown.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: a width, a piece size, and an answer.
 * Never:    keeps state between inputs.
 *
 * Besides memory safety: a terminal gets valid UTF-8, no control characters but newlines and those
 * of colours and links, only links whose address contains the shown text, and a newline at the end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/markdown/markdown.h"
#include "cli/term/width.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool condition)
{
	if (!condition)
		abort();
}

/* Returns the position after "ESC [ digits m". */
static const char *skip_colour(const char *at)
{
	at += 2;
	while ((*at >= '0' && *at <= '9') || *at == ';')
		at++;
	expect(*at == 'm');
	return at + 1;
}

/* Returns the position after "ESC ] 8 ; ; ADDRESS ESC \"; the shown part of it comes next. */
static const char *skip_address(const char *at)
{
	const char *address = at + 5, *end, *shown, *close;

	expect(strncmp(at, "\x1b]8;;", 5) == 0);
	end = strstr(address, "\x1b\\");
	expect(end != NULL);
	if (end == address)
		return end + 2;
	expect(strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0);
	for (const char *byte = address; byte < end; byte++)
		expect((unsigned char)*byte > 0x20 && (unsigned char)*byte < 0x7f);
	shown = end + 2;
	close = strchr(shown, '\x1b');
	expect(close != NULL);
	/* The shown text may be a part of the address, where a line ends. */
	for (const char *part = address; part < end; part++)
		if ((size_t)(end - part) >= (size_t)(close - shown) &&
		    memcmp(part, shown, (size_t)(close - shown)) == 0)
			return shown;
	abort();
}

static void check(const char *text, size_t len)
{
	const char *at = text;

	expect(utf8_is_valid(text, len) && strlen(text) == len);
	expect(len == 0 || text[len - 1] == '\n');
	while (*at != '\0') {
		if (*at == 0x1b) {
			at = at[1] == '[' ? skip_colour(at) : skip_address(at);
			continue;
		}
		expect((unsigned char)*at >= 0x20 || *at == '\n');
		expect(*at != 0x7f && strncmp(at, "\xc2\x9b", 2) != 0);
		at++;
	}
}

static void draw(const char *text, size_t len, size_t width, size_t piece, struct buf *ret)
{
	struct markdown *markdown = markdown_new(NULL, NULL);
	struct err err;

	markdown_set_width(markdown, width);
	for (size_t at = 0; at < len; at += piece) {
		struct buf preview = BUF_INIT((size_t)64 * 1024 * 1024);

		expect(markdown_add(markdown, text + at, len - at < piece ? len - at : piece, ret,
				    &err) == 0);
		expect(markdown_preview(markdown, 10, &preview, &err) == 0);
		if (preview.len > 0) {
			expect(buf_addc(&preview, '\n', &err) == 0);
			check(buf_text(&preview), preview.len);
		}
		buf_done(&preview);
	}
	expect(markdown_end(markdown, ret, &err) == 0);
	markdown_free(markdown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf drawn = BUF_INIT((size_t)256 * 1024 * 1024);

	if (size < 2)
		return 0;
	term_width_locale();
	draw((const char *)data + 2, size - 2, 20 + data[0] % 100u, 1 + data[1] % 64u, &drawn);
	check(buf_text(&drawn), drawn.len);
	buf_done(&drawn);
	return 0;
}
