/*
 * fuzz_record.c - whatever a kernel sends, the record and its events are valid JSON.
 *
 * Runs in:  the fuzz suite.
 * Reads:    the fuzzer's bytes: one for the kind of packet, then a payload, then printed text.
 * Never:    accepts a record that the strict reader does not take.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "codec/json_read.h"
#include "lib/record/mime.h"
#include "lib/record/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_json(const struct buf *json)
{
	struct json_value *document = NULL;
	struct err err;

	if (json_read_parse(buf_text(json), json->len, json->len, &document, &err) < 0 ||
	    memchr(json->data, '\n', json->len) != NULL)
		abort();
	json_read_free(document);
}

static void feed(struct record *record, uint8_t choice, const struct kernel_item *items,
		 size_t count)
{
	const struct record_moment moment = { .seq = 1, .elapsed_ns = 1 };
	cleanup_buf struct buf event = BUF_INIT(RECORD_JSON_MAX);
	const struct record_result *result = NULL;
	enum record_bundle kind = (enum record_bundle)(choice % 3);
	struct err err;

	if (choice & 4) {
		record_set_error_items(record, items, count);
		if (record_event_error(moment, record, &event, &err) < 0)
			abort();
		check_json(&event);
		return;
	}
	if (choice & 8)
		record_clear(record, true);
	result = record_add_bundle(record, kind, items, count);
	if (result == NULL)
		return;
	if (record_event_bundle(moment, kind, result, &event, &err) < 0)
		abort();
	check_json(&event);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct record_head head = { .id = "ex_1",
					  .session = "se_1",
					  .kernel = "python",
					  .sequence = 1,
					  .started_at = "2026-11-21T22:00:00.123Z",
					  .text_max = size > 1 && data[1] & 0x80 ? RECORD_TEXT_MIN
										 : RECORD_TEXT_DEFAULT };
	cleanup_record struct record *record = record_new(&head);
	cleanup_buf struct buf json = BUF_INIT(RECORD_JSON_MAX);
	struct kernel_item items[64];
	const char *payload;
	struct err err;
	size_t fields = 0;
	int count;

	if (size < 2)
		return 0;
	payload = (const char *)data + 2;
	size -= 2;
	/* The count belongs to the packet's head; any that fits the payload will do. */
	for (count = -1; count < 0 && fields < 64; fields++)
		count = kernel_unpack(payload, size, (uint32_t)fields, items, 64, &err);
	for (int round = 0; count > 0 && round < 3; round++)
		feed(record, (uint8_t)(data[0] + round * 5), items, (size_t)count);
	record_set_stream(record, RECORD_STDOUT, payload, size);
	record_add_note(record, payload, size);
	(void)mime_guess(NULL, payload, size);
	if (record_finish(record, (enum record_status)(data[1] % RECORD_STATUS_COUNT), &json, &err) <
	    0)
		abort();
	check_json(&json);
	if (strlen(record_text(record)) > head.text_max ||
	    !utf8_is_valid(record_text(record), strlen(record_text(record))) ||
	    strchr(record_text(record), '\x1b') != NULL)
		abort();
	return 0;
}
