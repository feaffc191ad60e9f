/*
 * test_lib_record.c - a record has the documented form, whatever the kernel sent.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    parses a record with anything but the strict reader.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "codec/json_read.h"
#include "lib/record/record.h"
#include "lib/record/text.h"

#define PNG "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0"
#define ITEM(which, text) { KERNEL_TAG_##which, sizeof(text) - 1, text }
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct record *new_record(void)
{
	const struct record_head head = { .id = "ex_1",
					  .session = "se_1",
					  .kernel = "python",
					  .sequence = 3,
					  .started_at = "2026-11-21T22:00:00.123Z",
					  .displays_max = 4 };

	return record_new(&head);
}

static struct json_value *read_again(const struct buf *json)
{
	struct json_value *document = NULL;
	struct err err;

	assert_null(memchr(json->data, '\n', json->len));
	assert_ok(&err, json_read_parse(json->data, json->len, json->len, &document, &err));
	return document;
}

/* Each part that record_part() returns is a JSON value right after the name of its member. */
static void check_parts(const struct record *record, const struct buf *json)
{
	static const char *const keys[] = { [RECORD_PART_FILES] = "\"files\":",
					    [RECORD_PART_RECEIPT] = "\"receipt\":" };
	struct err err;

	for (int i = 0; i < RECORD_PART_COUNT_; i++) {
		const struct record_slice part = record_part(record, (enum record_part)i);
		const size_t key_len = strlen(keys[i]);
		struct json_value *value;

		assert_true(part.at > key_len && part.at + part.len < json->len);
		assert_memory_equal(json->data + part.at - key_len, keys[i], key_len);
		assert_ok(&err, json_read_parse(json->data + part.at, part.len, part.len, &value,
						&err));
		json_read_free(value);
	}
}

static struct json_value *finish(struct record *record, enum record_status status)
{
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	struct err err;

	assert_ok(&err, record_finish(record, status, &json, &err));
	check_parts(record, &json);
	return read_again(&json);
}

/* Follows a path such as "results/0/data/text~1plain" ("~1" is a slash, as in JSON pointers). */
static const struct json_value *at(const struct json_value *value, const char *path)
{
	char part[128];

	while (*path != '\0') {
		size_t len = strcspn(path, "/"), used = 0;

		for (size_t i = 0; i < len; i++) {
			bool is_slash = path[i] == '~';

			part[used++] = is_slash ? '/' : path[i];
			i += is_slash ? 1 : 0;
		}
		part[used] = '\0';
		value = json_read_kind(value) == JSON_KIND_ARRAY ?
				json_read_at(value, strtoul(part, NULL, 10)) :
				json_read_member(value, part);
		path += len + (path[len] == '/' ? 1 : 0);
	}
	return value;
}

static const char *text_at(const struct json_value *value, const char *path)
{
	return json_read_text(at(value, path), NULL);
}

static size_t count_at(const struct json_value *value, const char *path)
{
	return json_read_count(at(value, path));
}

UNIT_TEST(an_empty_record_has_exactly_these_members)
{
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	struct err err;

	assert_ok(&err, record_finish(record, RECORD_OK, &json, &err));
	assert_string_equal(
		buf_text(&json),
		"{\"schema\":\"reckon.execution/1\",\"id\":\"ex_1\",\"session\":\"se_1\","
		"\"kernel\":\"python\",\"sequence\":3,\"status\":\"ok\","
		"\"started_at\":\"2026-11-21T22:00:00.123Z\",\"stdout\":\"\",\"stderr\":\"\","
		"\"results\":[],\"error\":null,\"outputs\":[],\"files\":[],\"receipt\":null,\"diagnostics\":[],"
		"\"truncated\":{},\"repeat\":null,\"text_left_out\":[],\"text\":\"(no output)\"}");
}

