/*
 * ours.c - measures Reckon itself.
 *
 * Runs in:  reckon-bench.
 * Reads:    records of cells it wrote itself.
 * Never:    counts a cell that failed.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/bench.h"
#include "bench/proc.h"
#include "lib/session/branch.h"

#define SETTLE_MS 120 /* the warden refills its pools after a short idle time */

static double seconds_since(uint64_t start_ns)
{
	return (double)(clock_mono_ns() - start_ns) / 1e9;
}

int ours_cell(reckon_session *session, const char *code, struct err *err)
{
	reckon_execution *done;
	reckon_error error;
	int exit_code;

	if (reckon_execute(session, code, strlen(code), NULL, &done, &error) < 0)
		return bench_fail(err, &error);
	exit_code = reckon_execution_exit_code(done);
	if (exit_code != 0)
		(void)err_set(err, ERR_SYSTEM, "a cell of the benchmark failed: %.240s",
			      reckon_execution_record(done));
	reckon_execution_free(done);
	return exit_code == 0 ? 0 : (int)err->code;
}

int ours_open_session(reckon_engine *engine, unsigned flags, reckon_session **ret,
		      struct err *err)
{
	const reckon_session_options options = { .size = sizeof(options),
						 .template_name = "data",
						 .flags = flags };
	reckon_error error;

	if (reckon_session_open(engine, &options, ret, &error) < 0)
		return bench_fail(err, &error);
	return 0;
}

int ours_session(reckon_engine *engine, unsigned flags, reckon_session **ret, struct err *err)
{
	reckon_session *session;

	if (ours_open_session(engine, flags, &session, err) < 0)
		return (int)err->code;
	if (ours_cell(session, "x = 1", err) < 0) {
		reckon_session_close(session);
		return (int)err->code;
	}
	*ret = session;
	return 0;
}

static int open_engine(int is_private, reckon_engine **ret, struct err *err)
{
	const reckon_engine_options options = { .size = sizeof(options),
						.private_warden = is_private };
	reckon_error error;

	if (reckon_engine_open(&options, ret, &error) < 0)
		return bench_fail(err, &error);
	return 0;
}

int ours_open(struct bench *bench, struct err *err)
{
	reckon_session *first;

	bench_say(bench, "warming the data template up");
	if (open_engine(1, &bench->engine, err) < 0 || open_engine(0, &bench->shared, err) < 0 ||
	    ours_session(bench->shared, RECKON_SESSION_WAIT_WARM, &first, err) < 0)
		return (int)err->code;
	reckon_session_close(first);
	if (ours_session(bench->engine, RECKON_SESSION_WAIT_WARM, &bench->live, err) < 0 ||
	    ours_session(bench->engine, RECKON_SESSION_WAIT_WARM, &bench->shown, err) < 0)
		return (int)err->code;
	return ours_cell(bench->shown, CAPTURE_SET_UP, err);
}

void ours_close(struct bench *bench)
{
	reckon_session_close(bench->live);
	reckon_session_close(bench->shown);
	reckon_engine_close(bench->engine);
	reckon_engine_close(bench->shared);
}

/* Measures the time from no session to the first answer, with full pools. */
static int measure_fresh(struct bench *bench, unsigned flags, enum row_id row, struct err *err)
{
	reckon_session *session;
	uint64_t start;

	bench_pause_ms(SETTLE_MS);
	start = clock_mono_ns();
	if (ours_session(bench->engine, flags | RECKON_SESSION_WAIT_WARM, &session, err) < 0)
		return (int)err->code;
	samples_add(&bench->rows[row].samples, seconds_since(start));
	bench_pause_ms(SETTLE_MS);
	start = clock_mono_ns();
	reckon_session_close(session);
	samples_add(&bench->rows[ROW_CLOSE].samples, seconds_since(start));
	return 0;
}

int ours_fresh(struct bench *bench, struct err *err)
{
	return measure_fresh(bench, RECKON_SESSION_NO_PARKED, ROW_FRESH, err);
}

int ours_parked(struct bench *bench, struct err *err)
{
	return measure_fresh(bench, 0, ROW_PARKED, err);
}

static int measure_cell(struct bench *bench, reckon_session *session, const char *code,
			enum row_id row, struct err *err)
{
	const uint64_t start = clock_mono_ns();

	if (ours_cell(session, code, err) < 0)
		return (int)err->code;
	samples_add(&bench->rows[row].samples, seconds_since(start));
	return 0;
}

int ours_warm(struct bench *bench, struct err *err)
{
	return measure_cell(bench, bench->live, "x += 1", ROW_WARM, err);
}

int ours_table(struct bench *bench, struct err *err)
{
	return measure_cell(bench, bench->shown, CAPTURE_TABLE, ROW_CAPTURE_TABLE, err);
}

int ours_figure(struct bench *bench, struct err *err)
{
	return measure_cell(bench, bench->shown, CAPTURE_FIGURE, ROW_CAPTURE_FIGURE, err);
}

int ours_branch(struct bench *bench, struct err *err)
{
	reckon_session *copy;
	reckon_error error;
	uint64_t start;
	double call;

	bench_pause_ms(SETTLE_MS);
	start = clock_mono_ns();
	if (session_branch(bench->live, &copy, &error) < 0)
		return bench_fail(err, &error);
	call = seconds_since(start);
	if (ours_cell(copy, "x += 1", err) < 0) {
		reckon_session_close(copy);
		return (int)err->code;
	}
	samples_add(&bench->rows[ROW_BRANCH].samples, seconds_since(start));
	samples_add(&bench->rows[ROW_BRANCH_CALL].samples, call);
	reckon_session_close(copy);
	return 0;
}

int ours_cli(struct bench *bench, struct err *err)
{
	const char *const argv[] = { bench->cli, "run", "-c", "print(1)", NULL };
	uint64_t ns;

	bench_pause_ms(SETTLE_MS);
	if (proc_run(&(struct proc_command){ .argv = argv }, &ns, err) < 0)
		return (int)err->code;
	samples_add(&bench->rows[ROW_CLI].samples, (double)ns / 1e9);
	return 0;
}
