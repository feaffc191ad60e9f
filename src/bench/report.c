/*
 * report.c - prints the results as a table or as JSON.
 *
 * Runs in:  reckon-bench.
 * Reads:    the measured values.
 * Never:    leaves a row out: a row without a value says why.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "bench/bench.h"
#include "codec/json_write.h"

static const struct {
	const char *id;
	const char *what;
	enum unit unit;
} names[ROW_COUNT_] = {
	[ROW_FRESH] = { "fresh", "fresh session, on demand, first cell answered", UNIT_SECONDS },
	[ROW_PARKED] = { "parked", "fresh session, parked, first cell answered", UNIT_SECONDS },
	[ROW_CLOSE] = { "close", "closing a session (the call)", UNIT_SECONDS },
	[ROW_WARM] = { "warm", "warm cell", UNIT_SECONDS },
	[ROW_BRANCH_CALL] = { "branch_call", "branch of a live session (the call)", UNIT_SECONDS },
	[ROW_BRANCH] = { "branch", "branch of a live session, first cell answered", UNIT_SECONDS },
	[ROW_CAPTURE_TABLE] = { "capture_table", "a cell whose value is a table of 1,000 rows",
				UNIT_SECONDS },
	[ROW_CAPTURE_FIGURE] = { "capture_figure", "a cell that draws a figure", UNIT_SECONDS },
	[ROW_CLI] = { "cli", "reckon run -c 'print(1)'", UNIT_SECONDS },
	[ROW_RATE] = { "rate", "start, run, destroy: sessions on one core", UNIT_PER_SECOND },
	[ROW_MANY_OPEN] = { "many_open", "opening each of many sessions, with a cell",
			    UNIT_SECONDS },
	[ROW_MANY_ONE] = { "many_one", "warm cell, before and after them", UNIT_SECONDS },
	[ROW_MANY_WARM] = { "many_warm", "warm cell among all of them", UNIT_SECONDS },
	[ROW_MANY_DESTROY] = { "many_destroy", "destroying them, each, until gone", UNIT_SECONDS },
	[ROW_MANY_PSS] = { "many_pss", "memory of a fresh, idle session (PSS)", UNIT_BYTES },
	[ROW_MANY_PSS_CELL] = { "many_pss_cell", "the same after its first cell", UNIT_BYTES },
	[ROW_MANY_MEMORY] = { "many_memory", "a fresh session, from MemAvailable",
			      UNIT_BYTES },
	[ROW_PYTHON_PRINT] = { "python_print", "python3 -c 'print(1)'", UNIT_SECONDS },
	[ROW_PYTHON] = { "python", "python3 -c 'import' of the stack", UNIT_SECONDS },
	[ROW_BWRAP] = { "bwrap", "the same in bwrap --unshare-all", UNIT_SECONDS },
	[ROW_CRUN] = { "crun", "the same in crun run", UNIT_SECONDS },
	[ROW_JUPYTER_COLD] = { "ipykernel_cold", "ipykernel: start, import, first cell answered",
			       UNIT_SECONDS },
	[ROW_JUPYTER_WARM] = { "ipykernel_warm", "ipykernel: warm cell", UNIT_SECONDS },
	[ROW_JUPYTER_TABLE] = { "ipykernel_capture_table", "ipykernel: the table of 1,000 rows",
				UNIT_SECONDS },
	[ROW_JUPYTER_FIGURE] = { "ipykernel_capture_figure", "ipykernel: the figure",
				 UNIT_SECONDS },
};

enum bound { BOUND_NONE, BOUND_AT_LEAST, BOUND_AT_MOST };

/* If `under` is below ROW_COUNT_: the ratio of two medians. Else: the median of `over`. */
static const struct promise {
	const char *id;
	const char *what;
	enum row_id over, under;
	enum bound bound;
	double budget;
} promises[] = {
	{ "python_fresh", "python3 with imports / fresh on demand", ROW_PYTHON, ROW_FRESH,
	  BOUND_NONE, 0 },
	{ "bwrap_fresh", "bwrap with imports / fresh on demand", ROW_BWRAP, ROW_FRESH, BOUND_NONE,
	  0 },
	{ "crun_fresh", "crun with imports / fresh on demand", ROW_CRUN, ROW_FRESH, BOUND_AT_LEAST,
	  200 },
	{ "ipykernel_fresh", "ipykernel cold start / fresh on demand", ROW_JUPYTER_COLD, ROW_FRESH,
	  BOUND_NONE, 0 },
	{ "ipykernel_parked", "ipykernel cold start / parked", ROW_JUPYTER_COLD, ROW_PARKED,
	  BOUND_NONE, 0 },
	{ "ipykernel_warm", "ipykernel warm cell / warm cell", ROW_JUPYTER_WARM, ROW_WARM,
	  BOUND_AT_LEAST, 10 },
	{ "capture_table", "ipykernel table / table", ROW_JUPYTER_TABLE, ROW_CAPTURE_TABLE,
	  BOUND_NONE, 0 },
	{ "capture_figure", "ipykernel figure / figure", ROW_JUPYTER_FIGURE, ROW_CAPTURE_FIGURE,
	  BOUND_AT_LEAST, 1 },
	{ "branch_fresh", "branch / fresh on demand", ROW_BRANCH, ROW_FRESH, BOUND_NONE, 0 },
	{ "cli_python", "reckon run / python3", ROW_CLI, ROW_PYTHON_PRINT, BOUND_AT_MOST, 1.2 },
	{ "many_latency", "warm cell among many / alone", ROW_MANY_WARM, ROW_MANY_ONE,
	  BOUND_AT_MOST, 2 },
	{ "many_pss", "memory of a fresh, idle session, MiB", ROW_MANY_PSS, ROW_COUNT_, BOUND_AT_MOST,
	  1.5 },
	{ "rate", "start, run, destroy per second and core", ROW_RATE, ROW_COUNT_, BOUND_AT_LEAST,
	  200 },
};

