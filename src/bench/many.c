/*
 * many.c - measures many sessions: one after the other on one core, and many at once.
 *
 * Runs in:  reckon-bench; the rate in a child of its own that is bound to one core.
 * Reads:    /proc, for the processes and memory of the sessions.
 * Never:    leaves a session behind.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "bench/bench.h"
#include "bench/proc.h"

#define LATENCY_RUNS 200
#define GONE_MS 60000

static double seconds_since(uint64_t start_ns)
{
	return (double)(clock_mono_ns() - start_ns) / 1e9;
}

/* ---- start, run, destroy ------------------------------------------------------------------- */

struct rate_report {
	struct err err;
	double per_second;
};

/* Warden and kernels inherit the binding, so the rate is that of one core. */
static int bind_to_one_core(struct err *err)
{
	cpu_set_t all, one;
	size_t last = 0;

	if (sched_getaffinity(0, sizeof(all), &all) < 0)
		return err_sys(err, "which cores may be used");
	for (size_t i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			last = i;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	if (sched_setaffinity(0, sizeof(one), &one) < 0)
		return err_sys(err, "stay on one core");
	return 0;
}

static int one_life(reckon_engine *engine, unsigned flags, struct err *err)
{
	reckon_session *session;

	if (ours_session(engine, flags, &session, err) < 0)
		return (int)err->code;
	reckon_session_close(session);
	return 0;
}

/* The measured time includes closing the engine, so that it includes all destroying. */
static int measure_rate(double seconds, double *ret, struct err *err)
{
	const reckon_engine_options options = { .size = sizeof(options), .private_warden = 1 };
	reckon_engine *engine;
	reckon_error error;
	size_t count = 0;
	uint64_t start;
	int code;

	if (bind_to_one_core(err) < 0)
		return (int)err->code;
	if (reckon_engine_open(&options, &engine, &error) < 0)
		return bench_fail(err, &error);
	code = one_life(engine, RECKON_SESSION_WAIT_WARM, err);
	start = clock_mono_ns();
	while (code == 0 && seconds_since(start) < seconds) {
		code = one_life(engine, 0, err);
		count++;
	}
	reckon_engine_close(engine);
	*ret = (double)count / seconds_since(start);
	return code;
}

int many_rate(struct bench *bench, struct err *err)
{
	struct rate_report report = { 0 };
	cleanup_fd int ours = -1;
	int ends[2];
	pid_t pid;
	ssize_t n;

	bench_say(bench, "starting, running and destroying sessions on one core");
	if (pipe(ends) < 0)
		return err_sys(err, "pipe");
	ours = ends[0];
	pid = fork();
	if (pid < 0) {
		(void)close(ends[1]);
		return err_sys(err, "fork");
	}
	if (pid == 0) {
		struct err ignored;

		(void)measure_rate(bench->rate_s, &report.per_second, &report.err);
		(void)fd_write_full(ends[1], &report, sizeof(report), &ignored);
		_exit(0);
	}
	(void)close(ends[1]);
	n = fd_read_full(ours, &report, sizeof(report), err);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != (ssize_t)sizeof(report))
		return err_set(err, ERR_SYSTEM, "the measuring process ended early");
	if (report.err.code != ERR_OK) {
		*err = report.err;
		return (int)err->code;
	}
	samples_add(&bench->rows[ROW_RATE].samples, report.per_second);
	return 0;
}

/* ---- many at once --------------------------------------------------------------------------- */

struct crowd {
	reckon_session **at;
	size_t count;
};

static void crowd_done(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++)
		reckon_session_close(crowd->at[i]);
	free(crowd->at);
	*crowd = (struct crowd){ 0 };
}

static int measure_cells(struct bench *bench, struct crowd *crowd, enum row_id row,
			 struct err *err)
{
	for (size_t i = 0; i < LATENCY_RUNS; i++) {
		/* A prime stride selects another session each time, far from the last one. */
		reckon_session *session =
			crowd != NULL && crowd->count > 0 ? crowd->at[i * 7919 % crowd->count]
							  : bench->live;
		const uint64_t start = clock_mono_ns();

		if (ours_cell(session, "x += 1", err) < 0)
			return (int)err->code;
		samples_add(&bench->rows[row].samples, seconds_since(start));
	}
	return 0;
}

