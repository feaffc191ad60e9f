/*
 * test_lib_order.c - a record contains streams, results and error in the order of arrival.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    needs a store or a kernel.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/record/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ITEM(which, text) { KERNEL_TAG_##which, sizeof(text) - 1, text }

static struct record *new_record(void)
{
	const struct record_head head = { .id = "ex_1", .session = "se_1", .kernel = "python",
					  .sequence = 3, .displays_max = 1000,
					  .started_at = "2026-11-21T22:00:00.123Z" };

	return record_new(&head);
}

/* Plays a script: "o" prints a line to stdout, "e" to stderr, "d" displays, "r" adds a result. */
static void play(struct record *record, const char *script)
{
	cleanup_buf struct buf out = BUF_INIT(1u << 20);
	cleanup_buf struct buf error = BUF_INIT(1u << 20);
	struct buf *const streams[2] = { &out, &error };
	struct err err;

	for (size_t i = 0; script[i] != '\0'; i++) {
		const int index = script[i] == 'e';
		const size_t before = streams[index]->len;
		char shown[32];
		struct kernel_item bundle[] = { ITEM(MIME, "text/plain"), { KERNEL_TAG_DATA, 0, shown } };

		if (script[i] == 'd' || script[i] == 'r') {
			bundle[1].len = (uint32_t)snprintf(shown, sizeof(shown), "shown %zu", i);
			assert_non_null(record_add_bundle(
				record, script[i] == 'd' ? RECORD_DISPLAY : RECORD_RESULT, bundle, 2));
			continue;
		}
		assert_ok(&err, buf_addf(streams[index], &err, "%s %zu\n",
					 index == 0 ? "out" : "err", i));
		record_note_output(record, (enum record_stream)(index + 1),
				   streams[index]->len - before);
	}
	for (int i = 0; i < 2; i++)
		record_set_stream(record, (enum record_stream)(i + 1), buf_text(streams[i]),
				  streams[i]->len);
}

static void finish(struct record *record, enum record_status status, struct buf *json)
{
	struct err err;

	assert_ok(&err, record_finish(record, status, json, &err));
}

/* The member "outputs" must be exactly `expected`. */
static void expect_outputs(const struct buf *json, const char *expected)
{
	const char *start = strstr(buf_text(json), "\"outputs\":"), *end;

	assert_non_null(start);
	start += strlen("\"outputs\":");
	end = strstr(start, ",\"files\":");
	assert_non_null(end);
	if (strlen(expected) != (size_t)(end - start) ||
	    memcmp(start, expected, (size_t)(end - start)) != 0)
		fail_msg("%.*s\n!= %s", (int)(end - start), start, expected);
}

UNIT_TEST(text_and_outputs_follow_the_order_of_arrival)
{
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);

	play(record, "odeoor");
	record_set_error(record, "ValueError", "no", "Traceback\nValueError: no", NULL);
	finish(record, RECORD_ERROR, &json);
	assert_string_equal(record_text(record), "out 0\nshown 1\n[stderr]\nerr 2\n[stdout]\nout 3\n"
						 "out 4\nshown 5\nTraceback\nValueError: no");
	expect_outputs(&json,
		"[{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"out 0\\n\"},"
		"{\"output_type\":\"display_data\",\"data\":{\"text/plain\":\"shown 1\"},\"metadata\":{}},"
		"{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":\"err 2\\n\"},"
		"{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"out 3\\nout 4\\n\"},"
		"{\"output_type\":\"execute_result\",\"execution_count\":3,"
		"\"data\":{\"text/plain\":\"shown 5\"},\"metadata\":{}},"
		"{\"output_type\":\"error\",\"ename\":\"ValueError\",\"evalue\":\"no\","
		"\"traceback\":[\"Traceback\",\"ValueError: no\"]}]");
}

UNIT_TEST(a_cleared_display_does_not_split_the_stream)
{
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	static const struct kernel_item bundle[] = { ITEM(MIME, "text/plain"), ITEM(DATA, "kept") };

	play(record, "odo");
	record_clear(record, false);
	assert_non_null(record_add_bundle(record, RECORD_DISPLAY, bundle, COUNT(bundle)));
	finish(record, RECORD_OK, &json);
	expect_outputs(&json,
		"[{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"out 0\\nout 2\\n\"},"
		"{\"output_type\":\"display_data\",\"data\":{\"text/plain\":\"kept\"},\"metadata\":{}}]");
}

/* A read may end within a character; an output of the record never does. */
UNIT_TEST(a_character_is_never_split)
{
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);

	record_note_output(record, RECORD_STDOUT, 2);
	record_note_output(record, RECORD_STDERR, 1);
	record_note_output(record, RECORD_STDOUT, 3);
	record_set_stream(record, RECORD_STDOUT, "a\xe2\x82\xac" "b", 5);
	record_set_stream(record, RECORD_STDERR, "!", 1);
	finish(record, RECORD_OK, &json);
	expect_outputs(&json,
		"[{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"a\xe2\x82\xac\"},"
		"{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":\"!\"},"
		"{\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"b\"}]");
}

