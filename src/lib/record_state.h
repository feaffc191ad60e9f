/* record_state.h - what a record holds until it is written; for record*.c and render.c alone. */
#pragma once

#include "record.h"

struct record_result {
	struct buf data;     /* one JSON object, mime to content */
	struct buf metadata; /* one JSON object */
	struct buf text;     /* for the rendering: text/plain or the next best, clean */
	struct buf note;     /* for the rendering: "[image/png 640x480, 18231 bytes]" lines */
	char *display_id;    /* or NULL */
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
	char *repair; /* the kernel's view of the failure, or what the host advises; or NULL */
	char *hints[RECORD_HINTS_MAX];
	size_t hint_count;
	struct record_frame *frames;
	size_t frame_count;
};

/* As struct record_file, owned. */
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
};

struct record {
	char *id, *session, *kernel, *started_at;
	uint64_t sequence;
	struct record_result **results;
	size_t result_count;
	size_t results_size; /* of data and metadata of all results */
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
	struct buf text;
};

/* A clean, NUL-terminated copy of at most `max` bytes (head and tail when it was longer). */
char *record_copy_text(const char *text, size_t len, size_t max);

void record_result_free(struct record_result *result); /* NULL is fine */
void record_failure_clear(struct record_failure *failure);

/* What a status other than ok means, in one sentence; "" for ok. */
void record_explain(const struct record *record, enum record_status status, struct buf *ret);

struct json_writer;
void record_write_failure(struct json_writer *writer, const struct record_failure *failure);
void record_write_result(struct json_writer *writer, const struct record_result *result);

/* Fills record->text; the last step before the record is written. */
void render_text(struct record *record, enum record_status status);
