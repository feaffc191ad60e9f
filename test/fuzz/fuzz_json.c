/*
 * fuzz_json.c - parsed documents survive the writer; compact JSON is compacted to itself.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes.
 * Never:    accepts a difference between a document and its copy.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "codec/base64.h"
#include "codec/json_read.h"
#include "codec/json_write.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void copy(struct json_writer *writer, const struct json_value *value)
{
	const struct json_value *member = NULL;
	const char *key = NULL;
	int64_t number = 0;
	size_t len = 0;

	switch (json_read_kind(value)) {
	case JSON_KIND_NULL:
		json_write_null(writer);
		break;
	case JSON_KIND_BOOL:
		json_write_bool(writer, json_read_bool(value, &(bool){ false }));
		break;
	case JSON_KIND_NUMBER:
		if (json_read_int(value, &number))
			json_write_int(writer, number);
		else
			json_write_raw(writer, "0.5", 3);
		break;
	case JSON_KIND_STRING:
		key = json_read_text(value, &len);
		json_write_text(writer, key, len);
		break;
	case JSON_KIND_ARRAY:
		json_write_array_begin(writer);
		for (size_t i = 0; i < json_read_count(value); i++)
			copy(writer, json_read_at(value, i));
		json_write_array_end(writer);
		break;
	case JSON_KIND_OBJECT:
		json_write_object_begin(writer);
		for (size_t i = 0; i < 64 && json_read_member_at(value, i, &key, &member); i++) {
			json_write_key(writer, key);
			copy(writer, member);
		}
		json_write_object_end(writer);
		break;
	}
}

static struct json_value *parse(const struct buf *text)
{
	struct json_value *document = NULL;
	struct err err;

	if (json_read_parse(buf_text(text), text->len, text->max, &document, &err) < 0)
		abort();
	return document;
}

/* Writing a document, then reading and writing that text, must give the same text. */
static void check_round_trip(const struct json_value *document, size_t size)
{
	cleanup_buf struct buf first = BUF_INIT(size * 6 + 4096);
	cleanup_buf struct buf second = BUF_INIT(size * 6 + 4096);
	struct json_writer writer;
	struct json_value *again;
	struct err err;

	json_write_init(&writer, &first);
	copy(&writer, document);
	if (json_write_finish(&writer, &err) < 0)
		abort();
	again = parse(&first);
	json_write_init(&writer, &second);
	copy(&writer, again);
	json_read_free(again);
	if (json_write_finish(&writer, &err) < 0 || first.len != second.len ||
	    memcmp(first.data, second.data, first.len) != 0)
		abort();
}

/* Any bytes as a text make valid JSON on one line; as base64 they round trip. */
static void check_text(const char *bytes, size_t size)
{
	cleanup_buf struct buf text = BUF_INIT(size * 6 + 64);
	cleanup_buf struct buf base = BUF_INIT(size * 2 + 64);
	cleanup_buf struct buf back = BUF_INIT(size + 64);
	struct json_writer writer;
	struct err err;

	json_write_init(&writer, &text);
	json_write_object_begin(&writer);
	json_write_member_text(&writer, "text", bytes, size);
	json_write_object_end(&writer);
	if (json_write_finish(&writer, &err) < 0 || memchr(text.data, '\n', text.len) != NULL)
		abort();
	json_read_free(parse(&text));
	if (base64_encode(bytes, size, &base, &err) < 0 ||
	    base64_decode(buf_text(&base), base.len, &back, &err) < 0 || back.len != size ||
	    (size > 0 && memcmp(back.data, bytes, size) != 0))
		abort();
	buf_clear(&back);
	(void)base64_decode(bytes, size, &back, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = size > 0 ? (const char *)data : "";
	cleanup_buf struct buf compact = BUF_INIT(size + 1);
	cleanup_buf struct buf again = BUF_INIT(size + 1);
	struct json_value *document = NULL;
	enum json_kind kind;
	struct err err;

	check_text(text, size);
	if (json_read_parse(text, size, 1u << 20, &document, &err) == 0)
		check_round_trip(document, size);
	json_read_free(document);
	if (json_read_compact(text, size, 1u << 20, &compact, &kind, &err) < 0)
		return 0;
	if (json_read_compact(compact.data, compact.len, 1u << 20, &again, &kind, &err) < 0 ||
	    compact.len != again.len || memcmp(compact.data, again.data, again.len) != 0 ||
	    memchr(compact.data, '\n', compact.len) != NULL)
		abort();
	return 0;
}
