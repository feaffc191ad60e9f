/*
 * write.c - the end of an execution: the record as JSON.
 *
 * Runs in:  libreckon.
 * Reads:    what record.c collected.
 * Never:    writes JSON that does not parse, or half of a record.
 */
#include "lib/record/record.h"

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "codec/json_write.h"
#include "lib/record/state.h"

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

/* A member that callers can fetch by itself. */
static void write_part(struct json_writer *writer, struct record *record, enum record_part part,
		       void (*write)(struct json_writer *writer, const struct record *record))
{
	json_write_key(writer, part == RECORD_PART_FILES ? "files" : "receipt");
	record->part[part].at = writer->out->len;
	write(writer, record);
	record->part[part].len = writer->out->len - record->part[part].at;
}

/* Parts that were sent as events: a brief record leaves them out, and says so. */
static void write_streamed(struct json_writer *writer)
{
	json_write_member_string(writer, "stdout", "");
	json_write_member_string(writer, "stderr", "");
	json_write_key(writer, "results");
	json_write_array_begin(writer);
	json_write_array_end(writer);
	json_write_member_bool(writer, "streamed", true);
}

static void write_streams(struct json_writer *writer, const struct record *record)
{
	json_write_member_text(writer, "stdout", buf_text(&record->stream[0]),
			       record->stream[0].len);
	json_write_member_text(writer, "stderr", buf_text(&record->stream[1]),
			       record->stream[1].len);
	json_write_key(writer, "results");
	json_write_array_begin(writer);
	for (size_t i = 0; i < record->result_count; i++)
		record_write_result(writer, record->results[i]);
	json_write_array_end(writer);
}

static void write_no_outputs(struct json_writer *writer)
{
	json_write_key(writer, "outputs");
	json_write_array_begin(writer);
	json_write_array_end(writer);
}

static void write_record(struct json_writer *writer, struct record *record,
			 enum record_status status, bool is_brief)
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
	if (is_brief)
		write_streamed(writer);
	else
		write_streams(writer, record);
	json_write_key(writer, "error");
	record_write_failure(writer, &record->failure);
	if (is_brief)
		write_no_outputs(writer);
	else
		record_write_outputs(writer, record);
	write_part(writer, record, RECORD_PART_FILES, write_files);
	write_part(writer, record, RECORD_PART_RECEIPT, write_receipt);
	write_diagnostics(writer, record);
	write_streams_cut(writer, record);
	record_write_repeat(writer, record);
	record_write_left_out(writer, record);
	json_write_member_text(writer, "text", buf_text(&record->text), record->text.len);
	json_write_object_end(writer);
}

int record_finish(struct record *record, enum record_status status, struct buf *ret_json,
		  struct err *err)
{
	size_t before = ret_json->len;
	struct json_writer writer;

	if (!record->failure.is_set && status != RECORD_OK) {
		cleanup_buf struct buf why = BUF_INIT(512);

		record_explain(record, status, &why);
		record_set_error(record, record_status_error(status), buf_text(&why), NULL, NULL);
	}
	record_report_dropped(record);
	record_order_settle(record);
	render_text(record, status);
	json_write_init(&writer, ret_json);
	write_record(&writer, record, status, false);
	if (json_write_finish(&writer, err) < 0) {
		if (ret_json->data != NULL)
			ret_json->data[ret_json->len = before] = '\0';
		return err_wrap(err, "record");
	}
	return 0;
}

int record_write_brief(struct record *record, enum record_status status, struct buf *ret_json,
		       struct err *err)
{
	struct record_slice parts[RECORD_PART_COUNT_];
	struct json_writer writer;

	/* Keep the positions within the whole record. */
	memcpy(parts, record->part, sizeof(parts));
	json_write_init(&writer, ret_json);
	write_record(&writer, record, status, true);
	memcpy(record->part, parts, sizeof(parts));
	return json_write_finish(&writer, err);
}

struct record_slice record_part(const struct record *record, enum record_part part)
{
	return record->part[part];
}

const char *record_text(const struct record *record)
{
	return buf_text(&record->text);
}
