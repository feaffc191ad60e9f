/*
 * cells.c - /run_jupyter: cells in one fresh kernel, in order; an exception does not stop later
 * cells.
 *
 * Runs in:  reckon-front-sandboxfusion.
 * Reads:    cells of any client, records of hostile code.
 * Never:    continues after the kernel is gone, or beyond the total time.
 */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dialects/sandboxfusion/sandboxfusion.h"

#define TOTAL_MS 45000u
#define CELLS_MAX 1000u
#define RECORD_MAX ((size_t)256 * 1024 * 1024)
#define OWN_TYPE "text/vnd.reckon." /* Reckon's types, unknown to Jupyter */

struct notebook {
	struct program program;
	const struct json_value *body, *cells;
	uint64_t cell_ms, total_ms, memory_bytes; /* cell_ms 0: only total_ms limits a cell */
	uint64_t begin_ns;
	bool is_over; /* the time is over, or the kernel gone */
	struct program_end driver;
};

/* ---- a cell, as JSON ------------------------------------------------------------------------ */

static void write_text(struct json_writer *json, const struct json_value *record, const char *key)
{
	size_t len = 0;
	const char *text = json_read_text(json_read_member(record, key), &len);

	json_write_member_text(json, key, text != NULL ? text : "", len);
}

static void write_value(struct json_writer *json, const struct json_value *value)
{
	cleanup_buf struct buf text = BUF_INIT(RECORD_MAX);
	struct err err;

	if (json_read_dump(value, &text, &err) < 0)
		json_write_null(json);
	else
		json_write_raw(json, buf_text(&text), text.len);
}

static void write_bundle(struct json_writer *json, const struct json_value *data)
{
	const struct json_value *value;
	const char *type;

	json_write_object_begin(json);
	for (size_t i = 0; json_read_member_at(data, i, &type, &value); i++)
		if (strncmp(type, OWN_TYPE, strlen(OWN_TYPE)) != 0) {
			json_write_key(json, type);
			write_value(json, value);
		}
	json_write_object_end(json);
}

static void write_displays(struct json_writer *json, const struct json_value *record)
{
	const struct json_value *outputs = json_read_member(record, "outputs");

	json_write_key(json, "display");
	json_write_array_begin(json);
	for (size_t i = 0; i < json_read_count(outputs); i++) {
		const struct json_value *data =
			json_read_member(json_read_at(outputs, i), "data");

		if (json_read_kind(data) == JSON_KIND_OBJECT)
			write_bundle(json, data);
	}
	json_write_array_end(json);
}

static void write_errors(struct json_writer *json, const struct json_value *record)
{
	const struct json_value *outputs = json_read_member(record, "outputs");

	json_write_key(json, "error");
	json_write_array_begin(json);
	for (size_t i = 0; i < json_read_count(outputs); i++) {
		const struct json_value *output = json_read_at(outputs, i);

		if (json_read_member(output, "ename") == NULL)
			continue;
		json_write_object_begin(json);
		write_text(json, output, "ename");
		write_text(json, output, "evalue");
		json_write_key(json, "traceback");
		write_value(json, json_read_member(output, "traceback"));
		json_write_object_end(json);
	}
	json_write_array_end(json);
}

