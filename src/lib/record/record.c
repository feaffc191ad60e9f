/*
 * record.c - collects the record of one execution.
 *
 * Runs in:  libreckon.
 * Reads:    what callers pass; kernel.c reads kernel packets.
 * Never:    fails because of a kernel's data, or exceeds the limits of record.h.
 */
#include "lib/record/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_read.h"
#include "lib/record/state.h"
#include "lib/record/text.h"

#define MESSAGE_MAX 4096u
#define DETAIL_MAX 65536u

/* ---- ---- creation ---------------------------------------------------------------------- */

static char *copy_or_null(const char *text)
{
	return text != NULL ? mem_strdup(text) : NULL;
}

char *record_copy_text(const char *text, size_t len, size_t max)
{
	cleanup_buf struct buf clean = BUF_INIT(len < SIZE_MAX / 4 ? len * 3 : SIZE_MAX / 2);
	struct buf cut = BUF_INIT(max);

	text_plain(text, len, &clean);
	text_cut(buf_text(&clean), clean.len, max, &cut);
	return cut.data != NULL ? cut.data : mem_strdup("");
}

static char *copy_string(const char *text, size_t max)
{
	return record_copy_text(text != NULL ? text : "", text != NULL ? strlen(text) : 0, max);
}

struct record *record_new(const struct record_head *head)
{
	struct record *record = mem_new0(1, sizeof(*record));

	record->id = mem_strdup(head->id);
	record->session = mem_strdup(head->session);
	if (head->context != NULL && head->context[0] != '\0')
		record->context = mem_strdup(head->context);
	record->kernel = mem_strdup(head->kernel);
	record->started_at = mem_strdup(head->started_at);
	record->sequence = head->sequence;
	record->displays_max = head->displays_max > 0 ? head->displays_max :
							RECORD_DISPLAYS_DEFAULT;
	record->text_max = head->text_max > 0 ? head->text_max : RECORD_TEXT_DEFAULT;
	record->text = BUF_INIT(record->text_max);
	return record;
}

void record_failure_clear(struct record_failure *failure)
{
	for (size_t i = 0; i < failure->frame_count; i++) {
		free(failure->frames[i].file);
		free(failure->frames[i].function);
		free(failure->frames[i].source);
	}
	free(failure->frames);
	free(failure->name);
	free(failure->value);
	free(failure->traceback);
	free(failure->repair);
	for (size_t i = 0; i < failure->hint_count; i++)
		free(failure->hints[i]);
	*failure = (struct record_failure){ 0 };
}

static void free_listed(struct record_listed *file)
{
	free(file->path);
	free(file->change);
	free(file->kind);
	free(file->mime);
	free(file->sha256);
	free(file->artifact);
}

void record_free(struct record *record)
{
	if (record == NULL)
		return;
	record_results_drop(record);
	free(record->results);
	for (size_t i = 0; i < record->file_count; i++)
		free_listed(&record->files[i]);
	free(record->files);
	for (size_t i = 0; i < record->diagnostic_count; i++) {
		free(record->diagnostics[i].message);
		free(record->diagnostics[i].detail);
	}
	free(record->diagnostics);
	for (size_t i = 0; i < 2; i++) {
		buf_done(&record->stream[i]);
		free(record->cut[i].handle);
	}
	record_failure_clear(&record->failure);
	buf_done(&record->text);
	free(record->left_out);
	free(record->order.at);
	free(record->id);
	free(record->session);
	free(record->kernel);
	free(record->context);
	free(record->started_at);
	free(record);
}

void record_freep(struct record **record)
{
	record_free(*record);
}

/* ---- collecting ------------------------------------------------------------------------- */

void record_set_stream(struct record *record, enum record_stream stream, const char *text,
		       size_t len)
{
	struct buf *stored = &record->stream[stream - RECORD_STDOUT];
	struct err err;

	buf_done(stored);
	stored->max = len;
	if (buf_add(stored, text, len, &err) < 0)
		record_add_diagnostic(record, "stream_lost", err.text, NULL);
}

void record_set_truncated(struct record *record, enum record_stream stream, uint64_t bytes_total,
			  uint64_t bytes_kept, const char *handle)
{
	struct record_cut *cut = &record->cut[stream - RECORD_STDOUT];

	free(cut->handle);
	*cut = (struct record_cut){ .is_set = true,
				    .bytes_total = bytes_total,
				    .bytes_kept = bytes_kept,
				    .handle = copy_or_null(handle) };
}

void record_set_gap(struct record *record, enum record_stream stream, size_t at, size_t size,
		    uint64_t lines_total)
{
	struct record_cut *cut = &record->cut[stream - RECORD_STDOUT];

	cut->gap_at = at;
	cut->gap_size = size;
	cut->lines_total = lines_total;
}

void record_set_store(struct record *record, struct store *store)
{
	record->store = store;
}

void record_set_error(struct record *record, const char *name, const char *value,
		      const char *traceback, const char *repair)
{
	record_order_drop(record, RECORD_OUTPUT_ERROR);
	record_order_add(record, RECORD_OUTPUT_ERROR, 0);
	record_failure_clear(&record->failure);
	record->failure.is_set = true;
	record->failure.name = copy_string(name, 256);
	record->failure.value = copy_string(value, 65536);
	record->failure.traceback = copy_string(traceback, 262144);
	record->failure.repair = repair != NULL ? copy_string(repair, MESSAGE_MAX) : NULL;
	if (repair != NULL && repair[0] != '\0')
		record->failure.hints[record->failure.hint_count++] =
			copy_string(repair, MESSAGE_MAX);
}