static void fill(struct record *record)
{
	static const struct kernel_item bundle[] = {
		ITEM(METADATA, "{ \"image/png\" : {} }"),
		ITEM(MIME, "text/plain"), ITEM(DATA, "<Figure size 640x480 with 1 Axes>"),
		ITEM(MIME, "image/png"), ITEM(DATA, PNG),
		ITEM(MIME, "application/vnd.reckon.chart+json"), ITEM(DATA, "{ \"n\": 1e2 }"),
	};
	static const struct kernel_item error[] = {
		ITEM(NAME, "KeyError"), ITEM(VALUE, "'salse'"),
		ITEM(TRACEBACK, "\x1b[0;31mTraceback\x1b[0m\nKeyError: 'salse'"),
		ITEM(REPAIR, "KeyError: 'salse'\n<cell 3>, line 2"),
		ITEM(HINT, "did you mean 'sales'?"), ITEM(HINT, ""), ITEM(HINT, "\x1b[1mtwo\x1b[0m"),
		ITEM(FRAME_FILE, "<cell 3>"), ITEM(FRAME_LINE, "2"),
		ITEM(FRAME_FUNCTION, "<module>"), ITEM(FRAME_SOURCE, "df['salse']"),
		ITEM(FRAME_FILE, "x.py"), ITEM(FRAME_LINE, "minus one"),
	};
	struct record_receipt receipt = { .wall_ns = 123000000,
					  .limit_wall_ms = 30000,
					  .limit_memory_bytes = 1 << 30 };
	struct warden_usage usage = { .cpu_user_ns = 100000000,
				      .processes_peak = 1,
				      .denied_count = 1,
				      .denied = { { "ptrace", 2 } } };
	const struct record_file file = { .path = "out/chart.png",
					  .change = "created",
					  .kind = "file",
					  .size = 18231,
					  .mime = "image/png",
					  .sha256 = "00",
					  .artifact = "ar_00" };

	assert_non_null(record_add_bundle(record, RECORD_RESULT, bundle, COUNT(bundle)));
	record_set_error_items(record, error, COUNT(error));
	record_receipt_from_usage(&receipt, &usage);
	record_set_receipt(record, &receipt);
	record_add_file(record, &file);
	record_add_note(record, "syscall_denied: ptrace", 22);
	record_set_stream(record, RECORD_STDOUT, "1%\r50%\r100%\nlast\n", 17);
	record_set_stream(record, RECORD_STDERR, "warned", 6);
	record_set_truncated(record, RECORD_STDOUT, 1000, 17, "out_1");
}

UNIT_TEST(a_full_record_has_every_part)
{
	cleanup_record struct record *record = new_record();
	struct json_value *document;
	double number = 0;
	int64_t line = 0;

	fill(record);
	document = finish(record, RECORD_ERROR);
	assert_string_equal(text_at(document, "results/0/data/image~1png"),
			    "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHg");
	assert_true(json_read_double(
		at(document, "results/0/data/application~1vnd.reckon.chart+json/n"), &number));
	assert_true(number == 100);
	assert_int_equal(count_at(document, "results/0/metadata"), 1);
	assert_int_equal(json_read_kind(at(document, "results/0/display_id")), JSON_KIND_NULL);
	assert_string_equal(text_at(document, "error/traceback"), "Traceback\nKeyError: 'salse'");
	assert_true(json_read_int(at(document, "error/frames/0/line"), &line));
	assert_int_equal(line, 2);
	assert_int_equal(json_read_kind(at(document, "error/frames/1/line")), JSON_KIND_NULL);
	assert_string_equal(text_at(document, "error/repair"), "KeyError: 'salse'\n<cell 3>, line 2");
	assert_int_equal(count_at(document, "error/hints"), 2);
	assert_string_equal(text_at(document, "error/hints/0"), "did you mean 'sales'?");
	assert_string_equal(text_at(document, "error/hints/1"), "two");
	assert_true(json_read_double(at(document, "receipt/wall_s"), &number));
	assert_true(number > 0.1229 && number < 0.1231);
	assert_true(json_read_int(at(document, "receipt/limits/wall_s"), &line));
	assert_int_equal(line, 30);
	assert_null(at(document, "receipt/limits/cpu_s"));
	assert_true(json_read_int(at(document, "receipt/syscalls_denied/ptrace"), &line));
	assert_int_equal(line, 2);
	assert_string_equal(text_at(document, "diagnostics/0/code"), "syscall_denied");
	assert_string_equal(text_at(document, "diagnostics/0/message"), "ptrace");
	assert_string_equal(text_at(document, "truncated/stdout/handle"), "out_1");
	assert_string_equal(text_at(document, "stdout"), "1%\r50%\r100%\nlast\n");
	assert_string_equal(text_at(document, "text"),
			    "100%\nlast\n"
			    "[stderr]\nwarned\n"
			    "[image/png 640x480, 24 bytes]\n"
			    "KeyError: 'salse'\n<cell 3>, line 2\n"
			    "hint: did you mean 'sales'?\n"
			    "hint: two\n"
			    "files:\n  created out/chart.png (image/png, 18231 bytes)\n"
			    "[stdout: 17 of 1000 bytes kept; all of it: out_1]\n"
			    "note: syscall_denied: ptrace");
	assert_string_equal(text_at(document, "text"), record_text(record));
	json_read_free(document);
}

