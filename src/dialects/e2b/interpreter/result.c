/*
 * result.c - a display in the form of E2B: media types become members, a table its columns.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    bundles of hostile programs, as JSON that libreckon wrote.
 * Never:    writes a table with missing rows as if it were complete.
 */
#include <string.h>

#include "base/cleanup.h"
#include "dialects/e2b/interpreter/interpreter.h"

#define TABLE "application/vnd.reckon.table+json"
#define CHART "application/vnd.reckon.chart+json"
#define PLAIN_VALUE "application/vnd.reckon.value+json"
#define VALUE_MAX ((size_t)32 << 20)
#define COLUMNS_MAX 2000u

static const struct {
	const char *media, *member;
} known[] = {
	{ "text/html", "html" },
	{ "text/markdown", "markdown" },
	{ "text/latex", "latex" },
	{ "application/javascript", "javascript" },
	{ "image/svg+xml", "svg" },
	{ "image/png", "png" },
	{ "image/jpeg", "jpeg" },
	{ "application/pdf", "pdf" },
	{ "application/json", "json" },
	{ CHART, "chart" },
	{ PLAIN_VALUE, "json" },
};

static const char *member_of(const char *media)
{
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(known[i].media, media) == 0)
			return known[i].member;
	return NULL;
}

static void write_value(struct json_writer *json, const struct json_value *value)
{
	cleanup_buf struct buf text = BUF_INIT(VALUE_MAX);
	struct err ignored;

	if (json_read_dump(value, &text, &ignored) < 0)
		json_write_null(json);
	else
		json_write_raw(json, text.data, text.len);
}

/* Leaves out the quotes around the representation of a string. */
static void write_text(struct json_writer *json, const struct json_value *value)
{
	size_t len = 0;
	const char *text = json_read_text(value, &len);

	if (text == NULL)
		return;
	if (len >= 2 && (text[0] == '\'' || text[0] == '"') && text[len - 1] == text[0]) {
		text++;
		len -= 2;
	}
	json_write_member_text(json, "text", text, len);
}

static const char *name_of(const struct json_value *columns, size_t index)
{
	return json_read_text(json_read_member(json_read_at(columns, index), "name"), NULL);
}

/* Of several columns with one name, only the last one is written. */
static bool is_hidden(const struct json_value *columns, size_t index)
{
	const char *name = name_of(columns, index);

	for (size_t i = index + 1; name != NULL && i < json_read_count(columns); i++) {
		const char *later = name_of(columns, i);

		if (later != NULL && strcmp(later, name) == 0)
			return true;
	}
	return name == NULL;
}

static void write_columns(struct json_writer *json, const struct json_value *table)
{
	const struct json_value *columns = json_read_member(table, "columns");
	const struct json_value *rows = json_read_member(table, "data");
	int64_t total = 0;

	(void)json_read_int(json_read_member(table, "rows"), &total);
	if (json_read_count(columns) == 0 || json_read_count(columns) > COLUMNS_MAX ||
	    (uint64_t)total != json_read_count(rows))
		return;
	json_write_key(json, "data");
	json_write_object_begin(json);
	for (size_t c = 0; c < json_read_count(columns); c++) {
		if (is_hidden(columns, c))
			continue;
		json_write_key(json, name_of(columns, c));
		json_write_array_begin(json);
		for (size_t r = 0; r < json_read_count(rows); r++)
			write_value(json, json_read_at(json_read_at(rows, r), c));
		json_write_array_end(json);
	}
	json_write_object_end(json);
}

static void write_extra(struct json_writer *json, const struct json_value *bundle)
{
	const struct json_value *value;
	const char *media;

	json_write_key(json, "extra");
	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(bundle, i, &media, &value); i++)
		if (member_of(media) == NULL && strcmp(media, "text/plain") != 0 &&
		    strcmp(media, TABLE) != 0) {
			json_write_key(json, media);
			write_value(json, value);
		}
	json_write_object_end(json);
}

void e2b_write_result(struct json_writer *json, const struct json_value *bundle, bool is_main)
{
	const struct json_value *value;
	const char *media;

	json_write_object_begin(json);
	json_write_member_string(json, "type", "result");
	for (size_t i = 0; json_read_member_at(bundle, i, &media, &value); i++) {
		const char *member = member_of(media);

		if (strcmp(media, "text/plain") == 0) {
			write_text(json, value);
		} else if (strcmp(media, TABLE) == 0) {
			write_columns(json, value);
		} else if (member != NULL) {
			json_write_key(json, member);
			write_value(json, value);
		}
	}
	write_extra(json, bundle);
	json_write_member_bool(json, "is_main_result", is_main);
	json_write_object_end(json);
}
