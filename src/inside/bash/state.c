/*
 * state.c - reads the variables from a shell's state.
 *
 * Runs in:  the bash kernel.
 * Reads:    the text of `declare -p` and `declare -F`, which cells can forge.
 * Never:    runs any of it.
 */
#include "inside/bash/bash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "wire/kernel.h"

#define VARIABLES_MAX 1000
#define PREVIEW_MAX 120
#define NAME_MAX_BYTES 200

struct line {
	const char *text;
	size_t len;
};

static bool next_line(const char **at, struct line *ret)
{
	const char *end;

	if (**at == '\0')
		return false;
	end = strchr(*at, '\n');
	ret->text = *at;
	ret->len = end != NULL ? (size_t)(end - *at) : strlen(*at);
	*at += ret->len + (end != NULL);
	return true;
}

static bool is_mark(const struct line *line, const char *mark)
{
	return line->len == strlen(mark) && memcmp(line->text, mark, line->len) == 0;
}

/* Whether `first` has exactly this line: then the variable is unchanged since the start. */
static bool has_line(const struct buf *first, const struct line *wanted)
{
	const char *at = buf_text(first);
	struct line line;

	while (next_line(&at, &line))
		if (line.len == wanted->len && memcmp(line.text, wanted->text, line.len) == 0)
			return true;
	return false;
}