static bool has(const struct bench *bench, enum row_id id)
{
	return bench->rows[id].samples.count > 0;
}

static const char *why_absent(const struct bench *bench, enum row_id id)
{
	return bench->rows[id].absent[0] != '\0' ? bench->rows[id].absent : "not measured";
}

static double median(const struct bench *bench, enum row_id id)
{
	return samples_quantile(&bench->rows[id].samples, 0.5);
}

static bool value_of(const struct bench *bench, const struct promise *promise, double *ret)
{
	if (!has(bench, promise->over))
		return false;
	if (promise->under == ROW_COUNT_) {
		*ret = median(bench, promise->over);
		if (names[promise->over].unit == UNIT_BYTES)
			*ret /= 1024.0 * 1024.0;
		return true;
	}
	if (!has(bench, promise->under))
		return false;
	*ret = median(bench, promise->over) / median(bench, promise->under);
	return true;
}

static bool is_met(const struct promise *promise, double value)
{
	switch (promise->bound) {
	case BOUND_NONE:
		break;
	case BOUND_AT_LEAST:
		return value >= promise->budget;
	case BOUND_AT_MOST:
		return value <= promise->budget;
	}
	return true;
}

/* ---- for people ----------------------------------------------------------------------------- */

static const char *value_text(double value, enum unit unit, char ret[32])
{
	switch (unit) {
	case UNIT_SECONDS:
		if (value < 0.001)
			(void)snprintf(ret, 32, "%.0f us", value * 1e6);
		else if (value < 1)
			(void)snprintf(ret, 32, "%.2f ms", value * 1e3);
		else
			(void)snprintf(ret, 32, "%.2f s", value);
		break;
	case UNIT_BYTES:
		(void)snprintf(ret, 32, "%.2f MiB", value / (1024.0 * 1024.0));
		break;
	case UNIT_PER_SECOND:
		(void)snprintf(ret, 32, "%.0f /s", value);
		break;
	}
	return ret;
}

static void print_row(const struct bench *bench, enum row_id id)
{
	const struct samples *samples = &bench->rows[id].samples;
	char middle[32], high[32];

	if (samples->count == 0) {
		printf("%-58s %s\n", names[id].what, why_absent(bench, id));
		return;
	}
	(void)value_text(samples_quantile(samples, 0.5), names[id].unit, middle);
	(void)value_text(samples_quantile(samples, 0.99), names[id].unit, high);
	printf("%-58s %12s %12s %6zu\n", names[id].what, middle,
	       samples->count > 1 ? high : "-", samples->count);
}

