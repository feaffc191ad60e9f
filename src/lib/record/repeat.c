/*
 * repeat.c - writes what a record says about earlier executions, and about what its text leaves
 * out.
 *
 * Runs in:  libreckon.
 * Reads:    the record alone.
 * Never:    compares text: fingerprints are enough (repeat_detector.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "lib/record/state.h"
#include "lib/shape/line.h"

#define MESSAGE_SIZE (2 * REPEAT_LINE_SIZE + 4)

void record_view_error(const struct record *record, struct record_error_view *ret)
{
	const struct record_failure *failure = &record->failure;

	*ret = (struct record_error_view){ .name = "", .value = "", .source = "" };
	if (!failure->is_set)
		return;
	ret->name = failure->name;
	ret->value = failure->value;
	/* The innermost frame of a cell is the user's; frames of libraries come after it. */
	for (size_t i = 0; i < failure->frame_count; i++) {
		const struct record_frame *frame = &failure->frames[i];
		const bool is_cell = frame->file != NULL && strncmp(frame->file, "<cell ", 6) == 0;

		if (frame->source != NULL && (is_cell || ret->source[0] == '\0'))
			ret->source = frame->source;
	}
}

uint64_t record_output_fingerprint(const struct record *record)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < 2; i++)
		hash = hash * 31 + shape_line_hash(buf_text(&record->stream[i]),
						   record->stream[i].len);
	for (size_t i = 0; i < record->result_count; i++)
		hash = hash * 31 + shape_line_hash(buf_text(&record->results[i]->data),
						   record->results[i]->data.len);
	return hash;
}

bool record_has_output(const struct record *record)
{
	return record->stream[0].len > 0 || record->stream[1].len > 0 || record->result_count > 0;
}

size_t record_file_count(const struct record *record)
{
	return record->file_count;
}

static void say(const struct repeat_detector_repeat *repeat, char ret[MESSAGE_SIZE])
{
	char line[REPEAT_LINE_SIZE], advice[REPEAT_LINE_SIZE];

	repeat_detector_describe(repeat, line);
	repeat_detector_advise(repeat, advice);
	(void)snprintf(ret, MESSAGE_SIZE, "%s. %s", line, advice);
}

void record_set_repeat(struct record *record, const struct repeat_detector_repeat *repeat)
{
	char message[MESSAGE_SIZE];

	record->repeat = *repeat;
	if (repeat->count == 0)
		return;
	say(repeat, message);
	record_add_diagnostic(record, "repeated_failure", message, NULL);
}

static void write_unchanged(struct json_writer *writer, const struct repeat_detector_repeat *repeat)
{
	json_write_key(writer, "unchanged");
	json_write_array_begin(writer);
	if (repeat->same_code)
		json_write_string(writer, "code");
	if (repeat->same_error)
		json_write_string(writer, "error");
	if (repeat->same_files)
		json_write_string(writer, "files");
	json_write_array_end(writer);
}

void record_write_repeat(struct json_writer *writer, const struct record *record)
{
	const struct repeat_detector_repeat *repeat = &record->repeat;
	char message[MESSAGE_SIZE];

	json_write_key(writer, "repeat");
	if (repeat->count == 0) {
		json_write_null(writer);
		return;
	}
	say(repeat, message);
	json_write_object_begin(writer);
	json_write_member_uint(writer, "count", repeat->count);
	json_write_member_uint(writer, "first_sequence", repeat->sequences[0]);
	json_write_key(writer, "sequences");
	json_write_array_begin(writer);
	for (size_t i = 0; i < repeat->sequence_count; i++)
		json_write_uint(writer, repeat->sequences[i]);
	json_write_array_end(writer);
	json_write_member_bool(writer, "same_code", repeat->same_code);
	json_write_member_bool(writer, "same_error", repeat->same_error);
	write_unchanged(writer, repeat);
	json_write_member_string(writer, "message", message);
	json_write_object_end(writer);
}

void record_write_left_out(struct json_writer *writer, const struct record *record)
{
	json_write_key(writer, "text_left_out");
	json_write_array_begin(writer);
	for (size_t i = 0; i < record->left_out_count; i++) {
		const struct record_left_out *left_out = &record->left_out[i];

		json_write_object_begin(writer);
		json_write_member_string(writer, "part", left_out->part);
		if (strcmp(left_out->part, "result") == 0)
			json_write_member_uint(writer, "index", left_out->index);
		json_write_member_uint(writer, "bytes_total", left_out->bytes_total);
		json_write_member_uint(writer, "bytes_shown", left_out->bytes_shown);
		json_write_member_uint(writer, "lines_total", left_out->lines_total);
		json_write_member_string(writer, "handle",
					 left_out->handle[0] != '\0' ? left_out->handle : NULL);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}
