/*
 * test_lib_render.c - the size of a record's text, and how its parts share it.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    needs a store or a kernel.
 */
#include "unit.h"

#include <string.h>

#include "base/utf8.h"
#include "lib/record/record.h"
#include "lib/record/repeat_detector.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ITEM(which, text) { KERNEL_TAG_##which, sizeof(text) - 1, text }
/* The first 24 bytes of a PNG, 640 by 480. */
#define PNG "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\2\x80\0\0\1\xe0"

static struct record *new_record(void)
{
	const struct record_head head = { .id = "ex_1", .session = "se_1", .kernel = "python",
					  .sequence = 1,
					  .started_at = "2026-11-21T22:00:00.123Z" };

	return record_new(&head);
}

static void finish(struct record *record, enum record_status status)
{
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	struct err err;

	assert_ok(&err, record_finish(record, status, &json, &err));
}

/* Fills a record with random amounts of output, displays, files and diagnostics. */
static void fill_at_random(struct record *record, uint32_t seed)
{
	static const char *const words[] = { "a", "\n", "e\xcc\x81", "\xf0\x9f\x98\x80", "same\nsame\n",
					     "12", "\xff", "\r", " word " };
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct err err;

	for (uint32_t i = 0, n = seed % 3000; i < n; i++) {
		seed = seed * 1664525u + 1013904223u;
		assert_ok(&err, buf_adds(&text, words[(seed >> 16) % COUNT(words)], &err));
		if (seed >> 24 == 7) {
			const struct kernel_item bundle[] = {
				ITEM(MIME, "text/plain"),
				{ KERNEL_TAG_DATA, (uint32_t)text.len, buf_text(&text) },
				ITEM(MIME, "image/png"), ITEM(DATA, PNG),
			};

			(void)record_add_bundle(record, RECORD_DISPLAY, bundle, COUNT(bundle));
		}
	}
	record_set_stream(record, RECORD_STDOUT, buf_text(&text), text.len);
	record_set_stream(record, RECORD_STDERR, buf_text(&text), text.len / 2);
	record_set_error(record, "Error", buf_text(&text), buf_text(&text), NULL);
	for (uint32_t i = 0; i < seed % 40; i++) {
		record_add_file(record, &(struct record_file){ .path = "some/where/a file", .size = 1,
							       .change = "created", .kind = "file" });
		record_add_diagnostic(record, "note", "a note of some length", NULL);
	}
}

UNIT_TEST(no_text_exceeds_its_limit)
{
	for (uint32_t seed = 1; seed < 400; seed++) {
		const struct record_head head = { .id = "ex_1", .session = "se_1", .kernel = "python",
						  .started_at = "2026-11-21T22:00:00.123Z",
						  .text_max = RECORD_TEXT_MIN + seed * 7 % 900 };
		const struct repeat_detector_repeat repeat = { .count = 2, .sequences = { 1, 2 },
						     .sequence_count = 2 };
		cleanup_record struct record *record = record_new(&head);
		const char *text;

		fill_at_random(record, seed * 2654435761u);
		record_set_repeat(record, &repeat);
		finish(record, RECORD_ERROR);
		text = record_text(record);
		assert_in_range(strlen(text), 1, head.text_max);
		assert_true(utf8_is_valid(text, strlen(text)));
		assert_non_null(strstr(text, "[seen 2 times in this session (executions 1, 2): another "
					     "error, code changed; files changed since]"));
			}
}

UNIT_TEST(the_error_may_take_half_of_the_text)
{
	static const struct kernel_item bundle[] = { ITEM(MIME, "text/markdown"), ITEM(DATA, "shown\n") };
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf flood = BUF_INIT(1u << 20);
	cleanup_buf struct buf error = BUF_INIT(1u << 20);
	struct err err;

	for (int i = 0; i < 9000; i++)
		assert_ok(&err, buf_addf(&flood, &err, "%c%c line\n", 'a' + i * 7919 % 23,
					 'a' + i / 23 % 26));
	/* Just less than half of 16 KiB: the error stays whole, although both streams are long. */
	for (int i = 0; i < 1600; i++)
		assert_ok(&err, buf_addf(&error, &err, "E%c%c%d\n", 'a' + i * 7919 % 23,
					 'a' + i / 23 % 26, i % 10));
	assert_ok(&err, buf_adds(&error, "end", &err));
	record_set_stream(record, RECORD_STDOUT, flood.data, flood.len);
	record_set_stream(record, RECORD_STDERR, flood.data, flood.len);
	record_set_error(record, "Error", "v", error.data, NULL);
	assert_non_null(record_add_bundle(record, RECORD_DISPLAY, bundle, COUNT(bundle)));
	finish(record, RECORD_ERROR);
	assert_non_null(strstr(record_text(record), error.data));
	assert_non_null(strstr(record_text(record), "\nshown"));
}

