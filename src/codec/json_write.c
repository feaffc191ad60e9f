/*
 * json_write.c - writes JSON text step by step into a bounded buffer.
 *
 * Runs in:  trusted processes and the command line.
 * Reads:    hostile bytes, as text to escape.
 * Never:    leaves invalid JSON or a line break in the output.
 */
#include "codec/json_write.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "codec/base64.h"
#include "base/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

void json_write_init(struct json_writer *writer, struct buf *out)
{
	*writer = (struct json_writer){ .out = out };
}

static bool is_ok(const struct json_writer *writer)
{
	return writer->err.code == ERR_OK;
}

static void put(struct json_writer *writer, const char *bytes, size_t len)
{
	if (is_ok(writer))
		(void)buf_add(writer->out, bytes, len, &writer->err);
}

static void misuse(struct json_writer *writer, const char *what)
{
	if (is_ok(writer))
		(void)err_set(&writer->err, ERR_INVALID, "JSON writer: %s", what);
}

/* Prepares for a value: writes a comma in an array, nothing after a key. */
static bool value_begin(struct json_writer *writer)
{
	unsigned top = writer->depth - 1;

	if (!is_ok(writer))
		return false;
	if (writer->depth == 0) {
		if (writer->is_done)
			misuse(writer, "a second value");
		writer->is_done = true;
	} else if (writer->is_object[top]) {
		if (!writer->has_key)
			misuse(writer, "a member without key");
		writer->has_key = false;
	} else {
		if (writer->has_member[top])
			put(writer, ",", 1);
		writer->has_member[top] = true;
	}
	return is_ok(writer);
}

static void container_begin(struct json_writer *writer, bool is_object)
{
	if (!value_begin(writer))
		return;
	if (writer->depth == JSON_WRITE_DEPTH_MAX) {
		misuse(writer, "nested too deep");
		return;
	}
	writer->is_object[writer->depth] = is_object;
	writer->has_member[writer->depth] = false;
	writer->depth++;
	put(writer, is_object ? "{" : "[", 1);
}

static void container_end(struct json_writer *writer, bool is_object)
{
	if (writer->depth == 0 || writer->is_object[writer->depth - 1] != is_object ||
	    writer->has_key) {
		misuse(writer, "an end that fits no beginning");
		return;
	}
	writer->depth--;
	put(writer, is_object ? "}" : "]", 1);
}

void json_write_object_begin(struct json_writer *writer)
{
	container_begin(writer, true);
}

void json_write_object_end(struct json_writer *writer)
{
	container_end(writer, true);
}

void json_write_array_begin(struct json_writer *writer)
{
	container_begin(writer, false);
}

void json_write_array_end(struct json_writer *writer)
{
	container_end(writer, false);
}

static void put_escape(struct json_writer *writer, unsigned char byte)
{
	static const char digits[] = "0123456789abcdef";
	char unicode[6] = { '\\', 'u', '0', '0', digits[byte >> 4], digits[byte & 15] };

	switch (byte) {
	case '"':
		put(writer, "\\\"", 2);
		break;
	case '\\':
		put(writer, "\\\\", 2);
		break;
	case '\n':
		put(writer, "\\n", 2);
		break;
	case '\r':
		put(writer, "\\r", 2);
		break;
	case '\t':
		put(writer, "\\t", 2);
		break;
	default:
		put(writer, unicode, sizeof(unicode));
		break;
	}
}

/* Writes in runs: a call per byte would dominate the cost of a megabyte of output. */
static void put_quoted(struct json_writer *writer, const char *text, size_t len)
{
	size_t start = 0, at = 0;

	put(writer, "\"", 1);
	while (at < len) {
		unsigned char byte = (unsigned char)text[at];
		size_t width = byte < 0x80 ? 1 : utf8_sequence(text + at, len - at);
		bool is_plain = width > 0 && byte >= 0x20 && byte != '"' && byte != '\\' &&
				byte != 0x7f;

		if (is_plain) {
			at += width;
			continue;
		}
		put(writer, text + start, at - start);
		if (width == 0)
			put(writer, REPLACEMENT, 3);
		else
			put_escape(writer, byte);
		start = ++at;
	}
	put(writer, text + start, len - start);
	put(writer, "\"", 1);
}