UNIT_TEST(number_and_length_of_hints_are_limited)
{
	cleanup_record struct record *record = new_record();
	struct kernel_item items[8] = { ITEM(NAME, "E"), ITEM(TRACEBACK, "E") };
	struct json_value *document;
	char text[600];

	memset(text, 'x', sizeof(text));
	for (size_t i = 2; i < COUNT(items); i++)
		items[i] = (struct kernel_item){ KERNEL_TAG_HINT, sizeof(text), text };
	record_set_error_items(record, items, COUNT(items));
	document = finish(record, RECORD_ERROR);
	assert_int_equal(count_at(document, "error/hints"), 5);
	assert_true(strlen(text_at(document, "error/hints/4")) <= 500);
	assert_int_equal(json_read_kind(at(document, "error/repair")), JSON_KIND_NULL);
	json_read_free(document);
}

UNIT_TEST(a_remedy_of_the_host_is_a_hint)
{
	cleanup_record struct record *record = new_record();
	struct json_value *document;

	record_set_error(record, "InfrastructureError", "no", NULL, "start it");
	document = finish(record, RECORD_INFRA_ERROR);
	assert_string_equal(text_at(document, "error/repair"), "start it");
	assert_string_equal(text_at(document, "error/hints/0"), "start it");
	assert_non_null(strstr(text_at(document, "text"), "InfrastructureError: no\nhint: start it\n"));
	json_read_free(document);
}

UNIT_TEST(every_status_has_a_name_and_an_exit_code)
{
	static const struct {
		const char *name;
		int exit_code;
	} expected[RECORD_STATUS_COUNT] = {
		{ "ok", 0 },		  { "error", 1 },	 { "timeout", 124 },
		{ "interrupted", 1 },	  { "out_of_memory", 137 }, { "output_limit", 1 },
		{ "killed", 137 },	  { "kernel_died", 1 }, { "infra_error", 125 },
	};

	for (int i = 0; i < RECORD_STATUS_COUNT; i++) {
		enum record_status status = (enum record_status)i;
		cleanup_record struct record *record = new_record();
		struct json_value *document = finish(record, status);

		assert_string_equal(record_status_name(status), expected[i].name);
		assert_int_equal(record_status_exit_code(status), expected[i].exit_code);
		assert_string_equal(text_at(document, "status"), expected[i].name);
		if (i == 0)
			assert_int_equal(json_read_kind(at(document, "error")), JSON_KIND_NULL);
		else
			assert_true(strlen(text_at(document, "error/value")) > 10);
		if (i > 1)
			assert_non_null(strstr(record_text(record), expected[i].name));
		json_read_free(document);
	}
}

