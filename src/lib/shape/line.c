/*
 * line.c - cleans one line of output: blobs, excessive length, progress bars.
 *
 * Runs in:  libreckon.
 * Reads:    lines of a hostile program, without control characters.
 * Never:    reads a byte more than a fixed number of times, or splits a character.
 */
#include "lib/shape/line.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "lib/shape/shape.h"
#include "lib/record/text.h"

#define BLOCK_WIDTH_MIN 60u /* minimum width of a base64 line in a block */
#define URI_BLOB_MIN 64u
#define LINE_HEAD 1200u /* characters kept at the beginning of a line that is too long */
#define LINE_TAIL 700u

static void add(struct buf *ret, const char *bytes, size_t len)
{
	struct err ignored; /* cannot fail: shape.c reserves space for every line */

	(void)buf_add(ret, bytes, len, &ignored);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t';
}

/* ---- blobs ------------------------------------------------------------------------------ */

struct letters {
	/* hex: a-f or A-F, also counted in lower and upper */
	size_t lower, upper, digits, hex, others;
};

static bool count_letter(struct letters *letters, char c)
{
	if (c >= 'a' && c <= 'z')
		letters->lower++;
	else if (c >= 'A' && c <= 'Z')
		letters->upper++;
	else if (is_digit(c))
		letters->digits++;
	else if (c == '+' || c == '/' || c == '-' || c == '_')
		letters->others++;
	else
		return false;
	if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
		letters->hex++;
	return true;
}

/* Random bytes contain all kinds of letters; a long word, path or ruler does not. */
static bool is_base64_mix(const struct letters *letters, size_t len)
{
	return letters->lower > len / 16 && letters->upper > len / 16 &&
	       letters->digits > len / 64 && letters->others < len / 8;
}

static bool is_hex_mix(const struct letters *letters, size_t len)
{
	return letters->hex + letters->digits == len && letters->hex > len / 16 &&
	       letters->digits > len / 16 && (letters->lower == 0 || letters->upper == 0);
}

static const char *blob_kind(const struct letters *letters, size_t len, bool is_uri)
{
	if (is_uri)
		return len >= URI_BLOB_MIN ? "base64" : NULL;
	if (len < SHAPE_BLOB_MIN)
		return NULL;
	if (is_hex_mix(letters, len))
		return "hex";
	return is_base64_mix(letters, len) ? "base64" : NULL;
}

static bool follows_uri(const char *line, size_t at)
{
	return at >= 8 && memcmp(line + at - 8, ";base64,", 8) == 0;
}

static void add_blob(const char *kind, size_t len, struct buf *ret)
{
	char count[TEXT_COUNT_SIZE];
	struct err ignored;

	text_count(len, count);
	(void)buf_addf(ret, &ignored, "[%s, %s bytes]", kind, count);
}

/* The length of the run of base64 characters at `at`, including the '=' padding. */
static size_t blob_length(const char *line, size_t len, size_t at, struct letters *ret)
{
	size_t end = at;

	memset(ret, 0, sizeof(*ret));
	while (end < len && count_letter(ret, line[end]))
		end++;
	return end - at;
}

static bool add_without_blobs(const char *line, size_t len, struct buf *ret)
{
	bool changed = false;
	size_t start = 0;

	for (size_t at = 0; at < len;) {
		struct letters letters;
		size_t run = blob_length(line, len, at, &letters);
		const char *kind = run > 0 ? blob_kind(&letters, run, follows_uri(line, at)) : NULL;

		if (kind == NULL) {
			at += run > 0 ? run : 1;
			continue;
		}
		add(ret, line + start, at - start);
		while (at + run < len && line[at + run] == '=')
			run++;
		add_blob(kind, run, ret);
		start = at += run;
		changed = true;
	}
	add(ret, line + start, len - start);
	return changed;
}

bool shape_line_is_base64(const char *line, size_t len, bool is_last)
{
	struct letters letters;
	size_t run;

	if (len == 0 || (len < BLOCK_WIDTH_MIN && !is_last))
		return false;
	run = blob_length(line, len, 0, &letters);
	while (run < len && line[run] == '=')
		run++;
	if (run != len || is_last)
		return run == len;
	return letters.lower > 0 && letters.upper > 0 &&
	       letters.digits + letters.others > 0 && letters.lower + letters.upper < len;
}

/* ---- long lines ------------------------------------------------------------------------- */

/* The number of bytes in the first `count` characters. */
static size_t skip_characters(const char *text, size_t len, size_t count)
{
	size_t at = 0;

	for (; at < len; at++)
		if (((unsigned char)text[at] & 0xc0) != 0x80 && count-- == 0)
			break;
	return at;
}

/* Cuts the middle of the text from `start` on, if it is too long. */
static bool cut_middle(struct buf *ret, size_t start)
{
	const char *line = ret->data + start;
	size_t len = ret->len - start, count, head, tail, rest;
	char number[TEXT_COUNT_SIZE], mark[TEXT_COUNT_SIZE + 32];
	int mark_len;

	if (len <= SHAPE_LINE_MAX || (count = utf8_count(line, len)) <= SHAPE_LINE_MAX)
		return false;
	head = text_boundary_down(line, len, skip_characters(line, len, LINE_HEAD));
	tail = text_boundary_up(line, len, skip_characters(line, len, count - LINE_TAIL));
	text_count(utf8_count(line + head, tail - head), number);
	mark_len =
		snprintf(mark, sizeof(mark), " \xe2\x80\xa6 %s characters \xe2\x80\xa6 ", number);
	/*
	 * The mark is shorter than the text it replaces, which has at least a hundred characters.
	 */
	rest = len - tail;
	memcpy(ret->data + start + head, mark, (size_t)mark_len);
	memmove(ret->data + start + head + mark_len, ret->data + start + tail, rest);
	ret->len = start + head + (size_t)mark_len + rest;
	ret->data[ret->len] = '\0';
	return true;
}

