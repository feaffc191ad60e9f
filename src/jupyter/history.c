/*
 * history.c - what was executed in this session, for consoles: the tail, a range, a search.
 *
 * Runs in:  reckon-jupyter.
 * Reads:    patterns of clients.
 * Never:    keeps more than it may: the oldest goes first.
 */
#include <fnmatch.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "jupyter/inner.h"

#define ENTRIES_MAX 10000u
#define ANSWER_MAX ((size_t)64 * 1024 * 1024)
#define SESSION 1 /* there is no other */

struct history_entry {
	uint64_t line;
	char *code;
};

void history_add(struct history *history, uint64_t line, const char *code, size_t len)
{
	if (history->entries == NULL)
		history->entries = mem_new0(ENTRIES_MAX, sizeof(*history->entries));
	if (history->count == ENTRIES_MAX) {
		free(history->entries[0].code);
		memmove(history->entries, history->entries + 1,
			(ENTRIES_MAX - 1) * sizeof(*history->entries));
		history->count--;
	}
	history->entries[history->count++] =
		(struct history_entry){ line, strndup(code, len) };
}

void history_done(struct history *history)
{
	for (size_t i = 0; i < history->count; i++)
		free(history->entries[i].code);
	free(history->entries);
}

struct wish {
	const char *kind, *pattern;
	int64_t count, first, last; /* count negative: all */
	bool unique, with_output;
};

static int64_t number(const struct message *request, const char *key, int64_t otherwise)
{
	int64_t value = otherwise;

	(void)json_read_int(json_read_member(request->content, key), &value);
	return value;
}

/* Whether a later entry has the same text. */
static bool comes_again(const struct history *history, size_t at)
{
	for (size_t i = at + 1; i < history->count; i++)
		if (strcmp(history->entries[i].code, history->entries[at].code) == 0)
			return true;
	return false;
}

static bool is_wanted(const struct history *history, size_t at, const struct wish *wish)
{
	const struct history_entry *entry = &history->entries[at];

	if (entry->code == NULL)
		return false;
	if (strcmp(wish->kind, "range") == 0)
		return (int64_t)entry->line >= wish->first && (int64_t)entry->line < wish->last;
	if (strcmp(wish->kind, "search") == 0)
		return fnmatch(wish->pattern, entry->code, 0) == 0 &&
		       !(wish->unique && comes_again(history, at));
	return strcmp(wish->kind, "tail") == 0;
}

static void write_entry(struct json_writer *json, const struct history_entry *entry,
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

/* The last `count` of those that are wanted, oldest first. */
static void write_entries(struct json_writer *json, const struct history *history,
			  const struct wish *wish)
{
	size_t begin = history->count;
	int64_t left = wish->count;

	while (begin > 0 && left != 0)
		if (is_wanted(history, --begin, wish))
			left--;
	for (size_t i = begin; i < history->count; i++)
		if (is_wanted(history, i, wish))
			write_entry(json, &history->entries[i], wish->with_output);
}

void history_request(struct kernel *kernel, const struct message *request)
{
	cleanup_buf struct buf content = BUF_INIT(ANSWER_MAX);
	struct wish wish = {
		.kind = message_text(request, "hist_access_type", NULL),
		.pattern = message_text(request, "pattern", NULL),
		.count = number(request, "n", -1),
		.first = number(request, "start", 0),
		.last = number(request, "stop", INT64_MAX),
		.unique = message_flag(request, "unique", false),
		.with_output = message_flag(request, "output", false),
	};
	struct json_writer json;

	if (strcmp(wish.kind, "range") == 0)
		wish.count = -1;
	json_write_init(&json, &content);
	json_write_object_begin(&json);
	json_write_member_string(&json, "status", "ok");
	json_write_key(&json, "history");
	json_write_array_begin(&json);
	write_entries(&json, &kernel->history, &wish);
	json_write_array_end(&json);
	if (content_end(&json))
		message_send(kernel, request->socket, request, "history_reply", &content);
}
