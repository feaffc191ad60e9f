/*
 * report.c - prints how a cell ended and what it used, for a person.
 *
 * Runs in:  reckon.
 * Reads:    records; their error texts come from the box.
 * Never:    writes to stdout.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/run/run.h"
#include "codec/json_get.h"

static double number_of(const struct json_value *object, const char *key)
{
	double value = 0;

	(void)json_read_double(json_read_member(object, key), &value);
	return value;
}

static const struct json_value *limits_of(const struct json_value *record)
{
	return json_read_member(json_read_member(record, "receipt"), "limits");
}

static void report_traceback(struct run_output *output, const struct json_value *record)
{
	const struct json_value *error = json_read_member(record, "error");
	const struct json_value *hints = json_read_member(error, "hints");
	const size_t count = json_read_count(hints);
	size_t len = 0;
	const char *message = NULL;
	int status;
	const char *traceback = json_read_text(json_read_member(error, "traceback"), &len);

	if (output->is_program && run_program_exited(output->run, record, &status, &message)) {
		if (message != NULL)
			run_output_stderr(output, message, strlen(message));
		return;
	}
	if (traceback != NULL && len > 0)
		run_output_stderr(output, traceback, len);
	else
		run_output_line("%s: %s", json_get_str(error, "name"),
				json_get_str(error, "value"));
	for (size_t i = 0; i < count; i++) {
		const char *hint = json_read_text(json_read_at(hints, i), NULL);

		if (hint != NULL)
			run_output_line("hint: %s", hint);
	}
}

/* A status that a limit caused: says which limit and how to raise it. */
static bool report_limit(const struct run_output *output, const struct json_value *record,
			 const char *status)
{
	const struct json_value *limits = limits_of(record);
	char size[CLI_SIZE_TEXT];

	if (strcmp(status, "timeout") == 0) {
		const bool is_cpu = strcmp(json_get_str(json_read_member(record, "error"), "name"),
					   "CpuLimit") == 0;

		run_output_line(
			"reckon: cell %zu: stopped at the %s limit of %g s (%s allows more)",
			output->cell, is_cpu ? "CPU time" : "time",
			number_of(limits, is_cpu ? "cpu_s" : "wall_s"),
			is_cpu ? "--cpu-time" : output->wall_option);
	} else if (strcmp(status, "out_of_memory") == 0) {
		char disk[CLI_SIZE_TEXT];

		cli_format_binary(json_get_count(limits, "memory_bytes"), size);
		cli_format_binary(json_get_count(limits, "disk_bytes"), disk);
		run_output_line(
			"reckon: cell %zu: out of memory at the limit of %s, and %s for files "
			"(--memory allows more)",
			output->cell, size, disk);
	} else if (strcmp(status, "output_limit") == 0) {
		run_output_line("reckon: cell %zu: stopped for printing without end (a file can "
				"take more)",
				output->cell);
	} else {
		return false;
	}
	return true;
}

/* The length of `value` without what it says of a session that goes on. */
static size_t without_promise(const char *value, size_t len)
{
	static const char *const promises[] = {
		": its variables are gone, files stay in the session.",
		" Variables and files stay in the session.",
	};

	for (size_t i = 0; i < ARRAY_LEN(promises); i++) {
		const size_t size = strlen(promises[i]);

		if (len > size && strcmp(value + len - size, promises[i]) == 0)
			return len - size;
	}
	return len;
}

/* Any other end: the record's own words, and its advice where it has some. */
static void report_other(const struct run_output *output, const struct json_value *record,
			 const char *status)
{
	const struct json_value *error = json_read_member(record, "error");
	const char *value = json_get_str(error, "value");
	const char *remedy =
		json_read_text(json_read_at(json_read_member(error, "hints"), 0), NULL);
	size_t len = strlen(value);

	if (output->is_last) {
		len = without_promise(value, len);
		/* Advice about the next cell is of no use where there is none. */
		if (strcmp(status, "kernel_died") == 0)
			remedy = "look for os._exit(), a crash in native code, or a signal to the "
				 "own process; variables and files end with this command, but in a "
				 "session that stays: -s NAME";
	}
	if (remedy == NULL)
		remedy = strcmp(status, "infra_error") == 0 ?
				 "reckon doctor says what this host lacks" :
				 "";
	while (len > 0 && value[len - 1] == '.')
		len--;
	run_output_line("reckon: cell %zu: %s%s%.*s%s%s%s", output->cell, status,
			len > 0 ? ": " : "", (int)len, value, remedy[0] != '\0' ? " (" : "",
			remedy, remedy[0] != '\0' ? ")" : "");
}

