/*
 * text.c - small functions on text that many files need.
 *
 * Runs in:  every program.
 * Reads:    any text.
 * Never:    stores or changes its arguments.
 */
#include "base/text.h"

#include <string.h>
#include <strings.h>

#include "base/buf.h"

int text_hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

size_t text_run(const char *text, size_t len, char c)
{
	size_t n = 0;

	while (n < len && text[n] == c)
		n++;
	return n;
}

bool text_ends_with(const char *text, const char *end)
{
	const size_t len = strlen(text), tail = strlen(end);

	return len > tail && strcmp(text + len - tail, end) == 0;
}

bool text_is_plain(const char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

const char *text_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

bool text_is_within(const char *path, const char *folder)
{
	const size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 && (path[len] == '\0' || path[len] == '/');
}

bool text_is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

int text_compare(const void *left, const void *right)
{
	return strcmp(*(char *const *)left, *(char *const *)right);
}

int text_quote_for_shell(const char *text, struct buf *ret, struct err *err)
{
	if (buf_addc(ret, '\'', err) < 0)
		return (int)err->code;
	for (; *text != '\0'; text++)
		if ((*text == '\'' ? buf_adds(ret, "'\\''", err) : buf_addc(ret, *text, err)) < 0)
			return (int)err->code;
	return buf_addc(ret, '\'', err);
}

bool text_header_value(const char *line, size_t len, const char *name, char *ret, size_t size)
{
	const size_t name_len = strlen(name);

	if (len <= name_len || strncasecmp(line, name, name_len) != 0 || line[name_len] != ':')
		return false;
	line += name_len + 1;
	len -= name_len + 1;
	while (len > 0 && (line[0] == ' ' || line[0] == '\t')) {
		line++;
		len--;
	}
	while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == '\n' || line[len - 1] == ' '))
		len--;
	if (len >= size || memchr(line, '\0', len) != NULL)
		return false;
	memcpy(ret, line, len);
	ret[len] = '\0';
	return true;
}