UNIT_TEST(bad_forms_are_dropped_and_reported)
{
	static const struct kernel_item bundle[] = {
		ITEM(METADATA, "[1]"),
		ITEM(MIME, "application/json"), ITEM(DATA, "{\"a\":1,\"a\":2}"),
		ITEM(MIME, "x\"}\n/y"), ITEM(DATA, "x"),
		ITEM(MIME, "text/plain"), ITEM(DATA, "\xff\0\x1b[1m"),
		ITEM(MIME, "TEXT/PLAIN"), ITEM(DATA, "second"),
		ITEM(DATA, "without a type"),
		ITEM(MIME, "text/html"),
	};
	cleanup_record struct record *record = new_record();
	struct json_value *document;

	assert_non_null(record_add_bundle(record, RECORD_DISPLAY, bundle, COUNT(bundle)));
	assert_null(record_add_bundle(record, RECORD_DISPLAY, bundle, 3));
	assert_null(record_add_bundle(record, RECORD_DISPLAY, bundle, 0));
	assert_null(record_add_bundle(record, RECORD_UPDATE_DISPLAY, bundle, COUNT(bundle)));
	document = finish(record, RECORD_OK);
	assert_int_equal(count_at(document, "results"), 1);
	assert_int_equal(count_at(document, "results/0/data"), 1);
	assert_int_equal(count_at(document, "results/0/metadata"), 0);
	assert_int_equal(json_read_kind(at(document, "results/0/metadata")), JSON_KIND_OBJECT);
	assert_int_equal(count_at(document, "diagnostics"), 6);
	for (size_t i = 0; i < 6; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "diagnostics/%zu/code", i);
		assert_string_equal(text_at(document, path), "bad_result");
	}
	json_read_free(document);
}

UNIT_TEST(large_forms_are_dropped_and_reported)
{
	cleanup_free char *large = mem_new0(1, RECORD_DATA_MAX + 1);
	struct kernel_item bundle[] = {
		ITEM(MIME, "text/plain"), { KERNEL_TAG_DATA, RECORD_DATA_MAX + 1, large },
		ITEM(MIME, "text/html"), ITEM(DATA, "small"),
	};
	cleanup_record struct record *record = new_record();
	struct json_value *document;

	memset(large, 'x', RECORD_DATA_MAX + 1);
	assert_non_null(record_add_bundle(record, RECORD_DISPLAY, bundle, 4));
	bundle[1].len = RECORD_DATA_MAX;
	for (int i = 0; i < 3; i++)
		assert_non_null(record_add_bundle(record, RECORD_DISPLAY, bundle, 2));
	/* Together they would exceed the limit for all results. */
	assert_null(record_add_bundle(record, RECORD_RESULT, bundle, 2));
	document = finish(record, RECORD_OK);
	assert_int_equal(count_at(document, "results"), 4);
	assert_int_equal(count_at(document, "results/0/data"), 1);
	assert_int_equal(count_at(document, "diagnostics"), 2);
	assert_string_equal(text_at(document, "diagnostics/0/code"), "result_too_large");
	assert_string_equal(text_at(document, "diagnostics/1/code"), "result_too_large");
	json_read_free(document);
}