/* Parts of a truncated stream lie before, across, within and after the gap. */
UNIT_TEST(a_truncated_stream_keeps_its_order)
{
	static const char stored[] = "1\n2\n<gap>8\n9\n";
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	static const struct kernel_item bundle[] = { ITEM(MIME, "text/plain"), ITEM(DATA, "d") };

	/* Nine lines of two bytes; a display follows after lines 1, 4, 6 and 8. */
	for (size_t i = 0; i < 5; i++) {
		static const size_t lines[] = { 1, 3, 2, 2, 1 };

		record_note_output(record, RECORD_STDOUT, lines[i] * 2);
		if (i < 4)
			assert_non_null(record_add_bundle(record, RECORD_DISPLAY, bundle,
							  COUNT(bundle)));
	}
	record_set_stream(record, RECORD_STDOUT, stored, sizeof(stored) - 1);
	record_set_truncated(record, RECORD_STDOUT, 18, 8, "out_x");
	record_set_gap(record, RECORD_STDOUT, 4, 5, 9);
	finish(record, RECORD_OK, &json);
	assert_non_null(strstr(buf_text(&json), "\"text\":\"1\\n\"},{"));
	assert_non_null(strstr(buf_text(&json), "\"text\":\"2\\n<gap>\"},{"));
	assert_non_null(strstr(buf_text(&json), "\"text\":\"8\\n\"},{"));
	assert_non_null(strstr(buf_text(&json), "\"text\":\"9\\n\"}]"));
	assert_string_equal(record_text(record),
			    "1\nd\n2\n\xe2\x80\xa6 6 lines (10 bytes) left out; reckon output out_x "
			    "--lines 3:8\nd\nd\n8\nd\n9");
	assert_non_null(strstr(buf_text(&json),
			       "{\"part\":\"stdout\",\"bytes_total\":18,"));
}

/* Alternating streams are shown one after the other, so that repeated lines can be folded. */
UNIT_TEST(alternating_streams_are_shown_one_after_the_other)
{
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	char script[2 + 40 + 2] = "od";

	for (int i = 0; i < 40; i++)
		script[2 + i] = i % 2 == 0 ? 'o' : 'e';
	script[42] = 'd';
	play(record, script);
	finish(record, RECORD_OK, &json);
	assert_non_null(strstr(record_text(record), "out 0\nshown 1\nout 2\nout 4\n"));
	assert_non_null(strstr(record_text(record), "out 40\n[stderr]\nerr 3\n"));
	assert_non_null(strstr(record_text(record), "err 41\nshown 42"));
	assert_non_null(strstr(buf_text(&json), "out 40\\n\"},{\"output_type\":\"stream\","
						"\"name\":\"stderr\",\"text\":\"err 41\\n\"}"));
}

UNIT_TEST(the_number_of_outputs_is_limited)
{
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	cleanup_free char *script = mem_new0(5001, 1);
	size_t count = 0;

	for (int i = 0; i < 5000; i++)
		script[i] = i % 2 == 0 ? 'o' : 'e';
	play(record, script);
	finish(record, RECORD_OK, &json);
	for (const char *at = buf_text(&json); (at = strstr(at, "\"output_type\"")) != NULL; at++)
		count++;
	assert_int_equal(count, 1000);
	/* The rest of stdout is in one output. */
	assert_non_null(strstr(buf_text(&json), "out 998\\nout 1000\\nout 1002\\n"));
}

/* If the displays do not fit, the text has the streams first, then the displays that fit. */
UNIT_TEST(a_small_text_shows_streams_before_displays)
{
	const struct record_head head = { .id = "ex_1", .session = "se_1", .kernel = "python",
					  .sequence = 1, .text_max = RECORD_TEXT_MIN,
					  .started_at = "2026-11-21T22:00:00.123Z" };
	cleanup_record struct record *record = record_new(&head);
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	char script[41] = "";

	for (int i = 0; i < 40; i++)
		script[i] = i % 2 == 0 ? 'o' : 'd';
	play(record, script);
	finish(record, RECORD_OK, &json);
	assert_in_range(strlen(record_text(record)), 1, RECORD_TEXT_MIN);
	assert_non_null(strstr(record_text(record), "out 38\nshown 1\n"));
	assert_non_null(strstr(record_text(record), "results left out"));
	assert_non_null(strstr(record_text(record), "shown 39"));
}

/* "outputs" repeats up to 8 MiB of results; past that it has only their plain text. */
UNIT_TEST(large_results_are_written_once)
{
	cleanup_record struct record *record = new_record();
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	cleanup_free char *bytes = mem_new0(5u << 20, 1);
	const struct kernel_item bundle[] = { ITEM(MIME, "text/plain"), ITEM(DATA, "<image>"),
					      ITEM(MIME, "text/html"),
					      { KERNEL_TAG_DATA, 5u << 20, bytes } };

	memset(bytes, 'x', 5u << 20);
	for (int i = 0; i < 2; i++)
		assert_non_null(record_add_bundle(record, RECORD_DISPLAY, bundle, COUNT(bundle)));
	finish(record, RECORD_OK, &json);
	assert_in_range(json.len, 15u << 20, (15u << 20) + 4096);
	assert_non_null(strstr(buf_text(&json), "{\"output_type\":\"display_data\",\"data\":"
						"{\"text/plain\":\"<image>\"},\"metadata\":{}}]"));
}