static void report_truncated(const struct run_output *output, const struct json_value *record)
{
	const struct json_value *truncated = json_read_member(record, "truncated");
	const struct json_value *cut;
	const char *stream;

	for (size_t i = 0; json_read_member_at(truncated, i, &stream, &cut); i++) {
		char retained[CLI_SIZE_TEXT], total[CLI_SIZE_TEXT];
		const char *handle = json_get_str(cut, "handle");

		cli_format_size(json_get_count(cut, "bytes_kept"), retained);
		cli_format_size(json_get_count(cut, "bytes_total"), total);
		run_output_line("reckon: cell %zu: %s cut to %s of %s%s%s%s", output->cell, stream,
				retained, total,
				handle[0] != '\0' ? " (all of it: reckon output " : "", handle,
				handle[0] != '\0' ? ")" : "");
	}
}

/* Whether the report of a dead kernel already said that its variables are lost. */
static bool is_reported(const char *code, const char *status)
{
	return strcmp(code, "kernel_lost") == 0 &&
	       (strcmp(status, "kernel_died") == 0 || strcmp(status, "out_of_memory") == 0);
}

static void report_diagnostics(const struct json_value *record)
{
	const char *status = json_get_str(record, "status");
	const struct json_value *diagnostics = json_read_member(record, "diagnostics");
	const size_t count = json_read_count(diagnostics);

	for (size_t i = 0; i < count; i++) {
		const struct json_value *diagnostic = json_read_at(diagnostics, i);

		const char *code = json_get_str(diagnostic, "code");

		/*
		 * The warnings about repeated calls are for models; a person repeats a cell on
		 * purpose.
		 */
		if (strncmp(code, "repeated_", 9) != 0 && !is_reported(code, status))
			run_output_line("note: %s", json_get_str(diagnostic, "message"));
	}
}

void run_report_status(struct run_output *output, const struct json_value *record)
{
	const char *status = json_get_str(record, "status");

	report_truncated(output, record);
	if (strcmp(status, "error") == 0)
		report_traceback(output, record);
	else if (strcmp(status, "ok") != 0 && !report_limit(output, record, status))
		report_other(output, record, status);
	report_diagnostics(record);
}

/* "of 30 s" if there is a limit, else an empty string. */
static void limit_text(const struct json_value *limits, const char *key, char text[48])
{
	char size[CLI_SIZE_TEXT];

	text[0] = '\0';
	if (json_read_member(limits, key) == NULL)
		return;
	if (strcmp(key, "wall_s") == 0) {
		(void)snprintf(text, 48, " of %g s", number_of(limits, key));
	} else {
		cli_format_binary(json_get_count(limits, key), size);
		(void)snprintf(text, 48, " of %s", size);
	}
}

static void receipt_files(const struct json_value *record)
{
	const struct json_value *files = json_read_member(record, "files");
	const size_t count = json_read_count(files);
	char size[CLI_SIZE_TEXT];
	uint64_t total = 0;

	for (size_t i = 0; i < count; i++)
		total += json_get_count(json_read_at(files, i), "size");
	cli_format_size(total, size);
	run_output_line("  files      %zu changed, %s", count, size);
}

static void receipt_denied(const struct json_value *receipt)
{
	const struct json_value *denied = json_read_member(receipt, "syscalls_denied");
	cleanup_buf struct buf line = BUF_INIT(4096);
	const struct json_value *count;
	const char *name;
	struct err err;

	for (size_t i = 0; json_read_member_at(denied, i, &name, &count); i++) {
		int64_t times = 0;

		(void)json_read_int(count, &times);
		if (buf_addf(&line, &err, "%s%s (%lld×)", i > 0 ? ", " : "", name,
			     (long long)times) < 0)
			break;
	}
	if (line.len > 0)
		run_output_line("  refused    %s", line.data);
}

void run_report_receipt(const struct run_output *output, const struct json_value *record)
{
	const struct json_value *receipt = json_read_member(record, "receipt");
	const struct json_value *limits = limits_of(record);
	char limit[48], first[CLI_SIZE_TEXT], second[CLI_SIZE_TEXT];

	run_output_line("receipt of cell %zu: %s", output->cell, json_get_str(record, "status"));
	limit_text(limits, "wall_s", limit);
	run_output_line("  wall       %.3f s%s", number_of(receipt, "wall_s"), limit);
	run_output_line("  cpu        %.3f s user, %.3f s system", number_of(receipt, "cpu_user_s"),
			number_of(receipt, "cpu_system_s"));
	limit_text(limits, "memory_bytes", limit);
	cli_format_binary(json_get_count(receipt, "memory_peak_bytes"), first);
	cli_format_binary(json_get_count(limits, "disk_bytes"), second);
	run_output_line("  memory     %s peak%s, and %s for files", first, limit, second);
	cli_format_size(json_get_count(receipt, "read_bytes"), first);
	cli_format_size(json_get_count(receipt, "written_bytes"), second);
	run_output_line("  i/o        %s read, %s written", first, second);
	run_output_line("  processes  %llu at most",
			(unsigned long long)json_get_count(receipt, "processes_peak"));
	receipt_files(record);
	receipt_denied(receipt);
}