static void write_cell(struct json_writer *json, const struct json_value *record)
{
	json_write_object_begin(json);
	write_text(json, record, "stdout");
	write_text(json, record, "stderr");
	write_displays(json, record);
	write_errors(json, record);
	json_write_object_end(json);
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* The time left for all cells; 0: none. */
static uint64_t left_ms(const struct notebook *notebook)
{
	const uint64_t spent = (clock_mono_ns() - notebook->begin_ns) / 1000000u;

	return spent < notebook->total_ms ? notebook->total_ms - spent : 0;
}

static void judge(struct notebook *notebook, const struct json_value *record)
{
	const char *status = json_read_text(json_read_member(record, "status"), NULL);

	if (status == NULL || strcmp(status, "ok") == 0 || strcmp(status, "error") == 0)
		return;
	notebook->is_over = true;
	notebook->driver.how = strcmp(status, "timeout") == 0		? PROGRAM_TIMEOUT
			       : strcmp(status, "out_of_memory") == 0 ? PROGRAM_OUT_OF_MEMORY
			       : strcmp(status, "infra_error") == 0	? PROGRAM_FAILED
									: PROGRAM_SIGNALLED;
	notebook->driver.code = 9;
}

static int run_cell(struct notebook *notebook, const struct json_value *cell,
		    struct json_writer *json)
{
	struct request *request = notebook->program.request;
	struct json_value *record;
	uint64_t ms = left_ms(notebook);
	struct api_execute_out out;
	size_t len;
	const char *code = json_read_text(cell, &len);
	struct err err;

	if (notebook->cell_ms != 0 && notebook->cell_ms < ms)
		ms = notebook->cell_ms;
	if (ms == 0) {
		notebook->is_over = true;
		notebook->driver.how = PROGRAM_TIMEOUT;
		return 0;
	}
	if (call_or_refuse(request, API_EXECUTE,
			   &(struct api_execute_in){
				   .session = notebook->program.session,
				   .code = { code, len },
				   .has_timeout_ms = true,
				   .timeout_ms = ms,
				   .on_disconnect = API_EXECUTE_IN_ON_DISCONNECT_CANCEL },
			   &out, &notebook->program.call) < 0)
		return -1;
	if (json_read_parse(out.record.data, out.record.len, RECORD_MAX, &record, &err) < 0) {
		answer_refuse_simple(request, 500, "internal", err.text, NULL);
		return -1;
	}
	judge(notebook, record);
	write_cell(json, record);
	json_read_free(record);
	return 0;
}

static void answer(struct notebook *notebook, struct json_writer *json, struct buf *body)
{
	struct program_end *driver = &notebook->driver;

	driver->wall_s = (double)(clock_mono_ns() - notebook->begin_ns) / 1e9;
	json_write_array_end(json);
	json_write_member_string(json, "status", driver->how == PROGRAM_FAILED ? "SandboxError"
						 : fusion_is_good(driver)      ? "Success"
									       : "Failed");
	json_write_member_string(json, "message",
				 driver->how == PROGRAM_FAILED ? "the sandbox failed" : "");
	fusion_write_stage(json, "driver", driver);
	json_write_member_string(json, "executor_pod_name", NULL);
	if (fusion_write_files(&notebook->program, notebook->body, json) < 0)
		return;
	json_write_object_end(json);
	fusion_answer(notebook->program.request, json, body);
}

static void run(struct notebook *notebook, struct request *request)
{
	cleanup_buf struct buf body = BUF_INIT(FUSION_ANSWER_MAX);
	const size_t count = json_read_count(notebook->cells);
	struct json_writer json;

	if (program_open(&notebook->program, request,
			 &(struct program_order){ .language = program_language_at(0)->name,
						  .memory_bytes = notebook->memory_bytes,
						  .output_bytes = FUSION_OUTPUT_MAX }) < 0 ||
	    fusion_put_files(&notebook->program, notebook->body) < 0)
		return;
	notebook->begin_ns = clock_mono_ns();
	json_write_init(&json, &body);
	json_write_object_begin(&json);
	json_write_key(&json, "cells");
	json_write_array_begin(&json);
	for (size_t i = 0; i < count && !notebook->is_over; i++)
		if (run_cell(notebook, json_read_at(notebook->cells, i), &json) < 0)
			return;
	answer(notebook, &json, &body);
}

/* ---- a request ------------------------------------------------------------------------------ */

static int read_request(struct request *request, struct notebook *ret)
{
	const char *kernel = json_read_text(json_read_member(ret->body, "kernel"), NULL);
	size_t count;

	ret->cells = json_read_member(ret->body, "cells");
	count = json_read_count(ret->cells);
	if (json_read_kind(ret->cells) != JSON_KIND_ARRAY || count > CELLS_MAX)
		return fusion_refuse_field(request, "cells",
					   "Input should be a list of at most 1000 cells");
	for (size_t i = 0; i < count; i++)
		if (json_read_text(json_read_at(ret->cells, i), NULL) == NULL)
			return fusion_refuse_field(request, "cells",
						   "Input should be a valid string");
	if (kernel != NULL && strcmp(kernel, "python3") != 0)
		return fusion_refuse_field(request, "kernel", "Input should be 'python3'");
	if (fusion_read_seconds(request, ret->body, "total_timeout", &ret->total_ms) < 0 ||
	    fusion_read_seconds(request, ret->body, "cell_timeout", &ret->cell_ms) < 0 ||
	    fusion_read_memory(request, ret->body, &ret->memory_bytes) < 0)
		return -1;
	if (ret->cell_ms <= 1) /* clients send 0 for no limit */
		ret->cell_ms = 0;
	return 0;
}

void fusion_run_jupyter(struct request *request)
{
	struct notebook notebook = { .program = PROGRAM_INIT,
				     .total_ms = TOTAL_MS,
				     .driver = PROGRAM_END_INIT };
	struct json_value *body;

	if (call_json_body(request, FUSION_BODY_MAX, &body) < 0)
		return;
	notebook.body = body;
	if (read_request(request, &notebook) == 0)
		run(&notebook, request);
	program_done(&notebook.program);
	program_end_done(&notebook.driver);
	json_read_free(body);
}
