/*
 * record.h - the record of one execution, `reckon.execution/1`, and its events.
 *
 * The builder collects what happened and writes one line of JSON (docs/record.schema.json) at the
 * end. Everything from a kernel is hostile: text is made valid UTF-8, JSON is checked before it is
 * passed on, sizes are bounded; data that does not fit is dropped with a diagnostic. Functions that
 * return void cannot fail, whatever a kernel sends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/kernel.h"
#include "wire/warden.h"

#define RECORD_DATA_MAX (16u * 1024u * 1024u)	  /* of one mime of one bundle */
#define RECORD_SCALED_MAX (4u * 1024u * 1024u)	  /* of a scaled-down image */
#define RECORD_RESULTS_MAX (64u * 1024u * 1024u) /* all results together, as JSON */
#define RECORD_DISPLAYS_DEFAULT 64u
#define RECORD_FILES_MAX 1000u
#define RECORD_DIAGNOSTICS_MAX 100u
#define RECORD_TEXT_DEFAULT (16u * 1024u) /* of the text for models */
#define RECORD_TEXT_MIN 1024u
#define RECORD_TEXT_MAX (1024u * 1024u)
#define RECORD_JSON_MAX ((size_t)512 * 1024 * 1024) /* a ceiling for buffers that hold a record */

enum record_status {
	RECORD_OK,
	RECORD_ERROR,
	RECORD_TIMEOUT,
	RECORD_INTERRUPTED,
	RECORD_OUT_OF_MEMORY,
	RECORD_OUTPUT_LIMIT,
	RECORD_KILLED,
	RECORD_KERNEL_DIED,
	RECORD_INFRA_ERROR,
};

#define RECORD_STATUS_COUNT 9

const char *record_status_name(enum record_status status);   /* "ok", "out_of_memory", … */
int record_status_exit_code(enum record_status status);	     /* 0, 1, 124, 125 or 137 */

enum record_stream { RECORD_STDOUT = 1, RECORD_STDERR = 2 };

/* Everything is copied. */
struct record_head {
	const char *id;		/* "ex_…" */
	const char *session;	/* "se_…" */
	const char *context;	/* "ctx_…"; NULL or "": the session's first kernel */
	const char *kernel;	/* the name of its language */
	uint64_t sequence;	/* 1, 2, … within the session */
	const char *started_at; /* clock_rfc3339_now() */
	uint32_t displays_max;	/* 0: RECORD_DISPLAYS_DEFAULT */
	size_t text_max;	/* 0: RECORD_TEXT_DEFAULT */
};

struct record;
struct store;

struct record *record_new(const struct record_head *head); /* never NULL */
void record_free(struct record *record);		   /* NULL is fine */
void record_freep(struct record **record);
#define cleanup_record __attribute__((cleanup(record_freep)))

/*
 * Sets where record_finish() stores images and what the text leaves out. The store is borrowed and
 * must outlive the record; without it nothing is stored.
 */
void record_set_store(struct record *record, struct store *store);

/* ---- results ---------------------------------------------------------------------------- */

enum record_bundle { RECORD_DISPLAY, RECORD_UPDATE_DISPLAY, RECORD_RESULT };

/* One encoded bundle; belongs to the record and is valid until the record is next changed. */
struct record_result;

/*
 * Adds the items of a KERNEL_DISPLAY, KERNEL_UPDATE_DISPLAY or KERNEL_RESULT packet. An update
 * replaces every earlier result of this execution with the same display id; if there is none (the
 * display belongs to an earlier cell) it becomes a result of its own. Returns NULL if no part of
 * the bundle could be stored (the record has the reason): then there is no event to send either.
 */
const struct record_result *record_add_bundle(struct record *record, enum record_bundle kind,
					      const struct kernel_item *items, size_t count);

/*
 * Drops the results so far, at once or (wait) when the next output comes. Printed text stays,
 * because the program wrote it. record_note_output() reports that the program wrote `bytes` more to
 * a stream: it ends a wait, and orders the text among the results.
 */
void record_clear(struct record *record, bool wait);
void record_note_output(struct record *record, enum record_stream stream, size_t bytes);

/* ---- streams, error --------------------------------------------------------------------- */

/* The text as stored (already cut by the caller: head, a mark, tail). Copied. Any bytes. */
void record_set_stream(struct record *record, enum record_stream stream, const char *text,
		       size_t len);

/* Marks the stream as cut; `handle` ("out_…") may be NULL if nothing was spooled. */
void record_set_truncated(struct record *record, enum record_stream stream, uint64_t bytes_total,
			  uint64_t bytes_kept, const char *handle);

/*
 * For a cut stream: the mark for the missing text is at `at` in the text and has `size` bytes; the
 * program printed `lines_total` lines.
 */
void record_set_gap(struct record *record, enum record_stream stream, size_t at, size_t size,
		    uint64_t lines_total);

/* The items of a KERNEL_ERROR packet. A later error replaces an earlier one. */
void record_set_error_items(struct record *record, const struct kernel_item *items, size_t count);

/* The same for an error of the host. NULL means "". If there is no error, record_finish() makes one
 * that explains the status, unless the status is RECORD_OK. */
void record_set_error(struct record *record, const char *name, const char *value,
		      const char *traceback, const char *repair);