/* Variables that bash maintains itself and that change each time. */
static bool is_bookkeeping(const char *name, size_t len)
{
	static const char *const names[] = { "_",	    "DIRSTACK", "EPOCHREALTIME",
					     "EPOCHSECONDS", "FUNCNAME", "GROUPS", "HISTCMD",
					     "LINENO",	    "LINES",	"COLUMNS", "OLDPWD",
					     "PIPESTATUS",  "PPID",	"PWD",	"RANDOM",
					     "SECONDS",	    "SHELLOPTS", "SHLVL", "SRANDOM" };
	static const char *const prefixes[] = { "__reckon_", "BASH", "COMP_" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (len >= strlen(prefixes[i]) &&
		    memcmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strlen(names[i]) == len && memcmp(names[i], name, len) == 0)
			return true;
	return false;
}

static const char *type_of(const struct line *flags)
{
	if (memchr(flags->text, 'A', flags->len) != NULL)
		return "map";
	if (memchr(flags->text, 'a', flags->len) != NULL)
		return "array";
	return memchr(flags->text, 'i', flags->len) != NULL ? "integer" : "string";
}

static int add(struct buf *payload, const struct line *name, const char *type,
	       const struct line *value, struct err *err)
{
	size_t shown = value->len < PREVIEW_MAX ? value->len : PREVIEW_MAX;
	char size[24];

	(void)snprintf(size, sizeof(size), "%zu", value->len);
	if (kernel_pack(payload, KERNEL_TAG_VAR_NAME, name->text, name->len, err) < 0 ||
	    kernel_pack(payload, KERNEL_TAG_VAR_TYPE, type, strlen(type), err) < 0 ||
	    kernel_pack(payload, KERNEL_TAG_VAR_SHAPE, "", 0, err) < 0 ||
	    kernel_pack(payload, KERNEL_TAG_VAR_SIZE, size, strlen(size), err) < 0)
		return (int)err->code;
	return kernel_pack(payload, KERNEL_TAG_VAR_PREVIEW, value->text, shown, err);
}

/* "declare -FLAGS NAME=VALUE" or "declare -f NAME"; false for anything else. */
static bool split(const struct line *line, struct line *flags, struct line *name,
		  struct line *value)
{
	static const char word[] = "declare -";
	const size_t skip = sizeof(word) - 1;
	const char *space, *equals, *end = line->text + line->len;

	if (line->len <= skip || memcmp(line->text, word, skip) != 0)
		return false;
	space = memchr(line->text + skip, ' ', line->len - skip);
	if (space == NULL)
		return false;
	*flags = (struct line){ line->text + skip, (size_t)(space - line->text) - skip };
	equals = memchr(space, '=', (size_t)(end - space));
	if (equals == NULL)
		equals = end;
	*name = (struct line){ space + 1, (size_t)(equals - space - 1) };
	if (equals < end)
		equals++;
	*value = (struct line){ equals, (size_t)(end - equals) };
	return name->len > 0;
}

int bash_state_variables(const struct buf *state, const struct buf *first, struct buf *payload,
			 struct err *err)
{
	const char *at = buf_text(state);
	struct line line, flags, name, value;
	bool functions = false;
	int count = 0;

	while (count < VARIABLES_MAX && next_line(&at, &line) && !is_mark(&line, BASH_MARK_REST)) {
		functions = functions || is_mark(&line, BASH_MARK_FUNCTIONS);
		if (!split(&line, &flags, &name, &value) || is_bookkeeping(name.text, name.len) ||
		    has_line(first, &line))
			continue;
		if (add(payload, &name, functions ? "function" : type_of(&flags), &value, err) < 0)
			return (int)err->code;
		count++;
	}
	return 0;
}

static int tell_gone(struct bash_name_list *reported, const bool *is_there, struct buf *payload,
		     struct err *err)
{
	size_t remaining = 0;
	int code = 0;

	for (size_t i = 0; i < reported->count; i++) {
		if (is_there[i]) {
			reported->name[remaining++] = reported->name[i];
			continue;
		}
		if (code == 0)
			code = kernel_pack(payload, KERNEL_TAG_VAR_GONE, reported->name[i],
					   strlen(reported->name[i]), err);
		free(reported->name[i]);
	}
	reported->count = remaining;
	return code;
}

static size_t find_name(const struct bash_name_list *reported, const struct line *name)
{
	size_t at = 0;

	while (at < reported->count && (strncmp(reported->name[at], name->text, name->len) != 0 ||
					reported->name[at][name->len] != '\0'))
		at++;
	return at;
}

int bash_state_names(const struct buf *state, const struct buf *first,
		     struct bash_name_list *reported, struct buf *payload, struct err *err)
{
	const char *at = buf_text(state);
	struct line line, flags, name, value, fresh[BASH_NAMES_MAX];
	bool functions = false, is_there[BASH_NAMES_MAX] = { false };
	size_t count = 0;

	for (int looked = 0; looked < VARIABLES_MAX && next_line(&at, &line); looked++) {
		size_t found;

		if (is_mark(&line, BASH_MARK_REST))
			break;
		functions = functions || is_mark(&line, BASH_MARK_FUNCTIONS);
		if (!split(&line, &flags, &name, &value) || is_bookkeeping(name.text, name.len) ||
		    has_line(first, &line) || name.len > NAME_MAX_BYTES)
			continue;
		found = find_name(reported, &name);
		if (found < reported->count)
			is_there[found] = true;
		else if (count < BASH_NAMES_MAX)
			fresh[count++] = name;
	}
	if (tell_gone(reported, is_there, payload, err) < 0)
		return (int)err->code;
	for (size_t i = 0; i < count && reported->count < BASH_NAMES_MAX; i++) {
		char *copy = strndup(fresh[i].text, fresh[i].len);

		if (copy == NULL ||
		    kernel_pack(payload, KERNEL_TAG_VAR_NAME, copy, strlen(copy), err) < 0) {
			free(copy);
			return ERR_LIMIT;
		}
		reported->name[reported->count++] = copy;
	}
	return 0;
}

static bool is_name_byte(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static int add_match(struct buf *payload, const struct line *name, const char *stem, size_t len,
		     struct err *err)
{
	static const char own[] = "__reckon_";

	if (name->len < len || memcmp(name->text, stem, len) != 0 ||
	    (name->len >= sizeof(own) - 1 && memcmp(name->text, own, sizeof(own) - 1) == 0))
		return 0;
	return kernel_pack(payload, KERNEL_TAG_MATCH, name->text, name->len, err);
}

int bash_state_complete(const struct buf *state, const char *code, size_t cursor,
			struct buf *payload, struct err *err)
{
	const char *at = buf_text(state);
	struct line line, flags, name, value;
	bool functions = false, wants_variable;
	size_t start = cursor;
	char number[24];
	int count = 0;

	while (start > 0 && is_name_byte(code[start - 1]))
		start--;
	wants_variable = start > 0 && (code[start - 1] == '$' ||
				       (start > 1 && code[start - 1] == '{' &&
					code[start - 2] == '$'));
	(void)snprintf(number, sizeof(number), "%zu", start);
	if (kernel_pack(payload, KERNEL_TAG_CURSOR_START, number, strlen(number), err) < 0)
		return (int)err->code;
	(void)snprintf(number, sizeof(number), "%zu", cursor);
	if (kernel_pack(payload, KERNEL_TAG_CURSOR_END, number, strlen(number), err) < 0)
		return (int)err->code;
	while (count < VARIABLES_MAX && next_line(&at, &line) && !is_mark(&line, BASH_MARK_REST)) {
		functions = functions || is_mark(&line, BASH_MARK_FUNCTIONS);
		if (functions == wants_variable || !split(&line, &flags, &name, &value))
			continue;
		if (add_match(payload, &name, code + start, cursor - start, err) < 0)
			return (int)err->code;
		count++;
	}
	return 0;
}
