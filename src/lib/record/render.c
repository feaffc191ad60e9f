/*
 * render.c - a record as text for a context window.
 *
 * Runs in:  libreckon.
 * Reads:    the output of a hostile program, as text.
 * Never:    exceeds the record's text_max, splits a character or lets a terminal escape through.
 *
 * The parts share the room: a part that needs less than its share leaves the rest to the others. So
 * a flood on stdout cannot displace the error, and a single stdout gets nearly all. Content that
 * does not fit is stored, and its id is shown at the gap.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "lib/record/state.h"
#include "lib/shape/shape.h"
#include "lib/record/text.h"

#define FILES_SHOWN 20u
#define NOTES_SHOWN 10u
#define PLAIN_SHOWN 2048u   /* bytes of plain text that a summary shows completely */
#define MESSAGE_SHOWN 700u  /* of an error's message, which a repair view shows completely */
#define RESULT_ROOM_MIN 64u /* bytes for each result that is shown */

/* The parts that share the room; the first two are the streams, at their places in struct
 * record. */
enum part {
	PART_STDOUT,
	PART_STDERR,
	PART_RESULTS,
	PART_ERROR,
	PART_FILES,
	PART_NOTES,
	PART_REPEAT,
};

#define PART_COUNT 7

/* Appends; a part is as large as its content, so it never reaches its ceiling. */
static void add(struct buf *part, const char *text, size_t len)
{
	struct err ignored;

	(void)buf_add(part, text, len, &ignored);
}

static void add_string(struct buf *part, const char *text)
{
	add(part, text, strlen(text));
}

static void end_line(struct buf *part)
{
	if (part->len > 0 && part->data[part->len - 1] != '\n')
		add(part, "\n", 1);
}

/* "<Figure size 640x480 with 1 Axes>" adds nothing to the image itself. */
static bool is_placeholder(const struct record_result *result)
{
	const char *text = buf_text(&result->text);
	size_t len = result->text.len;

	return result->image_count > 0 && len > 2 && text[0] == '<' && text[len - 1] == '>' &&
	       strchr(text, '\n') == NULL;
}

/* Forms besides a text (HTML, data) are not worth a line each; images and charts always are. */
static void add_notes(const struct record_result *result, struct buf *ret)
{
	const char *line = buf_text(&result->note);

	while (*line != '\0') {
		size_t len = strcspn(line, "\n");

		if (result->text.len == 0 || strncmp(line, "[image/", 7) == 0 ||
		    strncmp(line, "chart: ", 7) == 0) {
			add(ret, line, len);
			end_line(ret);
		}
		line += len + (line[len] == '\n' ? 1 : 0);
	}
}

static void render_error(const struct record *record, enum record_status status, struct buf *ret)
{
	const struct record_failure *failure = &record->failure;
	cleanup_buf struct buf why = BUF_INIT(512);
	struct err ignored;

	/* Without a traceback `repair` is the host's advice, which is shown among the hints. */
	if (failure->is_set && failure->traceback[0] != '\0')
		add_string(ret, failure->repair != NULL && failure->repair[0] != '\0' ?
					failure->repair : failure->traceback);
	else if (failure->is_set)
		(void)buf_addf(ret, &ignored, "%s: %s", failure->name, failure->value);
	end_line(ret);
	for (size_t i = 0; i < failure->hint_count; i++)
		(void)buf_addf(ret, &ignored, "hint: %s\n", failure->hints[i]);
	if (status == RECORD_OK || status == RECORD_ERROR)
		return;
	/* Also shown with an exception: KeyboardInterrupt alone does not show the time limit. */
	record_explain(record, status, &why);
	(void)buf_addf(ret, &ignored, "[%s] %s\n", record_status_name(status), buf_text(&why));
}