UNIT_TEST(displays_are_updated_cleared_and_limited)
{
	static const struct kernel_item named[] = { ITEM(DISPLAY_ID, "d1"), ITEM(MIME, "text/plain"),
						    ITEM(DATA, "first") };
	static const struct kernel_item newer[] = { ITEM(DISPLAY_ID, "d1"), ITEM(MIME, "text/plain"),
						    ITEM(DATA, "newer") };
	static const struct kernel_item other[] = { ITEM(DISPLAY_ID, "d2"), ITEM(MIME, "text/plain"),
						    ITEM(DATA, "other") };
	cleanup_record struct record *record = new_record();
	struct json_value *document;

	assert_non_null(record_add_bundle(record, RECORD_DISPLAY, other, 3));
	record_clear(record, false);
	assert_non_null(record_add_bundle(record, RECORD_DISPLAY, other, 3));
	record_clear(record, true); /* clears when the next result arrives */
	assert_non_null(record_add_bundle(record, RECORD_RESULT, named, 3));
	assert_non_null(record_add_bundle(record, RECORD_DISPLAY, named, 3));
	assert_non_null(record_add_bundle(record, RECORD_UPDATE_DISPLAY, newer, 3));
	assert_non_null(record_add_bundle(record, RECORD_UPDATE_DISPLAY, other, 3));
	assert_non_null(record_add_bundle(record, RECORD_DISPLAY, other + 1, 2));
	assert_null(record_add_bundle(record, RECORD_DISPLAY, other + 1, 2)); /* the fifth */
	assert_non_null(record_add_bundle(record, RECORD_RESULT, other + 1, 2));
	document = finish(record, RECORD_OK);
	assert_int_equal(count_at(document, "results"), 5);
	assert_string_equal(text_at(document, "results/0/data/text~1plain"), "newer");
	assert_string_equal(text_at(document, "results/1/data/text~1plain"), "newer");
	assert_string_equal(text_at(document, "results/2/data/text~1plain"), "other");
	assert_string_equal(text_at(document, "results/2/display_id"), "d2");
	assert_int_equal(json_read_kind(at(document, "results/3/display_id")), JSON_KIND_NULL);
	assert_int_equal(count_at(document, "diagnostics"), 1);
	assert_string_equal(text_at(document, "diagnostics/0/code"), "display_limit");
	json_read_free(document);

	record_clear(record, true);
	record_note_output(record, RECORD_STDOUT, 0);
	document = finish(record, RECORD_OK);
	assert_int_equal(count_at(document, "results"), 0);
	json_read_free(document);
}

/* Writes reproducible garbage with many bytes that break parsers. */
static size_t garbage(uint32_t *seed, char *ret, size_t max)
{
	static const char spice[] = "\"\\{}[]:,/\n\r\x1b\xff\xc3\xe2\x82\0tex/plainjso+0";
	size_t len;

	*seed = *seed * 1664525u + 1013904223u;
	len = (*seed >> 16) % max;
	for (size_t i = 0; i < len; i++) {
		*seed = *seed * 1664525u + 1013904223u;
		ret[i] = spice[(*seed >> 16) % (sizeof(spice) - 1)];
	}
	return len;
}

UNIT_TEST(garbage_makes_valid_records)
{
	static const uint32_t tags[] = { KERNEL_TAG_MIME, KERNEL_TAG_DATA, KERNEL_TAG_METADATA,
					 KERNEL_TAG_DISPLAY_ID, KERNEL_TAG_NAME, KERNEL_TAG_FRAME_FILE,
					 KERNEL_TAG_FRAME_LINE, KERNEL_TAG_TRACEBACK };
	uint32_t seed = 7;

	for (int round = 0; round < 3000; round++) {
		cleanup_record struct record *record = new_record();
		struct kernel_item items[12];
		char bytes[12][24];
		struct json_value *document;

		for (size_t i = 0; i < 12; i++) {
			items[i].len = (uint32_t)garbage(&seed, bytes[i], sizeof(bytes[i]));
			items[i].data = bytes[i];
			items[i].tag = tags[(seed >> 20) % COUNT(tags)];
			if (items[i].tag == KERNEL_TAG_MIME && round % 2 == 0)
				items[i] = (struct kernel_item)ITEM(MIME, "application/json");
		}
		(void)record_add_bundle(record, (enum record_bundle)(round % 3), items, 12);
		record_set_error_items(record, items, 12);
		record_set_stream(record, RECORD_STDOUT, bytes[0], items[0].len % 24);
		record_set_stream(record, RECORD_STDERR, bytes[1], items[1].len % 24);
		record_add_note(record, bytes[2], items[2].len % 24);
		record_add_file(record, &(struct record_file){ .path = "a\xff\"", .change = "created",
							       .kind = "file" });
		document = finish(record, (enum record_status)(round % RECORD_STATUS_COUNT));
		assert_int_equal(json_read_count(document), 19);
		json_read_free(document);
	}
}

