/*
 * order.c - the order in which streams, results and the error of a record came.
 *
 * Runs in:  libreckon.
 * Reads:    the record, and output of hostile programs.
 * Never:    holds more entries than streams have changes, up to a bound, and results.
 *
 * Streams are stored as two texts and results as an array; an entry here is a part of a stream (its
 * offsets) or the index of a result. While the program runs, offsets count the bytes that it wrote.
 * At the end record_order_settle() converts them to offsets in the stored text, whose middle may be
 * missing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "lib/record/state.h"
#include "lib/record/text.h"

#define CHANGES_MAX 1000u /* switches between the two streams that get entries of their own */
#define RUN_MAX 16u	  /* consecutive parts of streams that a text shows one by one */
#define DATA_MAX (8u * 1024u * 1024u) /* of the content of results, repeated in "outputs" */
#define PLAIN_MAX (64u * 1024u)	      /* of a result beyond that */

/* Beyond the limit: the last part of this stream that no result follows; NULL if there is none. */
static struct record_output *find_part(struct record_order *order, enum record_output_kind kind)
{
	if (order->at == NULL)
		return NULL;
	for (size_t i = order->count; i-- > 0 && record_output_is_stream(&order->at[i]);)
		if (order->at[i].kind == kind)
			return &order->at[i];
	return NULL;
}

void record_note_output(struct record *record, enum record_stream stream, size_t bytes)
{
	const enum record_output_kind kind =
		stream == RECORD_STDOUT ? RECORD_OUTPUT_STDOUT : RECORD_OUTPUT_STDERR;
	struct record_order *order = &record->order;
	uint64_t *written = &order->written[kind];
	struct record_output *last;

	record_clear_waited(record);
	if (bytes == 0)
		return;
	last = order->count > 0 ? &order->at[order->count - 1] : NULL;
	if (last == NULL || last->kind != kind)
		last = order->changes >= CHANGES_MAX ? find_part(order, kind) : NULL;
	if (last == NULL) {
		record_entry_append(record,
				    (struct record_output){ .kind = kind, .start = *written });
		last = &order->at[order->count - 1];
		order->changes++;
	}
	*written += bytes;
	last->end = *written;
}

/* ---- the end ---------------------------------------------------------------------------- */

/* Offset in the stored text for the `raw`th byte that the program wrote. */
static size_t stored_offset(const struct record *record, enum record_output_kind kind, uint64_t raw)
{
	const struct record_cut *cut = &record->cut[kind];
	const size_t len = record->stream[kind].len;
	size_t after, tail;

	if (!cut->is_set || cut->gap_size == 0 || cut->gap_at + cut->gap_size > len)
		return raw < len ? (size_t)raw : len;
	if (raw <= cut->gap_at)
		return (size_t)raw;
	after = cut->gap_at + cut->gap_size;
	tail = len - after;
	if (cut->bytes_total < tail || raw <= cut->bytes_total - tail)
		return after;
	return raw < cut->bytes_total ? after + (size_t)(raw - (cut->bytes_total - tail)) : len;
}

/* A character belongs to the part with its first byte. */
static size_t whole_character(const struct buf *text, size_t at)
{
	for (int i = 0; i < 3 && at < text->len; i++, at++)
		if (((unsigned char)text->data[at] & 0xc0) != 0x80)
			break;
	return at;
}

void record_order_settle(struct record *record)
{
	struct record_order *order = &record->order;
	size_t place[2] = { 0, 0 }, last[2] = { SIZE_MAX, SIZE_MAX }, used = 0;

	for (size_t i = 0; i < order->count; i++) {
		struct record_output output = order->at[i];

		if (record_output_is_stream(&output)) {
			size_t *at = &place[output.kind];

			output.start = *at;
			*at = stored_offset(record, output.kind, output.end);
			*at = whole_character(&record->stream[output.kind], *at);
			output.end = *at;
			if (output.end <= output.start)
				continue;
		}
		record_order_keep(order, &used, &output);
		if (record_output_is_stream(&output))
			last[output.kind] = used - 1;
	}
	order->count = used;
	/* A stream that was set without entries comes first. */
	for (int kind = RECORD_OUTPUT_STDERR; kind >= RECORD_OUTPUT_STDOUT; kind--) {
		const size_t len = record->stream[kind].len;

		if (place[kind] >= len)
			continue;
		if (last[kind] != SIZE_MAX) {
			order->at[last[kind]].end = len;
			continue;
		}
		record_entry_append(record, (struct record_output){ 0 });
		memmove(order->at + 1, order->at, (order->count - 1) * sizeof(*order->at));
		order->at[0] = (struct record_output){ .kind = (enum record_output_kind)kind,
						       .end = len };
		for (int i = 0; i < 2; i++)
			last[i] += last[i] != SIZE_MAX ? 1 : 0;
	}
}