static void render_files(const struct record *record, struct buf *ret)
{
	size_t shown = record->file_count < FILES_SHOWN ? record->file_count : FILES_SHOWN;
	struct err ignored;

	if (record->file_count == 0)
		return;
	add_string(ret, "files:\n");
	for (size_t i = 0; i < shown; i++) {
		const struct record_listed *file = &record->files[i];

		(void)buf_addf(ret, &ignored, "  %s %s", file->change, file->path);
		if (strcmp(file->kind, "file") != 0)
			(void)buf_addf(ret, &ignored, " (%s)", file->kind);
		else if (file->mime != NULL)
			(void)buf_addf(ret, &ignored, " (%s, %" PRIu64 " bytes)", file->mime,
				       file->size);
		add(ret, "\n", 1);
	}
	if (shown < record->file_count)
		(void)buf_addf(ret, &ignored, "  and %zu more\n", record->file_count - shown);
}

static void render_notes(const struct record *record, struct buf *ret)
{
	static const char *const names[] = { "stdout", "stderr" };
	size_t shown = 0, left = 0;
	struct err ignored;

	for (size_t i = 0; i < 2; i++) {
		const struct record_cut *cut = &record->cut[i];

		/* Otherwise the mark in the text says it. */
		if (!cut->is_set || cut->gap_size > 0)
			continue;
		(void)buf_addf(ret, &ignored, "[%s: %" PRIu64 " of %" PRIu64 " bytes kept",
			       names[i], cut->bytes_kept, cut->bytes_total);
		if (cut->handle != NULL)
			(void)buf_addf(ret, &ignored, "; all of it: %s", cut->handle);
		add_string(ret, "]\n");
	}
	for (size_t i = 0; i < record->diagnostic_count; i++) {
		const struct record_diagnostic *diagnostic = &record->diagnostics[i];

		/* A repeat is shown as the last line of the text. */
		if (strcmp(diagnostic->code, "repeated_failure") == 0)
			continue;
		if (shown++ < NOTES_SHOWN)
			(void)buf_addf(ret, &ignored, "note: %s: %s\n", diagnostic->code,
				       diagnostic->message);
		else
			left++;
	}
	if (left > 0)
		(void)buf_addf(ret, &ignored, "note: and %zu more\n", left);
}

/* ---- pieces ----------------------------------------------------------------------------- */

/* One stream, result or other part; the text that its shape leaves out can be stored. */
struct piece {
	enum part group;
	const char *name; /* in text_left_out; NULL: nothing of it is stored */
	size_t index;
	struct buf before, after; /* our lines around it */
	struct buf own;		   /* the source, if it was made here */
	struct shape_source source;
	struct shape *shape; /* or NULL */
};

/* A stream; several pieces may be parts of it. */
struct stream_view {
	const char *handle; /* set if it is stored, else NULL */
	char stored[STORE_ID_SIZE];
	bool is_lossy; /* some piece does not show all of its part */
	uint64_t bytes_shown;
};

struct pieces {
	struct piece *at;
	size_t count;
	struct stream_view stream[2];
	int last_stream; /* that was shown so far; the first pieces need no label */
};

static struct piece *add_piece(struct pieces *pieces, enum part group)
{
	struct piece *piece;

	pieces->at = mem_grow(pieces->at, pieces->count + 1, sizeof(*pieces->at));
	piece = &pieces->at[pieces->count++];
	*piece = (struct piece){ .group = group,
				 .before = BUF_INIT(RECORD_JSON_MAX),
				 .after = BUF_INIT(RECORD_JSON_MAX),
				 .own = BUF_INIT(RECORD_JSON_MAX) };
	return piece;
}

static void pieces_done(struct pieces *pieces)
{
	for (size_t i = 0; i < pieces->count; i++) {
		buf_done(&pieces->at[i].before);
		buf_done(&pieces->at[i].after);
		buf_done(&pieces->at[i].own);
		shape_free(pieces->at[i].shape);
	}
	free(pieces->at);
}