UNIT_TEST(numbers_of_files_and_diagnostics_are_limited)
{
	cleanup_record struct record *record = new_record();
	struct json_value *document;
	int64_t count = 0;

	for (unsigned i = 0; i < RECORD_DIAGNOSTICS_MAX + 5; i++)
		record_add_diagnostic(record, "Any Code!", "m", i % 2 == 0 ? "{\"a\": 1}" : "{broken");
	for (unsigned i = 0; i < RECORD_FILES_MAX + 7; i++)
		record_add_file(record, &(struct record_file){ .path = "a", .change = "created",
							       .kind = "file" });
	document = finish(record, RECORD_OK);
	assert_int_equal(count_at(document, "files"), RECORD_FILES_MAX);
	assert_int_equal(count_at(document, "diagnostics"), RECORD_DIAGNOSTICS_MAX + 2);
	assert_string_equal(text_at(document, "diagnostics/0/code"), "any_code_");
	assert_int_equal(count_at(document, "diagnostics/0/detail"), 1);
	assert_int_equal(count_at(document, "diagnostics/1/detail"), 0);
	assert_string_equal(text_at(document, "diagnostics/100/code"), "files_not_listed");
	assert_true(json_read_int(at(document, "diagnostics/100/detail/count"), &count));
	assert_int_equal(count, 7);
	assert_true(json_read_int(at(document, "diagnostics/101/detail/count"), &count));
	assert_int_equal(count, 5);
	json_read_free(document);
}

UNIT_TEST(text_is_limited_and_keeps_both_ends)
{
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf flood = BUF_INIT(1u << 21);
	struct json_value *document;
	const char *text;
	struct err err;

	assert_ok(&err, buf_adds(&flood, "BEGIN\n", &err));
	for (int i = 0; i < 50000; i++)
		assert_ok(&err, buf_addf(&flood, &err, "\xf0\x9f\x98\x80\xc3\xa9x%c\n",
					 'a' + i * 7919 % 23));
	assert_ok(&err, buf_adds(&flood, "END", &err));
	record_set_stream(record, RECORD_STDOUT, flood.data, flood.len);
	record_set_stream(record, RECORD_STDERR, flood.data, flood.len);
	record_set_error(record, "ValueError", "the reason", NULL, NULL);
	document = finish(record, RECORD_TIMEOUT);
	text = record_text(record);
	assert_in_range(strlen(text), RECORD_TEXT_DEFAULT - 512, RECORD_TEXT_DEFAULT);
	assert_true(utf8_is_valid(text, strlen(text)));
	assert_memory_equal(text, "BEGIN\n", 6);
	assert_non_null(strstr(text, "bytes) left out"));
	assert_non_null(strstr(text, "\nEND\n[stderr]\n"));
	assert_non_null(strstr(text, "ValueError: the reason\n[timeout] stopped by the time limit"));
	json_read_free(document);
}

