/*
 * repeat_detector.c - detects whether an execution repeats an earlier failure of its session.
 *
 * Runs in:  libreckon.
 * Reads:    code and errors, as text.
 * Never:    stores either: only fingerprints, and a bounded number of them.
 */
#include "lib/record/repeat_detector.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "languages/languages.h"

#define FNV_START UINT64_C(0xcbf29ce484222325)

static uint64_t fnv(uint64_t hash, char byte)
{
	return (hash ^ (unsigned char)byte) * UINT64_C(0x100000001b3);
}

/* ---- code ------------------------------------------------------------------------------- */

struct lexer {
	const struct language_syntax *syntax;
	const char *code;
	size_t len, at;
	uint64_t hash;
	char last;	/* the last significant byte, '
			 * ' at the start of a line */
	bool has_space; /* white space since then */
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || ((unsigned char)c & 0x80) != 0;
}

static bool starts_with(const struct lexer *lexer, const char *text)
{
	size_t len = strlen(text);

	return lexer->len - lexer->at >= len && memcmp(lexer->code + lexer->at, text, len) == 0;
}

/* Whether a comment begins here; in a shell only after white space, since $# and ${x#y} are
 * none. */
static bool is_comment(const struct lexer *lexer)
{
	if (!starts_with(lexer, lexer->syntax->comment))
		return false;
	return lexer->syntax->ignores_operator_space || lexer->has_space || lexer->last == '\n';
}

enum side { SIDE_NEUTRAL, SIDE_WORD, SIDE_OPERATOR };

static enum side side_of(char c)
{
	if (is_word(c))
		return SIDE_WORD;
	return c != '\0' && strchr("+-*/%=<>!&|^~@.:?", c) != NULL ? SIDE_OPERATOR : SIDE_NEUTRAL;
}

static void put(struct lexer *lexer, char c)
{
	/* White space between words and between operators matters, as in "- -1" and "--1". */
	bool counts = lexer->has_space && lexer->last != '\n' &&
		      (!lexer->syntax->ignores_operator_space ||
		       (side_of(c) != SIDE_NEUTRAL && side_of(c) == side_of(lexer->last)));

	if (counts)
		lexer->hash = fnv(lexer->hash, ' ');
	lexer->hash = fnv(lexer->hash, c);
	lexer->last = c;
	lexer->has_space = false;
}

/* Blank lines do not count; a line's indentation does. */
static void put_newline(struct lexer *lexer)
{
	if (lexer->last != '\n')
		lexer->hash = fnv(lexer->hash, '\n');
	lexer->last = '\n';
	lexer->has_space = false;
}

static void skip_line(struct lexer *lexer)
{
	while (lexer->at < lexer->len && lexer->code[lexer->at] != '\n')
		lexer->at++;
}

static void skip_block(struct lexer *lexer)
{
	const char *end = memmem(lexer->code + lexer->at, lexer->len - lexer->at, "*/", 2);

	lexer->at = end != NULL ? (size_t)(end + 2 - lexer->code) : lexer->len;
	lexer->has_space = true;
}

/* Writes a literal unchanged; 'x' and "x" are equal if they contain no quote or escape. */
static void put_string(struct lexer *lexer)
{
	const char quote = lexer->code[lexer->at];
	const char triple[] = { quote, quote, quote, '\0' };
	const size_t width = starts_with(lexer, triple) ? 3 : 1;
	size_t end = lexer->at + width;
	bool is_plain = width == 1 && lexer->syntax->has_equal_quotes;

	while (end < lexer->len) {
		const char c = lexer->code[end];

		if (c == quote && (width == 1 || (lexer->len - end >= 3 &&
						  memcmp(lexer->code + end, triple, 3) == 0)))
			break;
		if (c == '\n' && width == 1 && lexer->syntax->ignores_operator_space)
			break;
		is_plain = is_plain && c != '\\' && c != '\'' && c != '"';
		end += c == '\\' && end + 1 < lexer->len ? 2 : 1;
	}
	end = end + width <= lexer->len && lexer->code[end] == quote ? end + width : end;
	for (size_t i = lexer->at; i < end; i++) {
		put(lexer, is_plain && lexer->code[i] == quote ? '"' : lexer->code[i]);
		lexer->has_space = false;
	}
	lexer->at = end;
}

static void put_indent(struct lexer *lexer)
{
	size_t start = lexer->at, width = 0;

	while (lexer->at < lexer->len && strchr(" \t", lexer->code[lexer->at]) != NULL &&
	       lexer->code[lexer->at] != '\0') {
		width += lexer->code[lexer->at] == '\t' ? 8 - width % 8 : 1;
		lexer->at++;
	}
	lexer->has_space = lexer->at > start;
	/* White space alone on a line has no meaning. */
	if (lexer->at == lexer->len || lexer->code[lexer->at] == '\n' ||
	    lexer->code[lexer->at] == '\r' || is_comment(lexer))
		return;
	for (size_t i = 0; i < width; i++)
		lexer->hash = fnv(lexer->hash, '\t');
	lexer->has_space = false;
}