static void shape_piece(struct piece *piece, const char *name, const char *text, size_t len)
{
	piece->name = name;
	piece->source.text = text;
	piece->source.len = len;
	piece->shape = shape_new(&piece->source);
}

static size_t piece_size(const struct piece *piece)
{
	return piece->before.len + (piece->shape != NULL ? shape_size(piece->shape) : 0) +
	       piece->after.len;
}

static uint64_t count_newlines(const struct buf *text, size_t from, size_t to)
{
	uint64_t count = 0;

	for (size_t i = from; i < to; i++)
		count += text->data[i] == '\n';
	return count;
}

/* Where a part is in its stream: its lines, and whether it contains the gap. */
static void place_part(const struct record *record, const struct record_output *part,
		       struct shape_source *source)
{
	const struct buf *stream = &record->stream[part->kind];
	const struct record_cut *cut = &record->cut[part->kind];
	const bool has_gap = cut->is_set && cut->gap_size > 0 &&
			     cut->gap_at + cut->gap_size <= stream->len;
	const size_t start = (size_t)part->start, end = (size_t)part->end;
	uint64_t rest = count_newlines(stream, end, stream->len);

	source->whole_bytes = cut->is_set ? cut->bytes_total : stream->len;
	source->lines_before = count_newlines(stream, 0, start);
	if (!has_gap)
		return;
	rest += stream->len > end && stream->data[stream->len - 1] != '\n' ? 1 : 0;
	if (start >= cut->gap_at + cut->gap_size) {
		const uint64_t own = count_newlines(stream, start, end) +
				     (stream->data[end - 1] != '\n' ? 1 : 0);

		source->lines_before = cut->lines_total > rest + own ?
					       cut->lines_total - rest - own : 0;
	} else if (start <= cut->gap_at && end > cut->gap_at) {
		source->gap_at = cut->gap_at - start;
		source->gap_size = cut->gap_size;
		source->gap_bytes = cut->bytes_total - cut->bytes_kept;
		source->lines_total = cut->lines_total > rest + source->lines_before ?
					      cut->lines_total - rest - source->lines_before : 0;
	}
}

static void add_part(const struct record *record, struct pieces *pieces,
		     const struct record_output *part)
{
	const char *name = part->kind == RECORD_OUTPUT_STDOUT ? "stdout" : "stderr";
	struct piece *piece = add_piece(pieces, part->kind == RECORD_OUTPUT_STDOUT ? PART_STDOUT :
										     PART_STDERR);

	place_part(record, part, &piece->source);
	shape_piece(piece, name, record->stream[part->kind].data + part->start,
		    (size_t)(part->end - part->start));
	/* Only escapes, or an empty line. */
	if (shape_size(piece->shape) <= 1) {
		shape_free(piece->shape);
		piece->shape = NULL;
	} else if ((int)part->kind != pieces->last_stream) {
		add_string(&piece->before,
			   part->kind == RECORD_OUTPUT_STDOUT ? "[stdout]\n" : "[stderr]\n");
		pieces->last_stream = (int)part->kind;
	}
}

static const char *keep(struct record *record, const char *text, size_t len,
			char ret[STORE_ID_SIZE])
{
	struct store_object object;
	struct err err;

	ret[0] = '\0';
	if (record->store == NULL)
		return NULL;
	if (store_put_bytes(record->store, "out", text, len, &object, &err) < 0) {
		record_add_diagnostic(record, "output_not_kept", err.text, NULL);
		return NULL;
	}
	memcpy(ret, object.id, STORE_ID_SIZE);
	return ret;
}

static struct record_left_out *add_left_out(struct record *record, const char *part, size_t index)
{
	struct record_left_out *left_out;

	record->left_out = mem_grow(record->left_out, record->left_out_count + 1,
				    sizeof(*record->left_out));
	left_out = &record->left_out[record->left_out_count++];
	*left_out = (struct record_left_out){ .part = part, .index = index };
	return left_out;
}

