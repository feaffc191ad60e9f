/*
 * jupyter.c - contents of Jupyter messages.
 *
 * Runs in:  reckon-jupyter, reckon-front-jupyter.
 * Reads:    events and records of hostile code, which are JSON.
 * Never:    passes on data that is meant for models: Jupyter clients cannot display it.
 */
#include "codec/jupyter/jupyter.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "codec/json_get.h"

#define OWN_TYPE "vnd.reckon." /* charts and tables as data, summaries: only Reckon's own clients */
#define INTERRUPT_VALUE "interrupted on request" /* how libreckon's error for it begins */
#define VALUE_MAX ((size_t)256 * 1024 * 1024)

void jupyter_write_language(struct json_writer *json, const struct jupyter_language *language)
{
	char extension[32];

	(void)snprintf(extension, sizeof(extension), ".%s", language->suffix);
	json_write_object_begin(json);
	json_write_member_string(json, "name", language->name);
	json_write_member_string(json, "version", language->version);
	json_write_member_string(json, "mimetype", language->mime);
	json_write_member_string(json, "file_extension", extension);
	json_write_member_string(json, "pygments_lexer", language->pygments_lexer);
	json_write_key(json, "codemirror_mode");
	json_write_raw(json, language->codemirror_mode, strlen(language->codemirror_mode));
	if (language->nbconvert_exporter != NULL)
		json_write_member_string(json, "nbconvert_exporter", language->nbconvert_exporter);
	json_write_object_end(json);
}

void jupyter_write_value(struct json_writer *json, const char *key, const struct json_value *value,
			 const char *otherwise)
{
	struct buf text = BUF_INIT(VALUE_MAX);
	struct err err;

	json_write_key(json, key);
	if (value != NULL && json_read_dump(value, &text, &err) == 0)
		json_write_raw(json, buf_text(&text), text.len);
	else
		json_write_raw(json, otherwise, strlen(otherwise));
	buf_done(&text);
}

const char *jupyter_expression_code(struct json_writer *json, size_t i,
				    const struct json_value *value, size_t *ret_len)
{
	const char *code = json_read_text(value, ret_len);
	char text[64];

	if (code != NULL && i < JUPYTER_EXPRESSIONS_MAX)
		return code;
	(void)snprintf(text, sizeof(text), "only the first %u expressions are evaluated",
		       JUPYTER_EXPRESSIONS_MAX);
	json_write_object_begin(json);
	json_write_member_string(json, "status", "error");
	json_write_member_string(json, "ename", code == NULL ? "TypeError" : "TooManyExpressions");
	json_write_member_string(json, "evalue",
				 code == NULL ? "an expression must be a string" : text);
	jupyter_write_value(json, "traceback", NULL, "[]");
	json_write_object_end(json);
	return NULL;
}

static bool is_own(const char *type)
{
	const char *slash = strchr(type, '/');

	return slash != NULL && strncmp(slash + 1, OWN_TYPE, strlen(OWN_TYPE)) == 0;
}

void jupyter_write_bundle(struct json_writer *json, const struct json_value *event)
{
	const struct json_value *data = json_read_member(event, "data"), *value;
	const char *type;

	json_write_key(json, "data");
	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(data, i, &type, &value); i++)
		if (!is_own(type))
			jupyter_write_value(json, type, value, "null");
	json_write_object_end(json);
	jupyter_write_value(json, "metadata", json_read_member(event, "metadata"), "{}");
}

/* Writes one array entry per line; clients join them again. */
static void write_lines(struct json_writer *json, const char *text)
{
	json_write_array_begin(json);
	while (*text != '\0') {
		const size_t len = strcspn(text, "\n");

		json_write_text(json, text, len);
		text += len + (text[len] == '\n');
	}
	json_write_array_end(json);
}

/* Whether an error is an interrupt, for which Jupyter has a fixed form; events have no status for
 * it. */
static bool is_interrupt(const char *name, const char *value)
{
	return strcmp(name, "Interrupted") == 0 &&
	       strncmp(value, INTERRUPT_VALUE, strlen(INTERRUPT_VALUE)) == 0;
}