UNIT_TEST(escape_sequences_are_removed_from_text)
{
	static const struct {
		const char *in, *plain, *settled;
	} cases[] = {
		{ "\x1b[1;31mred\x1b[0m", "red", "red" },
		{ "\x1b]0;title\x07" "a\x1b]8;;http://x\x1b\\link", "alink", "alink" },
		{ "\x1b]never closed\nnext", "\nnext", "\nnext" },
		{ "a\x1b(Bb\x1b" "7c\x1b", "abc", "abc" },
		{ "x\x1b[31", "x", "x" },
		{ "\xc2\x9b" "31mx", "31mx", "31mx" },
		{ "a\bb\x7f\x01", "ab", "b" },
		{ "|\b/\b-\b", "|/-", "-" },
		{ "\b\bN\bNA\bA\n 9%\b\b\b10%", "NNAA\n 9%10%", "NA\n10%" },
		{ "e\xcc\x81\bx", "e\xcc\x81x", "x" },
		{ "1%\r2%\r\n3%\r", "1%\n2%\n3%\n", "2%\n3%" },
		{ "\r\r\n\r", "\n\n\n", "\n" },
		{ "a\xff\xe2\x82" "b", "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" "b",
		  "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" "b" },
		{ "", "", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		cleanup_buf struct buf out = BUF_INIT(256);

		text_plain(cases[i].in, strlen(cases[i].in), &out);
		assert_string_equal(buf_text(&out), cases[i].plain);
		text_settled(cases[i].in, strlen(cases[i].in), &out);
		assert_string_equal(buf_text(&out), cases[i].settled);
		assert_int_equal(out.len, strlen(cases[i].settled));
	}
}

UNIT_TEST(events_are_lines_in_the_documented_form)
{
	static const struct kernel_item named[] = { ITEM(DISPLAY_ID, "d1"), ITEM(MIME, "text/plain"),
						    ITEM(DATA, "v") };
	const struct record_moment moment = { .seq = 2, .elapsed_ns = 12000000 };
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf out = BUF_INIT(4096);
	cleanup_buf struct buf tiny = BUF_INIT(10);
	const struct record_result *result;
	struct err err;

	assert_ok(&err, record_event_stream(moment, RECORD_STDERR, "a\n", 2, &out, &err));
	assert_string_equal(buf_text(&out), "{\"event\":\"stream\",\"seq\":2,\"t\":0.012,"
			    "\"name\":\"stderr\",\"text\":\"a\\n\"}");
	result = record_add_bundle(record, RECORD_RESULT, named, 3);
	assert_non_null(result);
	buf_clear(&out);
	assert_ok(&err, record_event_bundle(moment, RECORD_RESULT, result, &out, &err));
	assert_string_equal(buf_text(&out), "{\"event\":\"execute_result\",\"seq\":2,\"t\":0.012,"
			    "\"data\":{\"text/plain\":\"v\"},\"metadata\":{},\"display_id\":\"d1\"}");
	record_set_error(record, "N", "v", "t", NULL);
	buf_clear(&out);
	assert_ok(&err, record_event_error(moment, record, &out, &err));
	assert_string_equal(buf_text(&out), "{\"event\":\"error\",\"seq\":2,\"t\":0.012,\"error\":"
			    "{\"name\":\"N\",\"value\":\"v\",\"traceback\":\"t\",\"frames\":[],"
			    "\"repair\":null,\"hints\":[]}}");
	buf_clear(&out);
	assert_ok(&err, record_event_clear(moment, true, &out, &err));
	assert_string_equal(buf_text(&out),
			    "{\"event\":\"clear_output\",\"seq\":2,\"t\":0.012,\"wait\":true}");
	buf_clear(&out);
	assert_ok(&err, record_event_input(moment, "name? ", 6, false, &out, &err));
	assert_string_equal(buf_text(&out), "{\"event\":\"input_request\",\"seq\":2,\"t\":0.012,"
			    "\"prompt\":\"name? \",\"password\":false}");
	buf_clear(&out);
	assert_ok(&err, record_event_done(moment, "{\"a\":1}", 7, &out, &err));
	assert_string_equal(buf_text(&out),
			    "{\"event\":\"done\",\"seq\":2,\"t\":0.012,\"record\":{\"a\":1}}");
	assert_string_equal(record_event_bundle_name(RECORD_DISPLAY), "display_data");
	assert_string_equal(record_event_bundle_name(RECORD_UPDATE_DISPLAY), "update_display_data");
	assert_ok(&err, buf_adds(&tiny, "kept", &err));
	assert_err(&err, ERR_LIMIT, record_event_clear(moment, true, &tiny, &err));
	assert_string_equal(buf_text(&tiny), "kept");
	assert_err(&err, ERR_LIMIT, record_finish(record, RECORD_OK, &tiny, &err));
	assert_string_equal(buf_text(&tiny), "kept");
}