/* The plain form of a summarised result: a short one is fully shown by the summary. */
static void keep_plain(struct record *record, size_t index, struct buf *after)
{
	const struct buf *plain = &record->results[index]->plain;
	struct record_left_out *left_out;
	char bytes[TEXT_COUNT_SIZE];
	struct err ignored;

	if (plain->len <= PLAIN_SHOWN)
		return;
	left_out = add_left_out(record, "result", index);
	left_out->bytes_total = plain->len;
	left_out->lines_total = 1;
	for (size_t i = 0; i + 1 < plain->len; i++)
		left_out->lines_total += plain->data[i] == '\n';
	text_count(plain->len, bytes);
	if (keep(record, plain->data, plain->len, left_out->handle) != NULL)
		(void)buf_addf(after, &ignored, "[text/plain, %s bytes: reckon output %s]\n", bytes,
			       left_out->handle);
}

static void add_result(struct record *record, struct pieces *pieces, size_t index)
{
	struct record_result *result = record->results[index];
	struct piece *piece = add_piece(pieces, PART_RESULTS);

	piece->index = index;
	record_store_images(record, result);
	if (result->text.len > 0 && !is_placeholder(result))
		shape_piece(piece, "result", result->text.data, result->text.len);
	keep_plain(record, index, &piece->after);
	record_add_image_lines(record, result, &piece->after);
	add_notes(result, &piece->after);
}

/* If only some results fit, shows the first ones and the last, which is the cell's value. */
static void add_some_result(struct record *record, struct pieces *pieces, size_t index)
{
	const size_t count = record->result_count, max = record->text_max / RESULT_ROOM_MIN;
	struct err ignored;

	if (index + 1 < max || index + 1 == count)
		add_result(record, pieces, index);
	else if (index + 1 == max)
		(void)buf_addf(&add_piece(pieces, PART_RESULTS)->after, &ignored,
			       "\xe2\x80\xa6 %zu results left out \xe2\x80\xa6\n", count - max);
}

/* The repair view cuts a long message; the traceback has all of it. */
static void keep_traceback(struct record *record, struct buf *after)
{
	const struct record_failure *failure = &record->failure;
	struct record_left_out *left_out;
	char bytes[TEXT_COUNT_SIZE];
	struct err ignored;
	size_t len;

	if (!failure->is_set || failure->repair == NULL || failure->repair[0] == '\0' ||
	    failure->traceback[0] == '\0' || strlen(failure->value) <= MESSAGE_SHOWN)
		return;
	len = strlen(failure->traceback);
	left_out = add_left_out(record, "error", 0);
	left_out->bytes_total = len;
	left_out->lines_total = 1;
	for (size_t i = 0; i + 1 < len; i++)
		left_out->lines_total += failure->traceback[i] == '\n';
	text_count(len, bytes);
	if (keep(record, failure->traceback, len, left_out->handle) != NULL)
		(void)buf_addf(after, &ignored, "[traceback, %s bytes: reckon output %s]\n", bytes,
			       left_out->handle);
}

static void add_error(struct record *record, enum record_status status, struct pieces *pieces)
{
	struct piece *piece = add_piece(pieces, PART_ERROR);

	render_error(record, status, &piece->own);
	if (piece->own.len > 0)
		shape_piece(piece, "error", piece->own.data, piece->own.len);
	keep_traceback(record, &piece->after);
}

static void add_repeat(const struct record *record, struct pieces *pieces)
{
	struct piece *piece = add_piece(pieces, PART_REPEAT);
	char line[REPEAT_LINE_SIZE];
	struct err ignored;

	if (record->repeat.count == 0)
		return;
	repeat_detector_describe(&record->repeat, line);
	(void)buf_addf(&piece->after, &ignored, "[%s]\n", line);
}

/* ---- room ------------------------------------------------------------------------------- */

