/*
 * record.c - the record of one execution: collected, then written as one line of JSON.
 *
 * Runs in:  libreckon.
 * Reads:    what callers hand over; kernel packets are read in record_kernel.c.
 * Never:    fails because of what a kernel sent, or writes JSON that does not parse.
 */
#include "record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "codec/json_read.h"
#include "codec/json_write.h"
#include "record_state.h"
#include "text.h"

#define MESSAGE_MAX 4096u
#define DETAIL_MAX 65536u

struct status_row {
	const char *name;
	int exit_code;
	const char *error_name; /* when nothing was raised */
};

static const struct status_row statuses[RECORD_STATUS_COUNT] = {
	[RECORD_OK] = { "ok", 0, "" },
	[RECORD_ERROR] = { "error", 1, "Error" },
	[RECORD_TIMEOUT] = { "timeout", 124, "Timeout" },
	[RECORD_INTERRUPTED] = { "interrupted", 1, "Interrupted" },
	[RECORD_OUT_OF_MEMORY] = { "out_of_memory", 137, "OutOfMemory" },
	[RECORD_OUTPUT_LIMIT] = { "output_limit", 1, "OutputLimit" },
	[RECORD_KILLED] = { "killed", 137, "Killed" },
	[RECORD_KERNEL_DIED] = { "kernel_died", 1, "KernelDied" },
	[RECORD_INFRA_ERROR] = { "infra_error", 125, "InfrastructureError" },
};

const char *record_status_name(enum record_status status)
{
	return statuses[status].name;
}

int record_status_exit_code(enum record_status status)
{
	return statuses[status].exit_code;
}

/* ---- life ------------------------------------------------------------------------------- */

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

static void drop_results(struct record *record)
{
	for (size_t i = 0; i < record->result_count; i++)
		record_result_free(record->results[i]);
	record->result_count = 0;
	record->results_size = 0;
}