bool shape_line_add(const char *line, size_t len, struct buf *ret)
{
	size_t start = ret->len;
	bool changed;

	if (len < URI_BLOB_MIN) {
		add(ret, line, len);
		return false;
	}
	changed = add_without_blobs(line, len, ret);
	return cut_middle(ret, start) || changed;
}

/* ---- progress bars ---------------------------------------------------------------------- */

/* The length of a ratio such as "12/100" at `at`, else 0. A total may have a unit: "1.2M/3.4G". */
static size_t ratio_length(const char *line, size_t len, size_t at)
{
	size_t end = at, slash;

	while (end < len && end - at < 24 &&
	       (is_digit(line[end]) || strchr(".kMGB", line[end]) != NULL))
		end++;
	if (end == at || !is_digit(line[at]) || end == len || line[end] != '/')
		return 0;
	slash = end++;
	while (end < len && end - slash < 24 && line[end] != ' ' && line[end] != '[')
		end++;
	return end > slash + 1 && is_digit(line[slash + 1]) ? end - at : 0;
}

/* tqdm: "label:  42%|####      | 42/100 [00:01<00:02, 21.0it/s]" */
static size_t tqdm_label(const char *line, size_t len)
{
	const char *percent = memmem(line, len, "%|", 2);
	const char *bar = percent != NULL ? memrchr(percent + 2, '|',
						     len - (size_t)(percent + 2 - line)) : NULL;
	size_t label, at;

	if (bar == NULL)
		return SIZE_MAX;
	at = (size_t)(bar + 1 - line);
	while (at < len && is_space(line[at]))
		at++;
	if (ratio_length(line, len, at) == 0)
		return SIZE_MAX;
	label = (size_t)(percent - line);
	while (label > 0 && (is_digit(line[label - 1]) || line[label - 1] == '.'))
		label--;
	return label;
}

/* Keras and others: "12/100 [====>.....] - ETA: 3s - loss: 0.3", "12/100 ━━━━━ 3s" */
static size_t ratio_bar_label(const char *line, size_t len)
{
	size_t at = 0, run;

	while (at < len && is_space(line[at]))
		at++;
	run = ratio_length(line, len, at);
	if (run == 0 || at + run + 2 >= len || line[at + run] != ' ')
		return SIZE_MAX;
	at += run + 1;
	if (line[at] == '[' && strchr("=>.# -", line[at + 1]) != NULL && line[at + 1] != '\0')
		return 0;
	return len - at >= 3 && memcmp(line + at, "\xe2\x94\x81", 3) == 0 ? 0 : SIZE_MAX;
}

bool shape_line_is_bar(const char *line, size_t len, uint64_t *ret_label)
{
	size_t label;

	if (len < 8)
		return false;
	label = tqdm_label(line, len);
	if (label == SIZE_MAX)
		label = ratio_bar_label(line, len);
	if (label == SIZE_MAX)
		return false;
	while (label > 0 && is_space(line[label - 1]))
		label--;
	*ret_label = shape_line_hash(line, label);
	return true;
}

/* ---- similar lines ---------------------------------------------------------------------- */

#define FNV_START UINT64_C(0xcbf29ce484222325)

static uint64_t fnv(uint64_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001b3);
}

uint64_t shape_line_hash(const char *line, size_t len)
{
	uint64_t hash = FNV_START;

	for (size_t i = 0; i < len; i++)
		hash = fnv(hash, line[i]);
	return hash;
}

/* The length of the number at `at`, 0: none. Examples: "17", "-0.33", "1e-05", "12:34", "4,213". */
static size_t number_length(const char *line, size_t len, size_t at)
{
	size_t end = at;

	if ((line[end] == '-' || line[end] == '+') && (at == 0 || !is_digit(line[at - 1])))
		end++;
	if (end == len || !is_digit(line[end]))
		return 0;
	while (end < len) {
		if (is_digit(line[end]))
			end++;
		else if (end + 1 < len && strchr(".,:", line[end]) != NULL &&
			 is_digit(line[end + 1]))
			end += 2;
		else if (end + 2 < len && line[end] == 'e' &&
			 (line[end + 1] == '-' || line[end + 1] == '+') && is_digit(line[end + 2]))
			end += 3;
		else
			break;
	}
	return end - at;
}

uint64_t shape_line_skeleton(const char *line, size_t len)
{
	uint64_t hash = FNV_START;

	for (size_t at = 0; at < len;) {
		size_t number = number_length(line, len, at);

		if (number > 0) {
			hash = fnv(hash, '0');
			at += number;
			continue;
		}
		/* Skip white space, because numbers may be padded to a width. */
		if (!is_space(line[at]))
			hash = fnv(hash, line[at]);
		at++;
	}
	return hash;
}
