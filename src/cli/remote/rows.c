/*
 * rows.c - prints a list as a table, and an object as lines.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a daemon.
 * Never:    prints them to a terminal unescaped: term/table.h escapes them.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/term/look.h"
#include "cli/term/table.h"
#include "cli/term/width.h"
#include "codec/json_get.h"

void remote_age(const char *moment, char ret[REMOTE_AGE_SIZE])
{
	struct tm tm = { 0 };
	long seconds;

	ret[0] = '\0';
	if (strptime(moment, "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return;
	seconds = (long)(time(NULL) - timegm(&tm));
	if (seconds < 120)
		(void)snprintf(ret, REMOTE_AGE_SIZE, "%ld s", seconds > 0 ? seconds : 0);
	else if (seconds < 7200)
		(void)snprintf(ret, REMOTE_AGE_SIZE, "%ld min", seconds / 60);
	else if (seconds < 172800)
		(void)snprintf(ret, REMOTE_AGE_SIZE, "%ld h", seconds / 3600);
	else
		(void)snprintf(ret, REMOTE_AGE_SIZE, "%ld d", seconds / 86400);
}

static int size_text(const struct json_value *value, bool is_limit, struct buf *ret,
		     struct err *err)
{
	char size[CLI_SIZE_TEXT];
	int64_t bytes = 0;

	(void)json_read_int(value, &bytes);
	if (is_limit)
		cli_format_binary(bytes > 0 ? (uint64_t)bytes : 0, size);
	else
		cli_format_size(bytes > 0 ? (uint64_t)bytes : 0, size);
	return buf_adds(ret, size, err);
}

/* Formats a value for a person: text unchanged, lists joined, anything else as JSON. */
static int cell_text(const struct json_value *value, const struct remote_column *column,
		     struct buf *ret, struct err *err)
{
	const char *text = json_read_text(value, NULL);

	if (value == NULL || json_read_kind(value) == JSON_KIND_NULL)
		return 0;
	if (column->kind == REMOTE_SIZE || column->kind == REMOTE_LIMIT)
		return size_text(value, column->kind == REMOTE_LIMIT, ret, err);
	if (text != NULL && column->kind == REMOTE_AGE) {
		char age[REMOTE_AGE_SIZE];

		remote_age(text, age);
		return buf_adds(ret, age, err);
	}
	if (text != NULL)
		return buf_adds(ret, text, err);
	if (json_read_kind(value) != JSON_KIND_ARRAY)
		return json_read_dump(value, ret, err);
	for (size_t i = 0; i < json_read_count(value); i++)
		if (buf_addf(ret, err, "%s%s", i > 0 ? " " : "",
			     json_read_text(json_read_at(value, i), NULL)) < 0)
			return (int)err->code;
	return 0;
}

static int fill(struct term_table *table, const struct json_value *rows,
		const struct remote_column *columns, size_t count, struct err *err)
{
	for (size_t row = 0; row < json_read_count(rows); row++)
		for (size_t i = 0; i < count; i++) {
			cleanup_buf struct buf text = BUF_INIT(65536);

			if (cell_text(json_read_member(json_read_at(rows, row), columns[i].key),
				      &columns[i], &text, err) < 0 ||
			    term_table_cell(table, row, i, buf_text(&text), text.len, err) < 0)
				return (int)err->code;
		}
	return 0;
}

int remote_print_rows(const struct json_value *rows, const struct remote_column *columns,
		      size_t count)
{
	struct term_table *table = term_table_new(count, json_read_count(rows));
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	const bool terminal = isatty(STDOUT_FILENO);
	size_t width = 1000, lines;
	struct err err = { 0 };
	int code;

	term_width_locale();
	if (terminal)
		term_width_window(STDOUT_FILENO, &width, &lines);
	for (size_t i = 0; i < count; i++)
		term_table_head(table, i, columns[i].head, columns[i].kind != REMOTE_TEXT);
	code = fill(table, rows, columns, count, &err);
	if (code == 0)
		code = term_table_draw(table, width, term_has_colour(STDOUT_FILENO), &text, &err);
	term_table_free(table);
	return code < 0 ? cli_complain(&err) : cli_write_stdout(buf_text(&text), text.len);
}

int remote_print_lines(const struct json_value *object, const struct remote_column *lines,
		       size_t count)
{
	cleanup_buf struct buf text = BUF_INIT(1024 * 1024);
	struct err err;

	for (size_t i = 0; i < count; i++) {
		cleanup_buf struct buf value = BUF_INIT(65536);

		if (cell_text(json_read_member(object, lines[i].key), &lines[i], &value, &err) <
			    0 ||
		    (value.len > 0 && buf_addf(&text, &err, "%-14s %s\n", lines[i].head,
					       buf_text(&value)) < 0))
			return cli_complain(&err);
	}
	return cli_print_text(buf_text(&text), text.len);
}

/* Skips values that cannot be names. */
int remote_print_words(const struct json_value *rows, const char *key)
{
	cleanup_buf struct buf text = BUF_INIT(CLIENT_JSON_MAX);
	struct err err;

	for (size_t i = 0; i < json_read_count(rows); i++) {
		const char *word = json_get_str(json_read_at(rows, i), key);

		if (id_is_name(word, strlen(word), "-") && buf_addf(&text, &err, "%s\n", word) < 0)
			return cli_complain(&err);
	}
	return cli_write_stdout(buf_text(&text), text.len);
}
