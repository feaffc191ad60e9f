/*
 * prose.c - separates the prose of an answer from code and addresses.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    Markdown of a model, which may be any text.
 * Never:    reads outside the text.
 */
#include "agent/claims/prose.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/text.h"

#define FENCE_MIN 3u
#define INLINE_WORDS_MAX 8u /* letters in a span such as `1,234 kg` */
#define TAG_MAX 200u
#define SPAN_MAX ((size_t)4096) /* length of a code span inside a line */

struct fence {
	char mark;
	size_t len; /* 0: no fence is open */
	bool hides;
};

static void hide(struct prose *prose, size_t from, size_t to)
{
	memset(prose->hidden + from, 1, (to - from) * sizeof(*prose->hidden));
}

static size_t indent_of(const char *line, size_t len)
{
	return text_run(line, len, ' ');
}

/* ---- fences ---- */

/* A block with the name of a language is code; one without a name shows output. */
static bool is_output(const char *info, size_t len)
{
	static const char *const words[] = { "text", "txt",    "plain", "plaintext", "output",
					     "csv",  "console", "markdown", "md",    "json" };

	while (len > 0 && strchr(" \t\r`~", info[0]) != NULL) {
		info++;
		len--;
	}
	while (len > 0 && strchr(" \t\r", info[len - 1]) != NULL)
		len--;
	if (len == 0)
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == len && strncasecmp(words[i], info, len) == 0)
			return true;
	return false;
}

/* Whether the line is a fence or inside a fenced block. */
static bool take_fence(struct prose *prose, struct fence *fence, size_t from, size_t to)
{
	const char *line = prose->text + from;
	const size_t indent = indent_of(line, to - from);
	const char mark = from + indent < to ? line[indent] : '\0';
	const size_t run =
		mark == '`' || mark == '~' ? text_run(line + indent, to - from - indent, mark) : 0;

	if (fence->len > 0 && run >= fence->len && mark == fence->mark) {
		fence->len = 0;
		hide(prose, from, to);
		return true;
	}
	if (fence->len > 0) {
		if (fence->hides)
			hide(prose, from, to);
		return true;
	}
	if (run < FENCE_MIN)
		return false;
	*fence = (struct fence){ mark, run,
				 !is_output(line + indent + run, to - from - indent - run) };
	hide(prose, from, to);
	return true;
}

/* ---- inside a line ---- */

/* Whether a code span has a number, as `1,234.5 kg`; `x = 3` and `head(5)` are code. */
static bool is_number(const char *text, size_t len)
{
	size_t digits = 0, letters = 0;

	for (size_t i = 0; i < len; i++) {
		const char c = text[i];

		digits += c >= '0' && c <= '9';
		letters += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (strchr("=()[]{}_/\\:;<>*\"'", c) != NULL)
			return false;
		if (letters > 0 && digits == 0)
			return false;
	}
	return digits > 0 && letters <= INLINE_WORDS_MAX;
}

static size_t take_span(struct prose *prose, size_t from, size_t to)
{
	const char *text = prose->text;
	const size_t run = text_run(text + from, to - from, '`');
	const size_t end = to - from > SPAN_MAX ? from + SPAN_MAX : to;

	for (size_t at = from + run; at < end;) {
		const size_t other = text_run(text + at, to - at, '`');

		if (other == run) {
			if (!is_number(text + from + run, at - from - run))
				hide(prose, from, at + run);
			return at + run;
		}
		at += other > 0 ? other : 1;
	}
	return from + run;
}

static size_t address_end(const char *text, size_t at, size_t to, const char *ends)
{
	while (at < to && strchr(ends, text[at]) == NULL)
		at++;
	return at;
}

static bool begins(const char *text, size_t len, const char *word)
{
	const size_t n = strlen(word);

	return len >= n && strncasecmp(text, word, n) == 0;
}

/* The end of an address, a link's target or a tag that begins here; `at` if there is none. */
static size_t skip_address(const char *text, size_t at, size_t to)
{
	static const char *const schemes[] = { "http://", "https://", "sandbox:", "www.",
					       "file:",	  "mailto:" };
	size_t end;

	if (begins(text + at, to - at, "]("))
		return address_end(text, at + 2, to, ")\n");
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (begins(text + at, to - at, schemes[i]))
			return address_end(text, at, to, " \t\r\n)]>\"'`|");
	if (text[at] != '<' || at + 1 >= to ||
	    (strchr("/!?", text[at + 1]) == NULL && (text[at + 1] | 0x20) < 'a'))
		return at;
	end = address_end(text, at, at + TAG_MAX < to ? at + TAG_MAX : to, ">");
	return end < to && text[end] == '>' ? end + 1 : at;
}

static void take_line(struct prose *prose, size_t from, size_t to)
{
	for (size_t at = from; at < to;) {
		const size_t end = prose->text[at] == '`' ? at
							   : skip_address(prose->text, at, to);

		if (prose->text[at] == '`') {
			at = take_span(prose, at, to);
		} else if (end > at) {
			hide(prose, at, end);
			at = end;
		} else {
			at++;
		}
	}
}

/* ---- lists and tables ---- */

struct list {
	size_t items, rows;
};

static bool is_item(const char *line, size_t len)
{
	size_t digits = 0;

	if (len > 1 && strchr("-*+", line[0]) != NULL)
		return line[1] == ' ' || line[1] == '\t';
	while (digits < len && line[digits] >= '0' && line[digits] <= '9')
		digits++;
	return digits > 0 && digits + 1 < len && strchr(".)", line[digits]) != NULL &&
	       line[digits + 1] == ' ';
}

static void note(struct prose *prose, size_t count)
{
	if (count > 1 && prose->count_count < PROSE_COUNTS_MAX)
		prose->counts[prose->count_count++] = count;
}

static void end_list(struct prose *prose, struct list *list)
{
	note(prose, list->items);
	/* Do not count the header and the line below it. */
	note(prose, list->rows > 2 ? list->rows - 2 : 0);
	*list = (struct list){ 0 };
}

static void count_line(struct prose *prose, struct list *list, const char *line, size_t len)
{
	if (len == 0 || line[0] == ' ' || line[0] == '\t' || line[0] == '\r')
		return; /* a continued item, or a line between two items */
	if (is_item(line, len)) {
		list->items++;
	} else if (line[0] == '|') {
		list->rows++;
	} else {
		end_list(prose, list);
	}
}

void prose_init(struct prose *prose, const char *text, size_t len)
{
	struct fence fence = { 0 };
	struct list list = { 0 };

	*prose = (struct prose){ .text = text, .len = len };
	prose->hidden = mem_new0(len + 1, sizeof(*prose->hidden));
	for (size_t from = 0; from < len;) {
		const char *newline = memchr(text + from, '\n', len - from);
		const size_t to = newline != NULL ? (size_t)(newline - text) : len;

		if (!take_fence(prose, &fence, from, to)) {
			take_line(prose, from, to);
			count_line(prose, &list, text + from, to - from);
		}
		from = to + 1;
	}
	end_list(prose, &list);
}

void prose_done(struct prose *prose)
{
	free(prose->hidden);
	prose->hidden = NULL;
}

bool prose_counts(const struct prose *prose, double value)
{
	for (size_t i = 0; i < prose->count_count; i++)
		if ((double)prose->counts[i] == value)
			return true;
	return false;
}
