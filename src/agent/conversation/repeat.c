/*
 * repeat.c - detects that a model repeats itself, and writes hints for it.
 *
 * Runs in:  reckon-agent and tests.
 * Reads:    code of a model, and its results.
 * Never:    stores code or results, only hashes; loop/loop.c stores the code that failed last.
 */
#include "agent/conversation/repeat.h"

#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/agent.h"

#define FNV_START UINT64_C(0xcbf29ce484222325)
#define FNV_STEP UINT64_C(0x100000001b3)
#define LINES_SHOWN 6u
#define LINE_SHOWN 120u

struct line {
	const char *text;
	size_t len;
};

/* The next line that is not empty, without trailing white space; false: there is none. */
static bool next_line(const char **at, const char *end, struct line *ret)
{
	while (*at < end) {
		const char *newline = memchr(*at, '\n', (size_t)(end - *at));
		const char *stop = newline != NULL ? newline : end;

		ret->text = *at;
		ret->len = (size_t)(stop - *at);
		*at = newline != NULL ? newline + 1 : end;
		while (ret->len > 0 && isspace((unsigned char)ret->text[ret->len - 1]))
			ret->len--;
		if (ret->len > 0)
			return true;
	}
	return false;
}

uint64_t repeat_hash(const char *text, size_t len)
{
	const char *at = text, *end = text + len;
	uint64_t hash = FNV_START;
	struct line line;

	while (next_line(&at, end, &line)) {
		for (size_t i = 0; i < line.len; i++)
			hash = (hash ^ (unsigned char)line.text[i]) * FNV_STEP;
		hash = (hash ^ '\n') * FNV_STEP;
	}
	return hash;
}

unsigned repeat_note(struct repeats *repeats, uint64_t action, uint64_t result, bool is_silent)
{
	const bool again = repeats->in_a_row > 0 && repeats->last_action == action &&
			   repeats->last_result == result;
	struct repeat_entry *entry = NULL;

	repeats->in_a_row = again ? repeats->in_a_row + 1 : 1;
	repeats->last_action = action;
	repeats->last_result = result;
	if (is_silent)
		return repeats->in_a_row;
	for (size_t i = 0; i < REPEAT_ENTRIES && entry == NULL; i++)
		if (repeats->entries[i].count > 0 && repeats->entries[i].action == action &&
		    repeats->entries[i].result == result)
			entry = &repeats->entries[i];
	if (entry == NULL) {
		entry = &repeats->entries[repeats->next++ % REPEAT_ENTRIES];
		*entry = (struct repeat_entry){ .action = action, .result = result };
	}
	return ++entry->count;
}

/* ---- hints ---- */

static bool holds_line(const struct buf *code, const struct line *wanted)
{
	const char *at = buf_text(code), *end = at + code->len;
	struct line line;

	while (next_line(&at, end, &line))
		if (line.len == wanted->len && memcmp(line.text, wanted->text, line.len) == 0)
			return true;
	return false;
}

/* Says which lines of the code already failed before. */
static int tell_lines(const struct repeat_failure *failure, struct buf *ret, struct err *err)
{
	const char *at = buf_text(failure->code), *end = at + failure->code->len;
	size_t same = 0, all = 0;
	struct line line;

	if (failure->code_before->len == 0)
		return 0;
	while (next_line(&at, end, &line)) {
		all++;
		if (!holds_line(failure->code_before, &line) || ++same > LINES_SHOWN)
			continue;
		if ((same == 1 && buf_adds(ret, "\nThese lines are as they were:", err) < 0) ||
		    buf_adds(ret, "\n  ", err) < 0 ||
		    buf_add(ret, line.text, line.len < LINE_SHOWN ? line.len : LINE_SHOWN, err) < 0)
			return (int)err->code;
	}
	return same > LINES_SHOWN
		       ? buf_addf(ret, err, "\n  (%zu of %zu lines in all)", same, all)
		       : 0;
}

static int tell_failure(unsigned count, const struct repeat_failure *failure, struct buf *ret,
			struct err *err)
{
	const bool code = (failure->same & AGENT_SAME_CODE) != 0;
	const bool files = (failure->same & AGENT_SAME_FILES) != 0;

	if (count == 2 && code)
		return buf_adds(ret, "\nhint: the same code fails in the same way. Do not send it "
				     "again: print the values that the failing line uses, or take "
				     "another way.", err);
	if (count == 2)
		return buf_adds(ret, "\nhint: the change did not reach the cause. Print the values "
				     "that the failing line uses before you change more.", err);
	if (buf_addf(ret, err,
		     "\nWhat did not change since this failed before: %sthe error%s. If it "
		     "fails so once more, this question ends.",
		     code ? "the code, " : "", files ? ", the files" : "") < 0)
		return (int)err->code;
	return code ? 0 : tell_lines(failure, ret, err);
}

int repeat_tell(enum repeat_kind kind, unsigned count, const struct repeat_failure *failure,
		struct buf *ret, struct err *err)
{
	static const char *const words[][2] = {
		[REPEAT_SUCCESS] = {
			"\nhint: this code ran before, with the same output. Use what it gave, or "
			"answer the question.",
			"\nWhat did not change since this ran before: the code, the output. If it is "
			"sent once more, this question ends: answer it with what you know.",
		},
		[REPEAT_REFUSED] = {
			"\nhint: the same was refused before. Write it in another way.",
			"\nWhat did not change since this was refused before: the call, the "
			"complaint. If it is sent once more, this question ends.",
		},
		[REPEAT_EMPTY] = {
			"[Your answer was empty again. Say in words what you know, or run code.]",
			"[Nothing changed: a third empty answer. With one more this question ends.]",
		},
	};

	if (count < 2 || count >= REPEAT_MAX)
		return 0;
	if (kind == REPEAT_FAILURE)
		return tell_failure(count, failure, ret, err);
	return buf_adds(ret, words[kind][count - 2], err);
}

/* Whether the line begins with the name of an error, such as ValueError or json.JSONDecodeError. */
static bool names_error(const struct line *line)
{
	static const char *const ends[] = { "Error", "Exception", "Interrupt", "Exit", "Timeout" };
	size_t len = 0;

	while (len < line->len && (isalnum((unsigned char)line->text[len]) ||
				   line->text[len] == '_' || line->text[len] == '.'))
		len++;
	if (len < line->len && line->text[len] != ':')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		const size_t n = strlen(ends[i]);

		if (len >= n && memcmp(line->text + len - n, ends[i], n) == 0)
			return true;
	}
	return false;
}

size_t repeat_error_line(const char *text, size_t len, const char **ret)
{
	const char *at = text;
	struct line line;

	*ret = "";
	while (next_line(&at, text + len, &line))
		if (names_error(&line)) {
			*ret = line.text;
			return line.len < LINE_SHOWN ? line.len : LINE_SHOWN;
		}
	return 0;
}
