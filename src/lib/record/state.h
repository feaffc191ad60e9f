/* state.h - the members of a record; only for the record's own files and render.c. */
#pragma once

#include "lib/record/record.h"
#include "lib/store/store.h"
#include "lib/record/repeat_detector.h"

#define RECORD_IMAGES_MAX 4u /* of one result that are stored as artifacts */

struct record_image {
	char *mime; /* NULL: none */
	uint32_t width, height;
	struct buf bytes;
	char artifact[STORE_ID_SIZE]; /* "" until it is stored */
	char sha256[STORE_SHA256_SIZE];
};

struct record_result {
	struct buf data;     /* one JSON object, mime to content */
	struct buf metadata; /* one JSON object */
	struct buf text;     /* for the rendering: a summary, text/plain or the next best,
			      * cleaned */
	struct buf plain;    /* the text/plain that a summary replaces */
	struct buf note;     /* for the rendering: "[text/html, 1234 bytes]", "chart: …" lines */
	struct record_image images[RECORD_IMAGES_MAX]; /* the first `image_count` of them */
	size_t image_count;
	struct record_image scaled; /* the first one, scaled down for a model */
	char *display_id; /* or NULL */
	bool is_main;
};

struct record_frame {
	char *file;
	char *function;
	char *source;
	int64_t line; /* 0 when unknown */
};

#define RECORD_HINTS_MAX 5u

struct record_failure {
	bool is_set;
	char *name;
	char *value;
	char *traceback;
	char *repair; /* the kernel's view of the failure, or the host's advice; or NULL */
	char *hints[RECORD_HINTS_MAX];
	size_t hint_count;
	struct record_frame *frames;
	size_t frame_count;
};

/* Like struct record_file, but owned. */
struct record_listed {
	char *path;
	char *change;
	char *kind;
	char *mime;
	char *sha256;
	char *artifact;
	uint64_t size;
};

struct record_diagnostic {
	char code[64];
	char *message;
	char *detail; /* compact JSON object */
};

struct record_cut {
	bool is_set;
	uint64_t bytes_total;
	uint64_t bytes_kept;
	char *handle; /* or NULL */
	size_t gap_at, gap_size; /* of the mark in the text */
	uint64_t lines_total;
};

/* A part that the text does not show completely. */
struct record_left_out {
	const char *part; /* "stdout", "stderr", "result", "error" */
	size_t index;	  /* of the result */
	uint64_t bytes_total, bytes_shown, lines_total;
	char handle[STORE_ID_SIZE]; /* "" if it could not be stored */
};

/* The first two are also the indexes of the streams in struct record. */
enum record_output_kind {
	RECORD_OUTPUT_STDOUT,
	RECORD_OUTPUT_STDERR,
	RECORD_OUTPUT_RESULT,
	RECORD_OUTPUT_ERROR,
};

struct record_output {
	enum record_output_kind kind;
	uint64_t start, end; /* of a stream: in the bytes as written; once settled: in the stored
			      * text */
	size_t index;	     /* of a result */
};

/* Streams, results and the error in the order in which they came. */
struct record_order {
	struct record_output *at;
	size_t count, cap;
	size_t changes;	     /* number of parts of streams */
	uint64_t written[2]; /* bytes of each stream */
};

struct record {
	char *id, *session, *kernel, *context, *started_at;
	uint64_t sequence;
	struct record_result **results;
	size_t result_count;
	size_t results_size; /* of data and metadata of all results */
	struct record_order order;
	size_t displays_max;
	uint64_t displays_dropped;
	bool clear_waits;
	struct buf stream[2]; /* stdout, stderr */
	struct record_cut cut[2];
	struct record_failure failure;
	struct record_listed *files;
	size_t file_count;
	uint64_t files_dropped;
	struct record_diagnostic *diagnostics;
	size_t diagnostic_count;
	uint64_t diagnostics_dropped;
	struct record_receipt receipt;
	bool has_receipt;
	struct record_slice part[RECORD_PART_COUNT_]; /* set when it is written */
	struct store *store; /* or NULL */
	struct repeat_detector_repeat repeat; /* count 0: none */
	size_t text_max;
	struct buf text;
	struct record_left_out *left_out;
	size_t left_out_count;
};

/* A clean, NUL-terminated copy of at most `max` bytes (head and tail if it was longer). */
char *record_copy_text(const char *text, size_t len, size_t max);

void record_failure_clear(struct record_failure *failure);

/* results.c */
void record_result_free(struct record_result *result); /* NULL is fine */
void record_results_drop(struct record *record);
void record_clear_waited(struct record *record); /* ends the wait of record_clear() */

/* entries.c: the entries of the order. */
bool record_output_is_stream(const struct record_output *output);
void record_entry_append(struct record *record, struct record_output output);
/* Moves an entry behind the `used` first ones; merges adjacent parts of one stream. */
void record_order_keep(struct record_order *order, size_t *used,
		       const struct record_output *output);
void record_order_add(struct record *record, enum record_output_kind kind, size_t index);
void record_order_drop(struct record *record, enum record_output_kind kind);

/* order.c */
void record_order_settle(struct record *record); /* once, before the record is rendered and
						  * written */
/*
 * Fills `ret`, which has room for as many entries as the order has, with what a text shows: the
 * order, except for streams that alternate too often; with more than `max` entries streams first,
 * then the rest.
 */
size_t record_order_for_text(const struct record *record, size_t max, struct record_output *ret);

/* note.c: the lines for data that is not text; stores an image if there is a store. */
void record_note_data(struct record_result *result, const char *mime, const char *data, size_t len);
void record_store_images(struct record *record, struct record_result *result);
void record_add_image_lines(const struct record *record, const struct record_result *result,
			   struct buf *ret);
void record_images_copy(struct record_result *to, const struct record_result *from);
/* Takes "image/vnd.reckon.scaled", which is not a form of the result; false: it is another type. */
bool record_take_scaled(struct record_result *result, const char *data, size_t len);

/* record.c: adds a last diagnostic for each kind of event that was only counted. */
void record_report_dropped(struct record *record);

/* status.c: the name of the error if nothing was raised. */
const char *record_status_error(enum record_status status);
/* Explains a status other than ok in one sentence; "" for ok. */
void record_explain(const struct record *record, enum record_status status, struct buf *ret);

struct json_writer;
void record_write_failure(struct json_writer *writer, const struct record_failure *failure);
void record_write_result(struct json_writer *writer, const struct record_result *result);
/* repeat.c: the members "repeat" and "text_left_out". */
void record_write_repeat(struct json_writer *writer, const struct record *record);
void record_write_left_out(struct json_writer *writer, const struct record *record);
/* order.c: the member "outputs". */
void record_write_outputs(struct json_writer *writer, const struct record *record);

/* Fills record->text; the last step before the record is written. */
void render_text(struct record *record, enum record_status status);