/* Adds a hint to the error, before the existing ones; drops the last one if there is no room. */
void record_add_hint(struct record *record, const char *hint);

/* ---- files, receipt, diagnostics -------------------------------------------------------- */

struct record_file {
	const char *path;     /* relative to the workspace; any bytes, made printable */
	const char *change;   /* "created", "modified", "deleted" */
	const char *kind;     /* workspace_kind_name(): "file", "symlink", … */
	uint64_t size;
	const char *mime;     /* NULL: null */
	const char *sha256;   /* NULL: null */
	const char *artifact; /* NULL: null */
};

void record_add_file(struct record *record, const struct record_file *file);

struct record_receipt {
	uint64_t wall_ns;
	uint64_t cpu_user_ns;
	uint64_t cpu_system_ns;
	uint64_t memory_peak_bytes;
	uint64_t read_bytes;
	uint64_t written_bytes;
	uint64_t processes_peak;
	/* limits; 0: none, left out */
	uint64_t limit_wall_ms;
	uint64_t limit_cpu_ms;
	uint64_t limit_memory_bytes;
	uint64_t limit_disk_bytes;
	uint64_t limit_output_bytes;
	uint32_t limit_pids;
	uint32_t limit_cpu_percent;
	uint32_t denied_count;
	struct warden_denial denied[WARDEN_DENIED_MAX];
};

/* Copies the warden's measurements: everything except wall time and limits. */
void record_receipt_from_usage(struct record_receipt *receipt, const struct warden_usage *usage);
void record_set_receipt(struct record *record, const struct record_receipt *receipt);

/* `detail_json` is a JSON object (checked) or NULL. `code` must be [a-z_]+; other characters are
 * replaced. */
void record_add_diagnostic(struct record *record, const char *code, const char *message,
			   const char *detail_json);
/* A KERNEL_TAG_NOTE, "code: message". */
void record_add_note(struct record *record, const char *note, size_t len);

/* ---- repeats ---------------------------------------------------------------------------- */

/* The error, for repeat_detector.h; "" for missing parts. Valid until the error is set again. */
struct record_error_view {
	const char *name;
	const char *value;
	const char *source; /* the failing line, from the innermost frame of user code */
};

void record_view_error(const struct record *record, struct record_error_view *ret);

/* A fingerprint of all output: equal for equal output. */
uint64_t record_output_fingerprint(const struct record *record);
/* Whether it printed or showed anything. */
bool record_has_output(const struct record *record);

size_t record_file_count(const struct record *record);

struct repeat_detector_repeat;
/* The failure was seen before; copies `repeat`, and adds the diagnostic. */
void record_set_repeat(struct record *record, const struct repeat_detector_repeat *repeat);

/* ---- the end ---------------------------------------------------------------------------- */

/* Appends the record as one line of JSON, without newline. ERR_LIMIT: ret's ceiling. */
int record_finish(struct record *record, enum record_status status, struct buf *ret_json,
		  struct err *err);

/*
 * The same record without the parts that were sent as events (stdout, stderr, results and outputs),
 * and with "streamed": true. Call it after record_finish().
 */
int record_write_brief(struct record *record, enum record_status status, struct buf *ret_json,
		       struct err *err);

/* The position of a member's value in the output of record_finish(). */
enum record_part { RECORD_PART_FILES, RECORD_PART_RECEIPT, RECORD_PART_COUNT_ };
struct record_slice {
	size_t at, len;
};
struct record_slice record_part(const struct record *record, enum record_part part);

/* The text for models alone; valid from record_finish() to record_free(). */
const char *record_text(const struct record *record);

/* ---- events ----------------------------------------------------------------------------- */

/* Each appends one line of JSON without newline, as in docs/events.md; seq starts at 1. */
struct record_moment {
	uint64_t seq;
	uint64_t elapsed_ns; /* since the execution began, monotonic */
};

/* Names as in the "event" member. */
#define RECORD_EVENT_STREAM "stream"
#define RECORD_EVENT_ERROR "error"
#define RECORD_EVENT_CLEAR "clear_output"
#define RECORD_EVENT_INPUT "input_request"
#define RECORD_EVENT_TOOL "tool_call"
#define RECORD_EVENT_DONE "done"
const char *record_event_bundle_name(enum record_bundle kind);

int record_event_stream(struct record_moment moment, enum record_stream stream, const char *text,
			size_t len, struct buf *ret, struct err *err);
int record_event_bundle(struct record_moment moment, enum record_bundle kind,
			const struct record_result *result, struct buf *ret, struct err *err);
int record_event_error(struct record_moment moment, const struct record *record, struct buf *ret,
		       struct err *err); /* the error set last */
int record_event_clear(struct record_moment moment, bool wait, struct buf *ret, struct err *err);
/* `wait_ms`: how long it may still wait for its answer. */
struct record_call {
	const char *id, *name, *arguments;
	size_t len;
	uint64_t wait_ms;
};
int record_event_tool(struct record_moment moment, const struct record_call *call, struct buf *ret,
		      struct err *err);
int record_event_input(struct record_moment moment, const char *prompt, size_t len, bool password,
		       struct buf *ret, struct err *err);
/* `record_json` is what record_finish() wrote. */
int record_event_done(struct record_moment moment, const char *record_json, size_t len,
		      struct buf *ret, struct err *err);
