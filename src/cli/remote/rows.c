/*
 * rows.c - a list of an answer as a table.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a daemon.
 * Never:    shows them to a terminal unescaped: term/table.h does that.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "cli/term/look.h"
#include "cli/term/table.h"
#include "cli/term/width.h"

/* A value as a person reads it: texts as they are, lists joined, the rest as JSON. */
static int cell_text(const struct json_value *value, struct buf *ret, struct err *err)
{
	const char *text = json_read_text(value, NULL);

	if (value == NULL || json_read_kind(value) == JSON_KIND_NULL)
		return 0;
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
				      &text, err) < 0 ||
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