/* How much of each is shown, together at most `room`: small parts leave the rest to others. */
static void share_room(const size_t *wants, size_t count, size_t room, size_t *shares)
{
	cleanup_free bool *is_settled = mem_new0(count + 1, sizeof(*is_settled));
	size_t waiting = count;
	bool again = true;

	while (again && waiting > 0) {
		size_t share = room / waiting;

		again = false;
		for (size_t i = 0; i < count; i++) {
			if (is_settled[i] || wants[i] > share)
				continue;
			is_settled[i] = true;
			shares[i] = wants[i];
			room -= wants[i];
			waiting--;
			again = true;
		}
	}
	for (size_t i = 0; i < count; i++)
		if (!is_settled[i])
			shares[i] = room / waiting;
}

/* The line about repeats is always shown; the error gets up to half of the room. */
static void share_parts(const size_t wants[PART_COUNT], size_t room, size_t shares[PART_COUNT])
{
	size_t others[PART_COUNT],
		error = wants[PART_ERROR] < room / 2 ? wants[PART_ERROR] : room / 2;

	memcpy(others, wants, sizeof(others));
	others[PART_REPEAT] = 0;
	room -= wants[PART_REPEAT] < room ? wants[PART_REPEAT] : room;
	share_room(others, PART_COUNT, room, shares);
	if (shares[PART_ERROR] < error && error <= room) {
		others[PART_ERROR] = 0;
		share_room(others, PART_COUNT, room - error, shares);
		shares[PART_ERROR] = error;
	}
	shares[PART_REPEAT] = wants[PART_REPEAT];
}

/* The id of the complete content of a piece; NULL: there is none. */
static const char *find_handle(struct record *record, struct pieces *pieces,
			       const struct piece *piece, char ret[STORE_ID_SIZE])
{
	const struct buf *stream;
	struct stream_view *view;

	if (piece->group != PART_STDOUT && piece->group != PART_STDERR)
		return keep(record, piece->source.text, piece->source.len, ret);
	view = &pieces->stream[piece->group];
	stream = &record->stream[piece->group];
	if (record->cut[piece->group].is_set)
		view->handle = record->cut[piece->group].handle;
	if (view->handle == NULL && !view->is_lossy) /* otherwise it was tried already */
		view->handle = keep(record, stream->data, stream->len, view->stored);
	view->is_lossy = true;
	return view->handle;
}

static void write_shape(struct record *record, struct pieces *pieces, struct piece *piece,
			size_t room)
{
	const bool is_stream = piece->group == PART_STDOUT || piece->group == PART_STDERR;
	const bool is_lossy = shape_is_lossy(piece->shape, room);
	const size_t before = record->text.len;
	char stored[STORE_ID_SIZE] = "";
	const char *handle = NULL;
	struct record_left_out *left_out;

	if (is_lossy)
		handle = find_handle(record, pieces, piece, stored);
	shape_write(piece->shape, room, handle, &record->text);
	if (is_stream)
		pieces->stream[piece->group].bytes_shown += record->text.len - before;
	if (is_stream || !is_lossy)
		return;
	left_out = add_left_out(record, piece->name, piece->index);
	left_out->bytes_total = shape_bytes_total(piece->shape);
	left_out->lines_total = shape_lines_total(piece->shape);
	left_out->bytes_shown = record->text.len - before;
	memcpy(left_out->handle, stored, sizeof(stored));
}

/* Lists each stream once, however many of its parts are shown. */
static void add_streams_left_out(struct record *record, const struct pieces *pieces)
{
	static const char *const names[] = { "stdout", "stderr" };

	for (size_t i = 0; i < 2; i++) {
		const struct stream_view *view = &pieces->stream[i];
		const struct record_cut *cut = &record->cut[i];
		const struct buf *stream = &record->stream[i];
		struct record_left_out *left_out;

		if (!view->is_lossy)
			continue;
		left_out = add_left_out(record, names[i], 0);
		left_out->bytes_total = cut->is_set ? cut->bytes_total : stream->len;
		left_out->bytes_shown = view->bytes_shown;
		left_out->lines_total = count_newlines(stream, 0, stream->len) +
					(stream->data[stream->len - 1] != '\n' ? 1 : 0);
		if (cut->is_set && cut->gap_size > 0)
			left_out->lines_total = cut->lines_total;
		if (view->handle != NULL)
			(void)snprintf(left_out->handle, sizeof(left_out->handle), "%s",
				       view->handle);
	}
}