UNIT_TEST(charts_are_described_in_a_line)
{
	static const struct {
		const char *json, *line;
	} cases[] = {
		{ "{\"type\":\"line\",\"title\":\"T\\n\\u001b[1m2\",\"x_label\":\"x\",\"y_label\":null,"
		  "\"elements\":[{\"points\":[[1,2],[3,4]]},{\"points\":[[1,2],[3,4]]}]}",
		  "chart: line, 'T 2', x: x, 2 points x 2 series" },
		{ "{\"type\":\"scatter\",\"elements\":[{\"points\":[[1,2]],\"points_total\":50},"
		  "{\"points\":[]}]}", "chart: scatter, 0 to 50 points x 2 series" },
		{ "{\"type\":\"bar\",\"elements\":[{\"label\":\"n\",\"group\":\"Group 0\",\"value\":3},"
		  "{\"label\":\"s\",\"group\":\"b\",\"value\":0.5}],\"elements_total\":9}",
		  "chart: bar, 9 bars: n 3, b s 0.5" },
		{ "{\"type\":\"superchart\",\"elements\":[{\"type\":\"pie\",\"elements\":[{}]},"
		  "{\"type\":\"unknown\"}]}", "chart: 2 charts: pie, 1 slice; unknown" },
		{ "{\"type\":7,\"elements\":3}", "" },
		{ "{\"type\":\"unknown\",\"elements\":[]}", "" },
		{ "[1]", "" },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		cleanup_record struct record *record = new_record();
		const struct kernel_item bundle[] = {
			ITEM(MIME, "text/plain"), ITEM(DATA, "<Figure>"), ITEM(MIME, "image/png"),
			ITEM(DATA, PNG), ITEM(MIME, "application/vnd.reckon.chart+json"),
			{ KERNEL_TAG_DATA, (uint32_t)strlen(cases[i].json), cases[i].json },
		};
		cleanup_buf struct buf expected = BUF_INIT(4096);
		struct err err;

		assert_non_null(record_add_bundle(record, RECORD_DISPLAY, bundle, COUNT(bundle)));
		finish(record, RECORD_OK);
		assert_ok(&err, buf_addf(&expected, &err, "[image/png 640x480, 24 bytes]%s%s",
					 cases[i].line[0] != '\0' ? "\n" : "", cases[i].line));
		assert_string_equal(record_text(record), buf_text(&expected));
	}
}

#define BAD "\nnote: bad_result: image/vnd.reckon.scaled: no image, or too large"

/* A kernel may send anything as the smaller form of an image, and more than one. */
UNIT_TEST(only_one_valid_scaled_image_is_accepted)
{
	static char large[RECORD_SCALED_MAX + 1] = PNG;
	const struct {
		struct kernel_item data;
		const char *text;
	} cases[] = {
		{ ITEM(DATA, PNG),
		  "[image/png 640x480, 24 bytes; scaled: image/png 640x480, 24 bytes]" BAD },
		{ ITEM(DATA, "no image"), "[image/png 640x480, 24 bytes]" BAD BAD },
		{ ITEM(DATA, ""), "[image/png 640x480, 24 bytes]" BAD BAD },
		{ { KERNEL_TAG_DATA, sizeof(large), large }, "[image/png 640x480, 24 bytes]" BAD BAD },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		cleanup_record struct record *record = new_record();
		const struct kernel_item bundle[] = {
			ITEM(MIME, "image/png"), ITEM(DATA, PNG),
			ITEM(MIME, "image/vnd.reckon.scaled"), cases[i].data,
			ITEM(MIME, "image/vnd.reckon.scaled"), cases[i].data,
		};

		assert_non_null(record_add_bundle(record, RECORD_DISPLAY, bundle, COUNT(bundle)));
		finish(record, RECORD_OK);
		assert_string_equal(record_text(record), cases[i].text);
	}
}
