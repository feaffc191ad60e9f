/*
 * look.c - asks the kernel whether a cell is complete, and for completions.
 *
 * Runs in:  reckon repl, between cells.
 * Reads:    answers of a hostile kernel; names of the user's files.
 * Never:    offers a completion with control characters, which would go into the terminal.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/repl/repl.h"
#include "languages/languages.h"

#define MATCH_BYTES_MAX 1024

enum repl_whole repl_look_whole(struct repl *repl, const char *text, size_t len,
				struct buf *ret_indent)
{
	const struct session_look look = { SESSION_LOOK_IS_COMPLETE, text, len, 0 };
	struct json_value *answer = NULL;
	enum repl_whole whole = REPL_WHOLE;
	const char *status, *indent;
	struct err ignored;

	if (repl->lost)
		return REPL_UNKNOWN;
	if (repl_look(repl, &look, &answer, &ignored) < 0) {
		repl_note_lost(repl, &ignored);
		return REPL_UNKNOWN;
	}
	status = json_read_text(json_read_member(answer, "status"), NULL);
	indent = json_read_text(json_read_member(answer, "indent"), NULL);
	if (status == NULL || strcmp(status, "unknown") == 0)
		whole = REPL_UNKNOWN;
	else if (strcmp(status, "incomplete") == 0)
		whole = REPL_PART;
	if (indent != NULL && buf_adds(ret_indent, indent, &ignored) < 0)
		buf_clear(ret_indent);
	json_read_free(answer);
	return whole;
}

static bool is_whole(void *arg, const char *text, size_t len, struct buf *ret_indent)
{
	struct repl *repl = arg;

	if (strspn(text, " \t\n") == len || repl_command_is(text, len))
		return true;
	return repl_look_whole(repl, text, len, ret_indent) != REPL_PART;
}

/* ---- completion ---- */

static bool is_typable(const char *text, size_t len)
{
	if (len == 0 || len > MATCH_BYTES_MAX || !utf8_is_valid(text, len))
		return false;
	for (size_t i = 0; i < len; i++) {
		const unsigned char byte = (unsigned char)text[i];

		if (byte < 0x20 || byte == 0x7f ||
		    (byte == 0xc2 && (unsigned char)text[i + 1] < 0xa0))
			return false;
	}
	return true;
}

static void add_match(struct editor_matches *ret, const char *text, size_t len)
{
	if (ret->count == EDITOR_MATCHES_MAX || !is_typable(text, len))
		return;
	ret->text[ret->count] = mem_new0(len + 1, 1);
	memcpy(ret->text[ret->count++], text, len);
}

static bool is_there(const struct editor_matches *matches, const char *text)
{
	for (size_t i = 0; i < matches->count; i++)
		if (strcmp(matches->text[i], text) == 0)
			return true;
	return false;
}

/* Adds the names of our commands to the kernel's magics. */
static void add_commands(const char *text, size_t cursor, struct editor_matches *ret)
{
	const char *name;
	char full[32];

	if (cursor == 0 || text[0] != '%' || strcspn(text, " \t\n") < cursor)
		return;
	if (ret->count == 0) {
		ret->start = 0;
		ret->end = cursor;
	}
	for (size_t i = 0; (name = repl_command_name(i)) != NULL; i++) {
		/* The kernel's completions may start after the '%'. */
		(void)snprintf(full, sizeof(full), "%%%s", name);
		if (strncmp(full, text, cursor) == 0 && ret->start <= 1 &&
		    !is_there(ret, full + ret->start))
			add_match(ret, full + ret->start, strlen(full) - ret->start);
	}
}

/* Commands whose first argument is a file on the host. */
static bool takes_host_file(const char *text)
{
	static const char *const names[] = { "%put ", "%run ", "%load ", "%save " };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(text, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

static void add_file(const char *folder, const struct dirent *entry, struct editor_matches *ret)
{
	char path[4096 + 256 + 2], name[258];
	struct stat st;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
	(void)snprintf(name, sizeof(name), "%s%s", entry->d_name,
		       stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? "/" : "");
	if (strpbrk(name, " \t'\"\\") == NULL)
		add_match(ret, name, strlen(name));
}

static void add_host_files(const char *text, size_t cursor, struct editor_matches *ret)
{
	const char *slash, *from = text + cursor;
	const struct dirent *entry;
	char folder[4096] = ".";
	cleanup_dir DIR *dir = NULL;
	size_t stem;

	while (from > text && from[-1] != ' ')
		from--;
	slash = memrchr(from, '/', (size_t)(text + cursor - from));
	if (slash != NULL && (size_t)(slash - from) + 2 <= sizeof(folder))
		(void)snprintf(folder, sizeof(folder), "%.*s", (int)(slash - from) + 1, from);
	from = slash != NULL ? slash + 1 : from;
	stem = (size_t)(text + cursor - from);
	ret->start = (size_t)(from - text);
	ret->end = cursor;
	dir = opendir(folder);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (strncmp(entry->d_name, from, stem) == 0 &&
		    (entry->d_name[0] != '.' || stem > 0))
			add_file(folder, entry, ret);
	qsort(ret->text, ret->count, sizeof(ret->text[0]), text_compare);
}

static void add_kernels(struct repl *repl, const char *text, size_t len, size_t cursor,
			struct editor_matches *ret)
{
	const struct session_look look = { SESSION_LOOK_COMPLETE, text, len, cursor };
	const struct json_value *matches;
	struct json_value *answer = NULL;
	int64_t start = -1, end = -1;
	struct err ignored;

	if (repl->lost)
		return;
	if (repl_look(repl, &look, &answer, &ignored) < 0) {
		repl_note_lost(repl, &ignored);
		return;
	}
	(void)json_read_int(json_read_member(answer, "cursor_start"), &start);
	(void)json_read_int(json_read_member(answer, "cursor_end"), &end);
	matches = json_read_member(answer, "matches");
	if (start >= 0 && end >= start && (uint64_t)end <= len) {
		ret->start = (size_t)start;
		ret->end = (size_t)end;
		for (size_t i = 0; i < json_read_count(matches); i++) {
			size_t size = 0;
			const char *match = json_read_text(json_read_at(matches, i), &size);

			if (match != NULL)
				add_match(ret, match, size);
		}
	}
	json_read_free(answer);
}

static void complete(void *arg, const char *text, size_t len, size_t cursor,
		     struct editor_matches *ret)
{
	struct repl *repl = arg;

	if (takes_host_file(text)) {
		add_host_files(text, cursor, ret);
		return;
	}
	add_kernels(repl, text, len, cursor, ret);
	if ((run_language(&repl->run)->features & LANGUAGE_HAS_MAGICS) != 0 || text[0] == '%')
		add_commands(text, cursor, ret);
}

const struct editor_hooks repl_look_hooks = { .is_whole = is_whole, .complete = complete };