static void write_piece(struct record *record, struct pieces *pieces, struct piece *piece,
			size_t share)
{
	size_t after = piece->after.len;

	if (piece->shape != NULL && after > share / 2)
		after = share / 2;
	else if (after > share)
		after = share;
	end_line(&record->text);
	if (piece->shape != NULL && share > piece->before.len + after) {
		add(&record->text, buf_text(&piece->before), piece->before.len);
		write_shape(record, pieces, piece, share - piece->before.len - after);
		end_line(&record->text);
	}
	text_cut(buf_text(&piece->after), piece->after.len, after, &record->text);
}

/* How much of each piece of a group is shown. */
static void share_group(const struct pieces *pieces, enum part group, size_t room, size_t *shares)
{
	cleanup_free size_t *wants = mem_new0(pieces->count + 1, sizeof(*wants));
	cleanup_free size_t *own = mem_new0(pieces->count + 1, sizeof(*own));

	for (size_t i = 0; i < pieces->count; i++)
		wants[i] = pieces->at[i].group == group ? piece_size(&pieces->at[i]) : 0;
	share_room(wants, pieces->count, room, own);
	for (size_t i = 0; i < pieces->count; i++)
		if (pieces->at[i].group == group)
			shares[i] = own[i];
}

static void add_pieces(struct record *record, enum record_status status, struct pieces *pieces)
{
	const size_t max = record->text_max / RESULT_ROOM_MIN;
	cleanup_free struct record_output *order =
		mem_new0(record->order.count + 1, sizeof(*order));
	const size_t count = record_order_for_text(record, max, order);

	for (size_t i = 0; i < count; i++) {
		switch (order[i].kind) {
		case RECORD_OUTPUT_STDOUT:
		case RECORD_OUTPUT_STDERR:
			add_part(record, pieces, &order[i]);
			break;
		case RECORD_OUTPUT_RESULT:
			add_some_result(record, pieces, order[i].index);
			break;
		case RECORD_OUTPUT_ERROR:
			add_error(record, status, pieces);
			break;
		}
	}
	render_files(record, &add_piece(pieces, PART_FILES)->after);
	render_notes(record, &add_piece(pieces, PART_NOTES)->after);
	add_repeat(record, pieces);
}

void render_text(struct record *record, enum record_status status)
{
	size_t wants[PART_COUNT] = { 0 }, rooms[PART_COUNT] = { 0 };
	__attribute__((cleanup(pieces_done))) struct pieces pieces = { 0 };
	cleanup_free size_t *shares = NULL;

	add_pieces(record, status, &pieces);
	for (size_t i = 0; i < pieces.count; i++)
		wants[pieces.at[i].group] += piece_size(&pieces.at[i]);
	/* Reserve a byte per piece: a cut piece may lack the newline at its end. */
	share_parts(wants, record->text_max - pieces.count, rooms);
	shares = mem_new0(pieces.count + 1, sizeof(*shares));
	for (size_t group = 0; group < PART_COUNT; group++)
		share_group(&pieces, (enum part)group, rooms[group], shares);
	buf_clear(&record->text);
	for (size_t i = 0; i < pieces.count; i++)
		write_piece(record, &pieces, &pieces.at[i], shares[i]);
	add_streams_left_out(record, &pieces);
	if (record->text.len == 0)
		add_string(&record->text, "(no output)");
	else if (record->text.data[record->text.len - 1] == '\n')
		record->text.data[--record->text.len] = '\0';
}