static void print_promise(const struct bench *bench, const struct promise *promise)
{
	double value;

	if (!value_of(bench, promise, &value)) {
		printf("%-58s %12s\n", promise->what, "-");
		return;
	}
	printf("%-58s %12.2f", promise->what, value);
	if (promise->bound != BOUND_NONE)
		printf("   %s %g: %s", promise->bound == BOUND_AT_LEAST ? "at least" : "at most",
		       promise->budget, is_met(promise, value) ? "met" : "MISSED");
	printf("\n");
}

static void print_table(const struct bench *bench)
{
	printf("%-58s %12s %12s %6s\n", "", "median", "p99", "n");
	for (enum row_id id = 0; id < ROW_COUNT_; id++)
		print_row(bench, id);
	printf("\n%-58s %12s\n", "ratios of medians, and budgets", "");
	for (size_t i = 0; i < ARRAY_LEN(promises); i++)
		print_promise(bench, &promises[i]);
}

/* ---- for programs --------------------------------------------------------------------------- */

static void write_number(struct json_writer *json, const char *key, double value)
{
	char text[48];
	const int len = snprintf(text, sizeof(text), "%.9g", value);

	json_write_key(json, key);
	json_write_raw(json, text, (size_t)len);
}

static void write_row(struct json_writer *json, const struct bench *bench, enum row_id id)
{
	static const char *const units[] = { "s", "bytes", "1/s" };
	const struct samples *samples = &bench->rows[id].samples;

	json_write_object_begin(json);
	json_write_member_string(json, "id", names[id].id);
	json_write_member_string(json, "what", names[id].what);
	json_write_member_string(json, "unit", units[names[id].unit]);
	json_write_member_uint(json, "n", samples->count);
	if (samples->count > 0) {
		write_number(json, "median", samples_quantile(samples, 0.5));
		write_number(json, "p99", samples_quantile(samples, 0.99));
		write_number(json, "min", samples_quantile(samples, 0));
	} else {
		json_write_member_string(json, "absent", why_absent(bench, id));
	}
	json_write_object_end(json);
}

static void write_promise(struct json_writer *json, const struct bench *bench,
			  const struct promise *promise)
{
	static const char *const bounds[] = { NULL, "at_least", "at_most" };
	double value;

	json_write_object_begin(json);
	json_write_member_string(json, "id", promise->id);
	json_write_member_string(json, "what", promise->what);
	if (promise->bound != BOUND_NONE) {
		json_write_member_string(json, "bound", bounds[promise->bound]);
		write_number(json, "budget", promise->budget);
	}
	if (value_of(bench, promise, &value)) {
		write_number(json, "value", value);
		json_write_member_bool(json, "met", is_met(promise, value));
	}
	json_write_object_end(json);
}

static void write_host(struct json_writer *json)
{
	struct utsname host;

	json_write_key(json, "host");
	json_write_object_begin(json);
	if (uname(&host) == 0) {
		json_write_member_string(json, "kernel", host.release);
		json_write_member_string(json, "machine", host.machine);
	}
	json_write_member_uint(json, "cores", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	json_write_member_uint(json, "memory_bytes",
			       (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE));
	json_write_object_end(json);
}

static int print_json(const struct bench *bench, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(1u << 20);
	struct json_writer json;

	json_write_init(&json, &text);
	json_write_object_begin(&json);
	json_write_member_string(&json, "schema", "reckon.bench/1");
	json_write_member_string(&json, "version", RECKON_VERSION);
	write_host(&json);
	json_write_member_uint(&json, "sessions", bench->sessions);
	json_write_key(&json, "rows");
	json_write_array_begin(&json);
	for (enum row_id id = 0; id < ROW_COUNT_; id++)
		write_row(&json, bench, id);
	json_write_array_end(&json);
	json_write_key(&json, "promises");
	json_write_array_begin(&json);
	for (size_t i = 0; i < ARRAY_LEN(promises); i++)
		write_promise(&json, bench, &promises[i]);
	json_write_array_end(&json);
	json_write_object_end(&json);
	if (json_write_finish(&json, err) < 0 || buf_addc(&text, '\n', err) < 0)
		return (int)err->code;
	return fd_write_full(STDOUT_FILENO, text.data, text.len, err);
}

int report_print(const struct bench *bench, struct err *err)
{
	if (bench->is_json)
		return print_json(bench, err);
	print_table(bench);
	return fflush(stdout) == 0 ? 0 : err_sys(err, "write the table");
}