/* Each session needs descriptors in this process: three, and two pipes after its first cell. */
static void raise_descriptors(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int open_crowd(struct bench *bench, struct crowd *crowd, double *seconds, struct err *err)
{
	crowd->at = mem_new0(bench->sessions, sizeof(*crowd->at));
	while (crowd->count < bench->sessions) {
		const uint64_t start = clock_mono_ns();

		if (ours_open_session(bench->engine, 0, &crowd->at[crowd->count], err) < 0)
			return err_wrap(err, "session %zu of %u", crowd->count + 1,
					bench->sessions);
		seconds[crowd->count++] = seconds_since(start);
	}
	return 0;
}

/*
 * Counts the first cell as part of the start. second_cells() then touches the memory that every
 * later cell touches.
 */
static int first_cells(struct bench *bench, struct crowd *crowd, const double *opening,
		       struct err *err)
{
	for (size_t i = 0; i < crowd->count; i++) {
		const uint64_t start = clock_mono_ns();

		if (ours_cell(crowd->at[i], "x = 1", err) < 0)
			return (int)err->code;
		samples_add(&bench->rows[ROW_MANY_OPEN].samples, opening[i] + seconds_since(start));
	}
	return 0;
}

static int second_cells(struct crowd *crowd, struct err *err)
{
	for (size_t i = 0; i < crowd->count; i++)
		if (ours_cell(crowd->at[i], "x += 1", err) < 0)
			return (int)err->code;
	return 0;
}

/*
 * Measures the memory per session beyond `before`. Fails if there are fewer kernels than sessions.
 */
static int measure_memory(struct bench *bench, const struct crowd *crowd,
			  const struct proc_tree *before, enum row_id row, struct err *err)
{
	struct proc_tree now;

	bench_pause_ms(500);
	if (proc_tree_read(true, &now, err) < 0)
		return (int)err->code;
	if (now.kernels < before->kernels + crowd->count)
		return err_set(err, ERR_SYSTEM, "%zu kernels (%zu processes) for %zu sessions",
			       now.kernels - before->kernels, now.processes - before->processes,
			       crowd->count);
	samples_add(&bench->rows[row].samples,
		    ((double)now.pss_bytes - (double)before->pss_bytes) / (double)crowd->count);
	return 0;
}

static int destroy_crowd(struct bench *bench, struct crowd *crowd, size_t before, struct err *err)
{
	const size_t count = crowd->count;
	const uint64_t start = clock_mono_ns();
	struct proc_tree tree;

	crowd_done(crowd);
	for (;;) {
		if (proc_tree_read(false, &tree, err) < 0)
			return (int)err->code;
		if (tree.kernels <= before)
			break;
		if (seconds_since(start) * 1e3 > GONE_MS)
			return err_set(err, ERR_TIMEOUT, "%zu kernels are left after %d s",
				       tree.kernels - before, GONE_MS / 1000);
		bench_pause_ms(2);
	}
	samples_add(&bench->rows[ROW_MANY_DESTROY].samples, seconds_since(start) / (double)count);
	return 0;
}

static int live_in_crowd(struct bench *bench, struct crowd *crowd, const struct proc_tree *before,
			 struct err *err)
{
	const uint64_t available = proc_memory_available();
	cleanup_free double *opening = mem_new0(bench->sessions, sizeof(*opening));

	bench_say(bench, "opening %u sessions", bench->sessions);
	if (open_crowd(bench, crowd, opening, err) < 0 ||
	    measure_memory(bench, crowd, before, ROW_MANY_PSS, err) < 0)
		return (int)err->code;
	samples_add(&bench->rows[ROW_MANY_MEMORY].samples,
		    ((double)available - (double)proc_memory_available()) / (double)crowd->count);
	if (first_cells(bench, crowd, opening, err) < 0 ||
	    measure_memory(bench, crowd, before, ROW_MANY_PSS_CELL, err) < 0 ||
	    second_cells(crowd, err) < 0)
		return (int)err->code;
	return measure_cells(bench, crowd, ROW_MANY_WARM, err);
}

int many_live(struct bench *bench, struct err *err)
{
	__attribute__((cleanup(crowd_done))) struct crowd crowd = { 0 };
	struct proc_tree before;

	raise_descriptors();
	bench_pause_ms(500);
	if (measure_cells(bench, NULL, ROW_MANY_ONE, err) < 0 ||
	    proc_tree_read(true, &before, err) < 0 ||
	    live_in_crowd(bench, &crowd, &before, err) < 0)
		return (int)err->code;
	bench_say(bench, "destroying them");
	if (destroy_crowd(bench, &crowd, before.kernels, err) < 0)
		return (int)err->code;
	bench_pause_ms(500);
	return measure_cells(bench, NULL, ROW_MANY_ONE, err);
}
