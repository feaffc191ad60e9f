/*
 * fenced.c - finds code that a model writes as a fenced block in its text.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    text of a model.
 * Never:    changes it.
 */
#include "agent/formats/fenced.h"

#include <string.h>

#include "languages/languages.h"

#define INDENT_MAX 3u

struct fence_line {
	char mark;
	size_t count;
	const char *info;
	size_t info_len;
};

static size_t line_length(const char *text, size_t len)
{
	const char *end = memchr(text, '\n', len);

	return end != NULL ? (size_t)(end - text) : len;
}

/* Whether the line is a fence. */
static bool read_fence(const char *line, size_t len, struct fence_line *ret)
{
	size_t at = 0;

	while (at < len && at <= INDENT_MAX && line[at] == ' ')
		at++;
	if (at > INDENT_MAX || at == len || (line[at] != '`' && line[at] != '~'))
		return false;
	ret->mark = line[at];
	for (ret->count = 0; at < len && line[at] == ret->mark; at++)
		ret->count++;
	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	while (len > at && (line[len - 1] == ' ' || line[len - 1] == '\t' || line[len - 1] == '\r'))
		len--;
	ret->info = line + at;
	ret->info_len = len - at;
	/* ```x``` inside a line is not a fence. */
	return ret->count >= 3 && memchr(ret->info, '`', ret->info_len) == NULL;
}

static bool is_language(const struct fence_line *fence, const char *language)
{
	const struct language *labelled;
	size_t len = 0;

	while (len < fence->info_len && strchr(" \t{:,", fence->info[len]) == NULL)
		len++;
	if (len == 0)
		return true;
	labelled = language_find_label(fence->info, len);
	return labelled != NULL && strcmp(labelled->name, language) == 0;
}

static bool closes(const struct fence_line *open, const char *line, size_t len)
{
	struct fence_line fence;

	return read_fence(line, len, &fence) && fence.mark == open->mark &&
	       fence.count >= open->count && fence.info_len == 0;
}

/* Finds the end of the block that opens at `start`. */
static void find_end(const char *text, size_t len, const struct fence_line *open,
		     struct fenced *ret)
{
	size_t at = ret->start + line_length(text + ret->start, len - ret->start);

	at += at < len;
	ret->code = at;
	while (at < len) {
		const size_t line = line_length(text + at, len - at);

		if (closes(open, text + at, line)) {
			ret->code_len = at - ret->code;
			ret->end = at + line + (at + line < len);
			ret->complete = true;
			return;
		}
		at += line + (at + line < len);
	}
	ret->code_len = len - ret->code;
	ret->end = len;
	ret->complete = false;
}

bool fenced_find(const char *text, size_t len, const char *language, struct fenced *ret)
{
	size_t at = 0;

	while (at < len) {
		const size_t line = line_length(text + at, len - at);
		struct fence_line fence;

		if (read_fence(text + at, line, &fence)) {
			struct fenced found = { .start = at };

			find_end(text, len, &fence, &found);
			if (is_language(&fence, language)) {
				*ret = found;
				return true;
			}
			at = found.end;
			continue;
		}
		at += line + (at + line < len);
	}
	return false;
}

size_t fenced_prose(const char *text, size_t len, const char *language)
{
	struct fenced found;
	size_t line = len, at;

	if (fenced_find(text, len, language, &found))
		return found.start;
	while (line > 0 && text[line - 1] != '\n')
		line--;
	for (at = line; at < len && text[at] == ' ';)
		at++;
	/* The last line is only white space so far, or may become a fence. */
	return at == len || text[at] == '`' || text[at] == '~' ? line : len;
}
