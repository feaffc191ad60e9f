/*
 * test_lib_record_limits.c - limits of a kernel's messages: what exceeds them is cut or left out.
 *
 * Runs in:  the unit suite.
 * Reads:    packets of its own.
 * Never:    starts a kernel.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_read.h"
#include "lib/record/record.h"
#include "wire/kernel.h"

#define MIMES_MAX 32u
#define MIME_NAME_MAX 127u
#define DISPLAY_ID_MAX 256u
#define FRAMES_MAX 64u
#define REPAIR_MAX 4096u
#define HINT_MAX 500u
#define TEXT(which, len, text) { KERNEL_TAG_##which, len, text }

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

static struct json_value *finish(struct record *record)
{
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	struct json_value *document = NULL;
	struct err err;

	assert_ok(&err, record_finish(record, RECORD_ERROR, &json, &err));
	assert_ok(&err, json_read_parse(json.data, json.len, json.len, &document, &err));
	return document;
}

/* The first item of the list `member`. */
static const struct json_value *first(const struct json_value *document, const char *member)
{
	return json_read_at(json_read_member(document, member), 0);
}

/* How many forms the first result has. */
static size_t forms(const struct json_value *document)
{
	return json_read_count(json_read_member(first(document, "results"), "data"));
}

UNIT_TEST(the_number_of_forms_of_a_result_is_limited)
{
	for (unsigned over = 0; over < 2; over++) {
		cleanup_record struct record *record = new_record();
		struct kernel_item items[2 * (MIMES_MAX + 1)];
		char names[MIMES_MAX + 1][32];
		struct json_value *document;

		for (unsigned i = 0; i < MIMES_MAX + over; i++) {
			const int len = snprintf(names[i], sizeof(names[i]), "text/x-%u", i);

			items[2 * i] = (struct kernel_item)TEXT(MIME, (uint32_t)len, names[i]);
			items[2 * i + 1] = (struct kernel_item)TEXT(DATA, 1, "x");
		}
		assert_non_null(record_add_bundle(record, RECORD_DISPLAY, items,
						  2 * (MIMES_MAX + over)));
		document = finish(record);
		assert_int_equal(forms(document), MIMES_MAX);
		assert_int_equal(json_read_count(json_read_member(document, "diagnostics")), over);
		json_read_free(document);
	}
}

UNIT_TEST(the_length_of_a_mime_type_is_limited)
{
	for (unsigned over = 0; over < 2; over++) {
		cleanup_record struct record *record = new_record();
		char name[MIME_NAME_MAX + 2] = "text/";
		const struct kernel_item items[] = { TEXT(MIME, 10, "text/plain"),
						     TEXT(DATA, 1, "x"),
						     TEXT(MIME, MIME_NAME_MAX + over, name),
						     TEXT(DATA, 1, "y") };
		struct json_value *document;

		memset(name + 5, 'n', MIME_NAME_MAX + over - 5);
		assert_non_null(record_add_bundle(record, RECORD_DISPLAY, items, 4));
		document = finish(record);
		assert_int_equal(forms(document), 2 - over);
		json_read_free(document);
	}
}

/* Texts of an error and the id of a display are cut at their limits. */
UNIT_TEST(long_texts_are_cut)
{
	static char text[REPAIR_MAX + 2];

	memset(text, 'x', sizeof(text) - 1);
	for (unsigned over = 0; over < 2; over++) {
		cleanup_record struct record *record = new_record();
		const struct kernel_item error[] = { TEXT(NAME, 1, "E"), TEXT(TRACEBACK, 1, "E"),
						     TEXT(REPAIR, REPAIR_MAX + over, text),
						     TEXT(HINT, HINT_MAX + over, text) };
		const struct kernel_item shown[] = { TEXT(MIME, 10, "text/plain"),
						     TEXT(DATA, 1, "x"),
						     TEXT(DISPLAY_ID, DISPLAY_ID_MAX + over,
							  text) };
		const struct json_value *value;
		struct json_value *document;
		size_t len = 0;

		assert_non_null(record_add_bundle(record, RECORD_DISPLAY, shown, 3));
		record_set_error_items(record, error, 4);
		document = finish(record);
		value = json_read_member(document, "error");
		assert_non_null(json_read_text(json_read_member(value, "repair"), &len));
		assert_true(over == 0 ? len == REPAIR_MAX : len <= REPAIR_MAX);
		assert_non_null(json_read_text(first(value, "hints"), &len));
		assert_true(over == 0 ? len == HINT_MAX : len <= HINT_MAX);
		value = first(document, "results");
		assert_non_null(json_read_text(json_read_member(value, "display_id"), &len));
		assert_true(over == 0 ? len == DISPLAY_ID_MAX : len <= DISPLAY_ID_MAX);
		json_read_free(document);
	}
}

UNIT_TEST(only_the_last_frames_are_stored)
{
	for (unsigned over = 0; over < 2; over++) {
		cleanup_record struct record *record = new_record();
		struct kernel_item items[2 + FRAMES_MAX + 1] = { TEXT(NAME, 1, "E"),
								 TEXT(TRACEBACK, 1, "E") };
		char names[FRAMES_MAX + 1][16];
		const struct json_value *frames;
		struct json_value *document;

		for (unsigned i = 0; i < FRAMES_MAX + over; i++) {
			const int len = snprintf(names[i], sizeof(names[i]), "file%u", i);

			items[2 + i] = (struct kernel_item)TEXT(FRAME_FILE, (uint32_t)len,
								names[i]);
		}
		record_set_error_items(record, items, 2 + FRAMES_MAX + over);
		document = finish(record);
		frames = json_read_member(json_read_member(document, "error"), "frames");
		assert_int_equal(json_read_count(frames), FRAMES_MAX);
		frames = json_read_at(frames, 0);
		assert_string_equal(json_read_text(json_read_member(frames, "file"), NULL),
				    over == 0 ? "file0" : "file1");
		json_read_free(document);
	}
}