/* ---- for the text ----------------------------------------------------------------------- */

/* Adds the parts in at[0..count), merged into one part per stream. */
static size_t merge_streams(const struct record_output *at, size_t count,
			    struct record_output *ret)
{
	size_t used = 0;

	for (int kind = RECORD_OUTPUT_STDOUT; kind <= RECORD_OUTPUT_STDERR; kind++) {
		struct record_output *merged = NULL;

		for (size_t i = 0; i < count; i++) {
			if ((int)at[i].kind != kind)
				continue;
			if (merged == NULL) {
				merged = &ret[used++];
				*merged = at[i];
			}
			merged->end = at[i].end;
		}
	}
	return used;
}

/*
 * If a run of parts alternates between the streams, shows one stream after the other: otherwise
 * each line would need a label, and repeats could not be folded.
 */
size_t record_order_for_text(const struct record *record, size_t max, struct record_output *ret)
{
	const struct record_order *order = &record->order;
	size_t used = 0;

	for (size_t i = 0, run = 0; i < order->count; i += run > 0 ? run : 1) {
		run = 0;
		while (i + run < order->count && record_output_is_stream(&order->at[i + run]))
			run++;
		if (run > RUN_MAX) {
			used += merge_streams(&order->at[i], run, ret + used);
		} else {
			memcpy(ret + used, &order->at[i], (run > 0 ? run : 1) * sizeof(*ret));
			used += run > 0 ? run : 1;
		}
	}
	if (used <= max)
		return used;
	used = merge_streams(order->at, order->count, ret);
	for (size_t i = 0; i < order->count; i++)
		if (!record_output_is_stream(&order->at[i]))
			ret[used++] = order->at[i];
	return used;
}

/* ---- for the record --------------------------------------------------------------------- */

static void write_stream(struct json_writer *writer, const struct record *record,
			 const struct record_output *output)
{
	json_write_member_string(writer, "output_type", "stream");
	json_write_member_string(writer, "name",
				 output->kind == RECORD_OUTPUT_STDOUT ? "stdout" : "stderr");
	json_write_member_text(writer, "text",
			       record->stream[output->kind].data + output->start,
			       (size_t)(output->end - output->start));
}

static void write_plain(struct json_writer *writer, const struct record_result *result)
{
	const struct buf *text = result->plain.len > 0 ? &result->plain : &result->text;
	cleanup_buf struct buf cut = BUF_INIT(PLAIN_MAX);

	text_cut(buf_text(text), text->len, PLAIN_MAX, &cut);
	json_write_key(writer, "data");
	json_write_object_begin(writer);
	json_write_member_text(writer, "text/plain", buf_text(&cut), cut.len);
	json_write_object_end(writer);
	json_write_key(writer, "metadata");
	json_write_raw(writer, "{}", 2);
}

static void write_bundle(struct json_writer *writer, const struct record *record,
			 const struct record_result *result, size_t *room)
{
	const size_t size = result->data.len + result->metadata.len;

	json_write_member_string(writer, "output_type",
				 result->is_main ? "execute_result" : "display_data");
	if (result->is_main)
		json_write_member_uint(writer, "execution_count", record->sequence);
	if (size > *room) {
		write_plain(writer, result);
		return;
	}
	*room -= size;
	json_write_key(writer, "data");
	json_write_raw(writer, buf_text(&result->data), result->data.len);
	json_write_key(writer, "metadata");
	json_write_raw(writer, buf_text(&result->metadata), result->metadata.len);
}

static void write_error(struct json_writer *writer, const struct record_failure *failure)
{
	const char *line = failure->traceback;

	json_write_member_string(writer, "output_type", "error");
	json_write_member_string(writer, "ename", failure->name);
	json_write_member_string(writer, "evalue", failure->value);
	json_write_key(writer, "traceback");
	json_write_array_begin(writer);
	while (*line != '\0') {
		const size_t len = strcspn(line, "\n");

		json_write_text(writer, line, len);
		line += len + (line[len] == '\n' ? 1 : 0);
	}
	json_write_array_end(writer);
}

void record_write_outputs(struct json_writer *writer, const struct record *record)
{
	size_t room = DATA_MAX;

	json_write_key(writer, "outputs");
	json_write_array_begin(writer);
	for (size_t i = 0; i < record->order.count; i++) {
		const struct record_output *output = &record->order.at[i];

		json_write_object_begin(writer);
		switch (output->kind) {
		case RECORD_OUTPUT_STDOUT:
		case RECORD_OUTPUT_STDERR:
			write_stream(writer, record, output);
			break;
		case RECORD_OUTPUT_RESULT:
			write_bundle(writer, record, record->results[output->index], &room);
			break;
		case RECORD_OUTPUT_ERROR:
			write_error(writer, &record->failure);
			break;
		}
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}