void record_add_hint(struct record *record, const char *hint)
{
	struct record_failure *failure = &record->failure;

	if (failure->hint_count == RECORD_HINTS_MAX)
		free(failure->hints[--failure->hint_count]);
	memmove(failure->hints + 1, failure->hints, failure->hint_count++ * sizeof(char *));
	failure->hints[0] = copy_string(hint, MESSAGE_MAX);
}

void record_add_file(struct record *record, const struct record_file *file)
{
	cleanup_buf struct buf shown = BUF_INIT(TEXT_PATH_MAX);
	size_t count = record->file_count;

	if (count == RECORD_FILES_MAX) {
		record->files_dropped++;
		return;
	}
	text_show_path(file->path, &shown);
	if ((count & (count - 1)) == 0)
		record->files = mem_grow(record->files, count > 0 ? count * 2 : 1,
					 sizeof(*record->files));
	record->files[record->file_count++] = (struct record_listed){
		.path = mem_strdup(buf_text(&shown)),
		.change = mem_strdup(file->change),
		.kind = mem_strdup(file->kind),
		.mime = copy_or_null(file->mime),
		.sha256 = copy_or_null(file->sha256),
		.artifact = copy_or_null(file->artifact),
		.size = file->size,
	};
}

void record_receipt_from_usage(struct record_receipt *receipt, const struct warden_usage *usage)
{
	uint32_t count = usage->denied_count;

	receipt->cpu_user_ns = usage->cpu_user_ns;
	receipt->cpu_system_ns = usage->cpu_system_ns;
	receipt->memory_peak_bytes = usage->memory_peak_bytes;
	receipt->read_bytes = usage->read_bytes;
	receipt->written_bytes = usage->written_bytes;
	receipt->processes_peak = usage->processes_peak;
	receipt->denied_count = count < WARDEN_DENIED_MAX ? count : WARDEN_DENIED_MAX;
	memcpy(receipt->denied, usage->denied, sizeof(receipt->denied));
}

void record_set_receipt(struct record *record, const struct record_receipt *receipt)
{
	record->receipt = *receipt;
	record->has_receipt = true;
}

static void clean_code(const char *code, size_t len, char ret[64])
{
	size_t used = 0;

	for (size_t i = 0; i < len && used < 63; i++) {
		char c = code[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		ret[used++] = (char)(c >= 'a' && c <= 'z' ? c : '_');
	}
	if (used == 0)
		ret[used++] = '_';
	ret[used] = '\0';
}

static char *copy_detail(const char *json)
{
	struct buf compact = BUF_INIT(DETAIL_MAX);
	enum json_kind kind;
	struct err ignored; /* a detail that is not an object is left out, the message stays */

	if (json != NULL && json_read_compact(json, strlen(json), DETAIL_MAX, &compact, &kind,
					      &ignored) == 0 && kind == JSON_KIND_OBJECT)
		return compact.data;
	buf_done(&compact);
	return mem_strdup("{}");
}

static void append_diagnostic(struct record *record, const char *code, size_t code_len,
			      const char *message, size_t len, const char *detail_json)
{
	size_t count = record->diagnostic_count;
	struct record_diagnostic *added;

	if ((count & (count - 1)) == 0)
		record->diagnostics = mem_grow(record->diagnostics, count > 0 ? count * 2 : 1,
					       sizeof(*record->diagnostics));
	added = &record->diagnostics[record->diagnostic_count++];
	clean_code(code, code_len, added->code);
	added->message = record_copy_text(message, len, MESSAGE_MAX);
	added->detail = copy_detail(detail_json);
}

void record_add_diagnostic(struct record *record, const char *code, const char *message,
			   const char *detail_json)
{
	if (record->diagnostic_count >= RECORD_DIAGNOSTICS_MAX)
		record->diagnostics_dropped++;
	else
		append_diagnostic(record, code, strlen(code), message, strlen(message),
				  detail_json);
}

void record_add_note(struct record *record, const char *note, size_t len)
{
	const char *colon = memmem(note, len, ": ", 2);
	size_t code_len = colon != NULL ? (size_t)(colon - note) : 0;

	if (record->diagnostic_count >= RECORD_DIAGNOSTICS_MAX)
		record->diagnostics_dropped++;
	else if (colon == NULL || code_len == 0 || code_len > 63)
		append_diagnostic(record, "note", 4, note, len, NULL);
	else
		append_diagnostic(record, note, code_len, colon + 2, len - code_len - 2, NULL);
}

/* Adds a last diagnostic for events that were only counted, beyond the limit for a kernel's own. */
static void report_dropped(struct record *record, uint64_t *count, const char *code,
			   const char *message)
{
	char detail[64];

	if (*count == 0)
		return;
	(void)snprintf(detail, sizeof(detail), "{\"count\":%" PRIu64 "}", *count);
	append_diagnostic(record, code, strlen(code), message, strlen(message), detail);
	*count = 0;
}

void record_report_dropped(struct record *record)
{
	report_dropped(record, &record->displays_dropped, "display_limit",
		       "results past the limit for one execution were dropped");
	report_dropped(record, &record->files_dropped, "files_not_listed",
		       "more files changed than a record lists");
	report_dropped(record, &record->diagnostics_dropped, "diagnostics_dropped",
		       "more diagnostics than a record holds");
}