uint64_t repeat_detector_code_fingerprint(const struct language_syntax *syntax, const char *code,
					  size_t len)
{
	struct lexer lexer = { .syntax = syntax,
			       .code = code,
			       .len = len,
			       .hash = FNV_START,
			       .last = '\n' };
	bool is_fresh = true; /* no byte of this line was examined */

	while (lexer.at < len) {
		const char c = code[lexer.at];

		if (is_fresh && (c == ' ' || c == '\t')) {
			put_indent(&lexer);
			is_fresh = false;
			continue;
		}
		is_fresh = c == '\n';
		if (is_comment(&lexer)) {
			skip_line(&lexer);
		} else if (lexer.syntax->has_block_comments && starts_with(&lexer, "/*")) {
			skip_block(&lexer);
		} else if (c == '"' || c == '\'' || c == '`') {
			put_string(&lexer);
		} else {
			if (c == '\n')
				put_newline(&lexer);
			else if (c == ' ' || c == '\t' || c == '\r')
				lexer.has_space = true;
			else
				put(&lexer, c);
			lexer.at++;
		}
	}
	put_newline(&lexer);
	return lexer.hash;
}

/* ---- errors ----------------------------------------------------------------------------- */

/* Length of a path below /tmp, where names are generated anew each time. */
static size_t temporary_path(const char *text)
{
	return strncmp(text, "/tmp/", 5) == 0 ? strcspn(text, " \t\n'\"`,;)>]") : 0;
}

#define ID_WORD_MIN 8u /* shortest run of hexadecimal digits that counts as an id */
#define ID_WORD_MAX 64u

/* Length of the word at `text` if it is an id such as 9f86d081-4b1c, else 0. */
static size_t id_word(const char *text)
{
	size_t len = 0, digits = 0;

	for (; len < ID_WORD_MAX && (isxdigit((unsigned char)text[len]) || text[len] == '-'); len++)
		digits += isdigit((unsigned char)text[len]) != 0;
	return len >= ID_WORD_MIN && digits > 0 && !is_word(text[len]) ? len : 0;
}

/* Length of a number: 17, 0x7f3a, 3.14, 4,213, 12:34:56.789. */
static size_t number_word(const char *text)
{
	size_t len = 0;

	if (text[0] == '0' && text[1] == 'x')
		return 2 + strspn(text + 2, "0123456789abcdefABCDEF");
	while (isdigit((unsigned char)text[len]) ||
	       (len > 0 && text[len] != '\0' && strchr(".,:", text[len]) != NULL &&
		isdigit((unsigned char)text[len + 1])))
		len++;
	return len;
}

static uint64_t hash_without_numbers(uint64_t hash, const char *text)
{
	bool after_word = false;

	while (*text != '\0') {
		size_t path = temporary_path(text);
		size_t skip = path;

		if (skip == 0 && !after_word)
			skip = id_word(text);
		if (skip == 0)
			skip = number_word(text);
		if (skip > 0) {
			hash = fnv(hash, path > 0 ? '/' : '0');
			text += skip;
			after_word = true;
			continue;
		}
		after_word = is_word(*text);
		hash = fnv(hash, *text++);
	}
	return fnv(hash, '\n');
}

uint64_t repeat_detector_error_fingerprint(const struct language_syntax *syntax, const char *name,
					   const char *value, const char *source, uint64_t code)
{
	uint64_t hash = FNV_START;

	for (; *name != '\0'; name++)
		hash = fnv(hash, *name);
	hash = hash_without_numbers(fnv(hash, '\n'), value);
	while (*source == ' ' || *source == '\t')
		source++;
	if (source[0] != '\0')
		code = repeat_detector_code_fingerprint(syntax, source, strlen(source));
	return hash ^ code * UINT64_C(0x9e3779b97f4a7c15);
}

/* ---- ---- storing ----------------------------------------------------------------------- */

/* Stores them in ascending order; if there are too many, drops the second, so that the first and
 * the last ones stay. */
static void add_sequence(uint64_t sequences[REPEAT_SEQUENCES_MAX], size_t *count, uint64_t sequence)
{
	size_t at = *count;

	if (*count == REPEAT_SEQUENCES_MAX) {
		if (sequence < sequences[0])
			sequences[0] = sequence;
		if (sequence < sequences[1])
			return;
		memmove(sequences + 1, sequences + 2,
			(REPEAT_SEQUENCES_MAX - 2) * sizeof(*sequences));
		at = --*count;
	}
	while (at > 0 && sequences[at - 1] > sequence) {
		sequences[at] = sequences[at - 1];
		at--;
	}
	sequences[at] = sequence;
	(*count)++;
}