static void write_error(struct json_writer *json, const struct json_value *error, const char *name,
			const char *value)
{
	if (is_interrupt(name, value)) {
		name = "KeyboardInterrupt";
		value = "";
	}
	json_write_member_string(json, "ename", name);
	json_write_member_string(json, "evalue", value);
	json_write_key(json, "traceback");
	write_lines(json, json_get_str(error, "traceback"));
}

void jupyter_write_failure(struct json_writer *json, const struct json_value *record)
{
	const struct json_value *error = json_read_member(record, "error");

	write_error(json, error, json_get_str(error, "name"), json_get_str(error, "value"));
}

static void write_stream(struct json_writer *json, const struct json_value *event)
{
	size_t len = 0;
	const char *text = json_read_text(json_read_member(event, "text"), &len);

	json_write_member_string(json, "name", json_get_str(event, "name"));
	json_write_member_text(json, "text", text != NULL ? text : "", len);
}

static void write_display(struct json_writer *json, const struct json_value *event)
{
	const char *id = json_read_text(json_read_member(event, "display_id"), NULL);

	jupyter_write_bundle(json, event);
	json_write_key(json, "transient");
	json_write_object_begin(json);
	if (id != NULL)
		json_write_member_string(json, "display_id", id);
	json_write_object_end(json);
}

static void write_clear(struct json_writer *json, const struct json_value *event)
{
	bool wait = false;

	(void)json_read_bool(json_read_member(event, "wait"), &wait);
	json_write_member_bool(json, "wait", wait);
}

bool jupyter_content(const char *name, const struct json_value *event, uint64_t count,
		     struct buf *ret, struct err *err)
{
	const struct json_value *error = json_read_member(event, "error");
	const bool is_result = strcmp(name, "execute_result") == 0;
	struct json_writer json;
	bool is_known = true;

	json_write_init(&json, ret);
	json_write_object_begin(&json);
	if (is_result)
		json_write_member_uint(&json, "execution_count", count);
	if (strcmp(name, "stream") == 0)
		write_stream(&json, event);
	else if (is_result || strcmp(name, "display_data") == 0 ||
		 strcmp(name, "update_display_data") == 0)
		write_display(&json, event);
	else if (strcmp(name, "error") == 0)
		write_error(&json, error, json_get_str(error, "name"),
			    json_get_str(error, "value"));
	else if (strcmp(name, "clear_output") == 0)
		write_clear(&json, event);
	else
		is_known = false;
	json_write_object_end(&json);
	return json_write_finish(&json, err) == 0 && is_known;
}

/* ---- cursors -------------------------------------------------------------------------------- */

static size_t step(const char *code, size_t len)
{
	const size_t n = utf8_sequence(code, len);

	return n > 0 ? n : 1;
}

size_t jupyter_bytes_of(const char *code, size_t len, int64_t characters)
{
	size_t at = 0;

	while (at < len && characters-- > 0)
		at += step(code + at, len - at);
	return at < len ? at : len;
}

uint64_t jupyter_characters_of(const char *code, size_t len, size_t bytes)
{
	uint64_t count = 0;

	for (size_t at = 0; at < len && at < bytes; count++)
		at += step(code + at, len - at);
	return count;
}

size_t jupyter_cursor_of(const struct json_value *content, const char *code, size_t len)
{
	int64_t cursor = INT64_MAX;

	(void)json_read_int(json_read_member(content, "cursor_pos"), &cursor);
	return jupyter_bytes_of(code, len, cursor);
}

void jupyter_write_completion(struct json_writer *json, const struct json_value *answer,
			      const char *code, size_t len, size_t cursor)
{
	int64_t first = (int64_t)cursor, last = (int64_t)cursor;

	(void)json_read_int(json_read_member(answer, "cursor_start"), &first);
	(void)json_read_int(json_read_member(answer, "cursor_end"), &last);
	jupyter_write_value(json, "matches", json_read_member(answer, "matches"), "[]");
	json_write_member_uint(json, "cursor_start",
			       jupyter_characters_of(code, len, (size_t)first));
	json_write_member_uint(json, "cursor_end", jupyter_characters_of(code, len, (size_t)last));
	jupyter_write_value(json, "metadata", NULL, "{}");
}
