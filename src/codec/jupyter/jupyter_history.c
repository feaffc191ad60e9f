/*
 * jupyter_history.c - the code executed in a kernel, for consoles: the tail, a range, a search.
 *
 * Runs in:  reckon-jupyter, reckon-front-jupyter.
 * Reads:    patterns of clients.
 * Never:    stores more than its limits: it drops the oldest code first.
 */
#include "codec/jupyter/jupyter_history.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/json_get.h"

#define ENTRIES_MAX 10000u
#define SESSION 1 /* the only session number */

struct jupyter_entry {
	uint64_t line;
	size_t len;
	char *code;
};

static void drop_oldest(struct jupyter_history *history, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		history->bytes -= history->entries[i].len;
		free(history->entries[i].code);
	}
	history->count -= count;
	memmove(history->entries, history->entries + count,
		history->count * sizeof(*history->entries));
}

void jupyter_history_add(struct jupyter_history *history, uint64_t line, const char *code,
			 size_t len)
{
	size_t dropped = 0, bytes = history->bytes;

	if (len > history->bytes_max)
		return;
	while (dropped < history->count && bytes + len > history->bytes_max)
		bytes -= history->entries[dropped++].len;
	if (dropped == 0 && history->count == ENTRIES_MAX)
		dropped = 1;
	drop_oldest(history, dropped);
	if (history->count == history->space) {
		history->space = history->space > 0 ? 2 * history->space : 16;
		history->entries =
			mem_grow(history->entries, history->space, sizeof(*history->entries));
	}
	history->entries[history->count] =
		(struct jupyter_entry){ line, len, strndup(code, len) };
	if (history->entries[history->count].code == NULL)
		return;
	history->bytes += len;
	history->count++;
}

void jupyter_history_done(struct jupyter_history *history)
{
	for (size_t i = 0; i < history->count; i++)
		free(history->entries[i].code);
	free(history->entries);
	*history = (struct jupyter_history){ .bytes_max = history->bytes_max };
}

struct query {
	const char *kind, *pattern;
	int64_t count, first, last; /* negative count: all */
	bool unique, with_output;
};

static int64_t number_of(const struct json_value *content, const char *key, int64_t otherwise)
{
	int64_t value = otherwise;

	(void)json_read_int(json_read_member(content, key), &value);
	return value;
}

static bool flag_of(const struct json_value *content, const char *key)
{
	bool flag = false;

	(void)json_read_bool(json_read_member(content, key), &flag);
	return flag;
}

/* Whether a later entry has the same text. */
static bool comes_again(const struct jupyter_history *history, size_t at)
{
	for (size_t i = at + 1; i < history->count; i++)
		if (strcmp(history->entries[i].code, history->entries[at].code) == 0)
			return true;
	return false;
}

static bool is_wanted(const struct jupyter_history *history, size_t at, const struct query *query)
{
	const struct jupyter_entry *entry = &history->entries[at];

	if (strcmp(query->kind, "range") == 0)
		return (int64_t)entry->line >= query->first && (int64_t)entry->line < query->last;
	if (strcmp(query->kind, "search") == 0)
		return fnmatch(query->pattern, entry->code, 0) == 0 &&
		       !(query->unique && comes_again(history, at));
	return strcmp(query->kind, "tail") == 0;
}

static void write_entry(struct json_writer *json, const struct jupyter_entry *entry,
			bool with_output)
{
	json_write_array_begin(json);
	json_write_int(json, SESSION);
	json_write_uint(json, entry->line);
	if (with_output)
		json_write_array_begin(json);
	json_write_string(json, entry->code);
	if (with_output) {
		json_write_null(json);
		json_write_array_end(json);
	}
	json_write_array_end(json);
}

/* Writes the last `count` matching entries, oldest first. */
static void write_entries(struct json_writer *json, const struct jupyter_history *history,
			  const struct query *query)
{
	size_t begin = history->count;
	int64_t left = query->count;

	while (begin > 0 && left != 0)
		if (is_wanted(history, --begin, query))
			left--;
	for (size_t i = begin; i < history->count; i++)
		if (is_wanted(history, i, query))
			write_entry(json, &history->entries[i], query->with_output);
}

void jupyter_history_write(struct json_writer *json, const struct jupyter_history *history,
			   const struct json_value *content)
{
	struct query query = {
		.kind = json_get_str(content, "hist_access_type"),
		.pattern = json_get_str(content, "pattern"),
		.count = number_of(content, "n", -1),
		.first = number_of(content, "start", 0),
		.last = number_of(content, "stop", INT64_MAX),
		.unique = flag_of(content, "unique"),
		.with_output = flag_of(content, "output"),
	};

	if (strcmp(query.kind, "range") == 0)
		query.count = -1;
	json_write_key(json, "history");
	json_write_array_begin(json);
	write_entries(json, history, &query);
	json_write_array_end(json);
}
