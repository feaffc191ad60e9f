/*
 * width.c - counts the terminal columns of a text.
 *
 * Runs in:  reckon.
 * Reads:    text that is already escaped; the locale.
 * Never:    writes.
 */
#include "cli/term/width.h"

#include <langinfo.h>
#include <locale.h>
#include <string.h>
#include <sys/ioctl.h>
#include <wchar.h>

#include "base/utf8.h"

void term_width_locale(void)
{
	if (setlocale(LC_CTYPE, "") == NULL || strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		(void)setlocale(LC_CTYPE, "C.UTF-8");
}

static wchar_t decode(const char *text, size_t n)
{
	const unsigned char *byte = (const unsigned char *)text;
	const unsigned char first_bits[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	wchar_t value = byte[0] & first_bits[n];

	for (size_t i = 1; i < n; i++)
		value = (wchar_t)((value << 6) | (byte[i] & 0x3f));
	return value;
}

static size_t width_of(const char *text, size_t n)
{
	const int columns = n == 0 ? 1 : wcwidth(decode(text, n));

	return columns < 0 ? 1 : (size_t)columns;
}

size_t term_width_fit(const char *text, size_t len, size_t columns, size_t *ret_width)
{
	size_t at = 0, used = 0;

	while (at < len) {
		const size_t n = utf8_sequence(text + at, len - at);
		const size_t wide = width_of(text + at, n);

		if (used + wide > columns)
			break;
		used += wide;
		at += n > 0 ? n : 1;
	}
	*ret_width = used;
	return at;
}

size_t term_width(const char *text, size_t len)
{
	size_t width;

	(void)term_width_fit(text, len, (size_t)-1, &width);
	return width;
}

size_t term_width_shown(const char *text, size_t len)
{
	const char *const end = text + len;
	size_t width = 0;

	while (text < end) {
		const char *escape = memchr(text, 0x1b, (size_t)(end - text)), *close;

		width += term_width(text, (size_t)((escape != NULL ? escape : end) - text));
		if (escape == NULL || escape + 1 == end)
			break;
		/* Skip colours "ESC [ … m" and hyperlinks "ESC ] … ESC \". */
		close = escape[1] == '[' ? memchr(escape, 'm', (size_t)(end - escape))
					 : memchr(escape + 1, '\\', (size_t)(end - escape) - 1);
		if (close == NULL)
			break;
		text = close + 1;
	}
	return width;
}

void term_width_window(int fd, size_t *ret_columns, size_t *ret_lines)
{
	struct winsize size;

	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		memset(&size, 0, sizeof(size));
	*ret_columns = size.ws_col > 0 ? size.ws_col : 80;
	*ret_lines = size.ws_row > 0 ? size.ws_row : 24;
}