static uint64_t last_sequence(const struct repeat_detector_entry *entry)
{
	return entry->sequences[entry->sequence_count - 1];
}

/* Describes the entries with the same code, error, or both; false if there is none. */
static bool find(const struct repeat_detector *detector,
		 const struct repeat_detector_failure *failure, bool same_code, bool same_error,
		 struct repeat_detector_repeat *ret)
{
	const struct repeat_detector_entry *latest = NULL;

	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_LEN(detector->entries); i++) {
		const struct repeat_detector_entry *entry = &detector->entries[i];

		if (entry->count == 0 || (same_code && entry->code != failure->code) ||
		    (same_error && entry->error != failure->error))
			continue;
		ret->count += entry->count;
		for (size_t k = 0; k < entry->sequence_count; k++)
			add_sequence(ret->sequences, &ret->sequence_count, entry->sequences[k]);
		if (latest == NULL || last_sequence(entry) > last_sequence(latest))
			latest = entry;
	}
	if (latest == NULL)
		return false;
	ret->count++;
	add_sequence(ret->sequences, &ret->sequence_count, failure->sequence);
	ret->same_code = same_code;
	ret->same_error = same_error;
	ret->same_files = latest->files_after == failure->files_before;
	return true;
}

/* The entry of this exact failure, else a free one, else the least recently seen. */
static struct repeat_detector_entry *entry_for(struct repeat_detector *detector,
					       const struct repeat_detector_failure *failure)
{
	struct repeat_detector_entry *oldest = &detector->entries[0];

	for (size_t i = 0; i < ARRAY_LEN(detector->entries); i++) {
		struct repeat_detector_entry *entry = &detector->entries[i];

		if (entry->count > 0 && entry->code == failure->code &&
		    entry->error == failure->error)
			return entry;
		if (oldest->count > 0 &&
		    (entry->count == 0 || last_sequence(entry) < last_sequence(oldest)))
			oldest = entry;
	}
	*oldest = (struct repeat_detector_entry){ .code = failure->code, .error = failure->error };
	return oldest;
}

void repeat_detector_note_failure(struct repeat_detector *detector,
				  const struct repeat_detector_failure *failure,
				  struct repeat_detector_repeat *ret)
{
	struct repeat_detector_entry *entry;

	if (!find(detector, failure, true, true, ret) &&
	    !find(detector, failure, false, true, ret) &&
	    !find(detector, failure, true, false, ret))
		memset(ret, 0, sizeof(*ret));
	entry = entry_for(detector, failure);
	entry->count++;
	entry->files_after = failure->files_after;
	add_sequence(entry->sequences, &entry->sequence_count, failure->sequence);
	detector->in_a_row = 0;
}

uint64_t repeat_detector_note_success(struct repeat_detector *detector, uint64_t code,
				      uint64_t output)
{
	if (detector->in_a_row > 0 && detector->last_code == code &&
	    detector->last_output == output)
		return ++detector->in_a_row;
	detector->last_code = code;
	detector->last_output = output;
	detector->in_a_row = 1;
	return 1;
}

/* ---- ---- describing -------------------------------------------------------------------- */

static void list_sequences(const struct repeat_detector_repeat *repeat, char *ret, size_t size)
{
	const bool has_more = repeat->count > repeat->sequence_count;
	size_t used = 0;

	ret[0] = '\0';
	for (size_t i = 0; i < repeat->sequence_count && used < size; i++)
		used += (size_t)snprintf(ret + used, size - used, "%s%" PRIu64,
					 i == 0			? ""
					 : i == 1 && has_more ? ", \xe2\x80\xa6, "
							      : ", ",
					 repeat->sequences[i]);
}

void repeat_detector_describe(const struct repeat_detector_repeat *repeat,
			      char ret[REPEAT_LINE_SIZE])
{
	char list[REPEAT_SEQUENCES_MAX * 22 + 8];

	list_sequences(repeat, list, sizeof(list));
	(void)snprintf(ret, REPEAT_LINE_SIZE,
		       "seen %" PRIu64 " times in this session (executions %.120s): %s error, code "
		       "%s; files %s since",
		       repeat->count, list, repeat->same_error ? "same" : "another",
		       repeat->same_code ? "unchanged" : "changed",
		       repeat->same_files ? "unchanged" : "changed");
}

void repeat_detector_advise(const struct repeat_detector_repeat *repeat, char ret[REPEAT_LINE_SIZE])
{
	const char *advice =
		"The change did not reach the cause: look at the values in the failing "
		"line before changing more.";

	if (repeat->same_code && repeat->same_error)
		advice = repeat->same_files ? "Running it again will not help: change the code, or "
					      "look at the values in the failing line first."
					    : "The files changed since, the failure did not: look "
					      "at the values in the failing line.";
	else if (repeat->same_code)
		advice = "The same code fails in another way now: look at what it depends on.";
	(void)snprintf(ret, REPEAT_LINE_SIZE, "%s", advice);
}