void json_write_key_text(struct json_writer *writer, const char *key, size_t len)
{
	unsigned top = writer->depth - 1;

	if (writer->depth == 0 || !writer->is_object[top] || writer->has_key) {
		misuse(writer, "a key where none fits");
		return;
	}
	if (writer->has_member[top])
		put(writer, ",", 1);
	writer->has_member[top] = true;
	put_quoted(writer, key, len);
	put(writer, ":", 1);
	writer->has_key = true;
}

void json_write_key(struct json_writer *writer, const char *key)
{
	json_write_key_text(writer, key, strlen(key));
}

void json_write_text(struct json_writer *writer, const char *text, size_t len)
{
	if (value_begin(writer))
		put_quoted(writer, text, len);
}

void json_write_string(struct json_writer *writer, const char *text)
{
	if (text == NULL)
		json_write_null(writer);
	else
		json_write_text(writer, text, strlen(text));
}

void json_write_base64(struct json_writer *writer, const void *bytes, size_t len)
{
	if (!value_begin(writer))
		return;
	put(writer, "\"", 1);
	if (is_ok(writer))
		(void)base64_encode(bytes, len, writer->out, &writer->err);
	put(writer, "\"", 1);
}

void json_write_int(struct json_writer *writer, int64_t value)
{
	if (value_begin(writer))
		(void)buf_addf(writer->out, &writer->err, "%" PRId64, value);
}

void json_write_uint(struct json_writer *writer, uint64_t value)
{
	if (value_begin(writer))
		(void)buf_addf(writer->out, &writer->err, "%" PRIu64, value);
}

void json_write_seconds(struct json_writer *writer, uint64_t ns)
{
	char text[40];
	size_t len;

	/* Avoid a double: a locale with a decimal comma would break the JSON. */
	(void)snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64, ns / 1000000000u,
		       ns % 1000000000u / 1000u);
	for (len = strlen(text); text[len - 1] == '0'; len--)
		;
	if (text[len - 1] == '.')
		len--;
	if (value_begin(writer))
		put(writer, text, len);
}

void json_write_bool(struct json_writer *writer, bool value)
{
	if (value_begin(writer))
		put(writer, value ? "true" : "false", value ? 4 : 5);
}

void json_write_null(struct json_writer *writer)
{
	if (value_begin(writer))
		put(writer, "null", 4);
}

void json_write_raw(struct json_writer *writer, const char *json, size_t len)
{
	if (value_begin(writer))
		put(writer, json, len);
}

void json_write_member_string(struct json_writer *writer, const char *key, const char *value)
{
	json_write_key(writer, key);
	json_write_string(writer, value);
}

void json_write_member_text(struct json_writer *writer, const char *key, const char *value,
			    size_t len)
{
	json_write_key(writer, key);
	json_write_text(writer, value, len);
}

void json_write_member_uint(struct json_writer *writer, const char *key, uint64_t value)
{
	json_write_key(writer, key);
	json_write_uint(writer, value);
}

void json_write_member_limit(struct json_writer *writer, const char *key, uint64_t value)
{
	json_write_key(writer, key);
	if (value > 0)
		json_write_uint(writer, value);
	else
		json_write_null(writer);
}

void json_write_member_bool(struct json_writer *writer, const char *key, bool value)
{
	json_write_key(writer, key);
	json_write_bool(writer, value);
}

int json_write_finish(struct json_writer *writer, struct err *err)
{
	if (is_ok(writer) && (writer->depth > 0 || !writer->is_done))
		misuse(writer, "not complete");
	if (!is_ok(writer)) {
		*err = writer->err;
		return (int)err->code;
	}
	return 0;
}

void json_write_begin_with(struct json_writer *writer, struct buf *out, const char *key,
			   const char *value)
{
	json_write_init(writer, out);
	json_write_object_begin(writer);
	json_write_member_string(writer, key, value);
}