void record_free(struct record *record)
{
	if (record == NULL)
		return;
	drop_results(record);
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

void record_clear(struct record *record, bool wait)
{
	record->clear_waits = wait;
	if (!wait)
		drop_results(record);
}

void record_note_output(struct record *record)
{
	if (record->clear_waits)
		record_clear(record, false);
}

void record_set_stream(struct record *record, enum record_stream stream, const char *text,
		       size_t len)
{
	struct buf *kept = &record->stream[stream - RECORD_STDOUT];
	struct err err;

	buf_done(kept);
	kept->max = len;
	if (buf_add(kept, text, len, &err) < 0)
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
	record_failure_clear(&record->failure);
	record->failure.is_set = true;
	record->failure.name = copy_string(name, 256);
	record->failure.value = copy_string(value, 65536);
	record->failure.traceback = copy_string(traceback, 262144);
	record->failure.repair = repair != NULL ? copy_string(repair, MESSAGE_MAX) : NULL;
	if (repair != NULL && repair[0] != '\0')
		record->failure.hints[record->failure.hint_count++] = copy_string(repair, MESSAGE_MAX);
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
	struct err ignored; /* a detail that is no object is left out, the message stays */

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

/* ---- the end ---------------------------------------------------------------------------- */

/* "the limit of 1024 MiB": in the larger unit when that is exact. */
static void explain_limit(struct buf *ret, const char *what, uint64_t limit, uint64_t step,
			  const char *small, const char *large)
{
	struct err ignored; /* `ret` has room for a sentence */

	if (limit == 0)
		(void)buf_adds(ret, what, &ignored);
	else if (limit % step == 0)
		(void)buf_addf(ret, &ignored, "%s of %" PRIu64 " %s", what, limit / step, large);
	else
		(void)buf_addf(ret, &ignored, "%s of %" PRIu64 " %s", what, limit, small);
}

void record_explain(const struct record *record, enum record_status status, struct buf *ret)
{
	const struct record_receipt *receipt = &record->receipt;
	struct err ignored; /* `ret` has room for a sentence */

	switch (status) {
	case RECORD_OK:
		break;
	case RECORD_ERROR:
		(void)buf_adds(ret, "the code failed", &ignored);
		break;
	case RECORD_TIMEOUT:
		explain_limit(ret, "stopped by the time limit", receipt->limit_wall_ms, 1000, "ms",
			      "s");
		break;
	case RECORD_INTERRUPTED:
		(void)buf_adds(ret, "the execution was interrupted", &ignored);
		break;
	case RECORD_OUT_OF_MEMORY:
		explain_limit(ret, "ended by the memory limit", receipt->limit_memory_bytes,
			      1u << 20, "bytes", "MiB");
		break;
	case RECORD_OUTPUT_LIMIT:
		explain_limit(ret, "stopped by the output limit", receipt->limit_output_bytes,
			      1u << 20, "bytes", "MiB");
		break;
	case RECORD_KILLED:
		(void)buf_adds(ret, "the kernel was killed; its variables are gone", &ignored);
		break;
	case RECORD_KERNEL_DIED:
		(void)buf_adds(ret, "the kernel ended by itself; its variables are gone", &ignored);
		break;
	case RECORD_INFRA_ERROR:
		(void)buf_adds(ret, "Reckon could not run the code; the code is not to blame",
			       &ignored);
		break;
	}
}

static void write_streams_cut(struct json_writer *writer, const struct record *record)
{
	static const char *const names[] = { "stdout", "stderr" };

	json_write_key(writer, "truncated");
	json_write_object_begin(writer);
	for (size_t i = 0; i < 2; i++) {
		const struct record_cut *cut = &record->cut[i];

		if (!cut->is_set)
			continue;
		json_write_key(writer, names[i]);
		json_write_object_begin(writer);
		json_write_member_uint(writer, "bytes_total", cut->bytes_total);
		json_write_member_uint(writer, "bytes_kept", cut->bytes_kept);
		json_write_member_string(writer, "handle", cut->handle);
		json_write_object_end(writer);
	}
	json_write_object_end(writer);
}

static void write_files(struct json_writer *writer, const struct record *record)
{
	json_write_array_begin(writer);
	for (size_t i = 0; i < record->file_count; i++) {
		const struct record_listed *file = &record->files[i];

		json_write_object_begin(writer);
		json_write_member_string(writer, "path", file->path);
		json_write_member_string(writer, "change", file->change);
		json_write_member_uint(writer, "size", file->size);
		json_write_member_string(writer, "mime", file->mime);
		json_write_member_string(writer, "sha256", file->sha256);
		json_write_member_string(writer, "artifact", file->artifact);
		json_write_member_string(writer, "kind", file->kind);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_seconds(struct json_writer *writer, const char *key, uint64_t ns)
{
	json_write_key(writer, key);
	json_write_seconds(writer, ns);
}

static void write_limit(struct json_writer *writer, const char *key, uint64_t value)
{
	if (value > 0)
		json_write_member_uint(writer, key, value);
}

static void write_limits(struct json_writer *writer, const struct record_receipt *receipt)
{
	json_write_key(writer, "limits");
	json_write_object_begin(writer);
	if (receipt->limit_wall_ms > 0)
		write_seconds(writer, "wall_s", receipt->limit_wall_ms * 1000000u);
	if (receipt->limit_cpu_ms > 0)
		write_seconds(writer, "cpu_s", receipt->limit_cpu_ms * 1000000u);
	write_limit(writer, "memory_bytes", receipt->limit_memory_bytes);
	write_limit(writer, "disk_bytes", receipt->limit_disk_bytes);
	write_limit(writer, "output_bytes", receipt->limit_output_bytes);
	write_limit(writer, "processes", receipt->limit_pids);
	write_limit(writer, "cpu_percent", receipt->limit_cpu_percent);
	json_write_object_end(writer);
}

static void write_receipt(struct json_writer *writer, const struct record *record)
{
	const struct record_receipt *receipt = &record->receipt;

	if (!record->has_receipt) {
		json_write_null(writer);
		return;
	}
	json_write_object_begin(writer);
	write_seconds(writer, "wall_s", receipt->wall_ns);
	write_seconds(writer, "cpu_user_s", receipt->cpu_user_ns);
	write_seconds(writer, "cpu_system_s", receipt->cpu_system_ns);
	json_write_member_uint(writer, "memory_peak_bytes", receipt->memory_peak_bytes);
	json_write_member_uint(writer, "read_bytes", receipt->read_bytes);
	json_write_member_uint(writer, "written_bytes", receipt->written_bytes);
	json_write_member_uint(writer, "processes_peak", receipt->processes_peak);
	write_limits(writer, receipt);
	json_write_key(writer, "syscalls_denied");
	json_write_object_begin(writer);
	for (size_t i = 0; i < receipt->denied_count && i < WARDEN_DENIED_MAX; i++) {
		const struct warden_denial *denial = &receipt->denied[i];

		json_write_key_text(writer, denial->name,
				    strnlen(denial->name, sizeof(denial->name)));
		json_write_uint(writer, denial->count);
	}
	json_write_object_end(writer);
	json_write_object_end(writer);
}

static void write_diagnostics(struct json_writer *writer, const struct record *record)
{
	json_write_key(writer, "diagnostics");
	json_write_array_begin(writer);
	for (size_t i = 0; i < record->diagnostic_count; i++) {
		const struct record_diagnostic *diagnostic = &record->diagnostics[i];

		json_write_object_begin(writer);
		json_write_member_string(writer, "code", diagnostic->code);
		json_write_member_string(writer, "message", diagnostic->message);
		json_write_key(writer, "detail");
		json_write_raw(writer, diagnostic->detail, strlen(diagnostic->detail));
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

/* A member that may be asked for by itself. */
static void write_part(struct json_writer *writer, struct record *record, enum record_part part,
		       void (*write)(struct json_writer *writer, const struct record *record))
{
	json_write_key(writer, part == RECORD_PART_FILES ? "files" : "receipt");
	record->part[part].at = writer->out->len;
	write(writer, record);
	record->part[part].len = writer->out->len - record->part[part].at;
}

static void write_record(struct json_writer *writer, struct record *record,
			 enum record_status status)
{
	json_write_object_begin(writer);
	json_write_member_string(writer, "schema", "reckon.execution/1");
	json_write_member_string(writer, "id", record->id);
	json_write_member_string(writer, "session", record->session);
	if (record->context != NULL)
		json_write_member_string(writer, "context", record->context);
	json_write_member_string(writer, "kernel", record->kernel);
	json_write_member_uint(writer, "sequence", record->sequence);
	json_write_member_string(writer, "status", record_status_name(status));
	json_write_member_string(writer, "started_at", record->started_at);
	json_write_member_text(writer, "stdout", buf_text(&record->stream[0]),
			       record->stream[0].len);
	json_write_member_text(writer, "stderr", buf_text(&record->stream[1]),
			       record->stream[1].len);
	json_write_key(writer, "results");
	json_write_array_begin(writer);
	for (size_t i = 0; i < record->result_count; i++)
		record_write_result(writer, record->results[i]);
	json_write_array_end(writer);
	json_write_key(writer, "error");
	record_write_failure(writer, &record->failure);
	write_part(writer, record, RECORD_PART_FILES, write_files);
	write_part(writer, record, RECORD_PART_RECEIPT, write_receipt);
	write_diagnostics(writer, record);
	write_streams_cut(writer, record);
	record_write_repeat(writer, record);
	record_write_left_out(writer, record);
	json_write_member_text(writer, "text", buf_text(&record->text), record->text.len);
	json_write_object_end(writer);
}

/* A last diagnostic for what was only counted; past the bound, which is for a kernel's own. */
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

int record_finish(struct record *record, enum record_status status, struct buf *ret_json,
		  struct err *err)
{
	size_t before = ret_json->len;
	struct json_writer writer;

	if (!record->failure.is_set && status != RECORD_OK) {
		cleanup_buf struct buf why = BUF_INIT(512);

		record_explain(record, status, &why);
		record_set_error(record, statuses[status].error_name, buf_text(&why), NULL, NULL);
	}
	report_dropped(record, &record->displays_dropped, "display_limit",
		       "results past the limit for one execution were dropped");
	report_dropped(record, &record->files_dropped, "files_not_listed",
		       "more files changed than a record lists");
	report_dropped(record, &record->diagnostics_dropped, "diagnostics_dropped",
		       "more diagnostics than a record holds");
	render_text(record, status);
	json_write_init(&writer, ret_json);
	write_record(&writer, record, status);
	if (json_write_finish(&writer, err) < 0) {
		if (ret_json->data != NULL)
			ret_json->data[ret_json->len = before] = '\0';
		return err_wrap(err, "record");
	}
	return 0;
}

struct record_slice record_part(const struct record *record, enum record_part part)
{
	return record->part[part];
}

const char *record_text(const struct record *record)
{
	return buf_text(&record->text);
}
