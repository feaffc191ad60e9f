/*
 * peer.c - measures the same work without Reckon: a new interpreter, bare and in bubblewrap.
 *
 * Runs in:  reckon-bench.
 * Reads:    only exit codes and times.
 * Never:    puts a peer at a disadvantage: it uses the template's compiled packages, and a run that
 *           is not counted fills the caches first.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/proc.h"

#define SYSTEM_PYTHON "/usr/bin/python3"

static char config_dir[128]; /* MPLCONFIGDIR=… */

const char *const peer_env[] = { "OPENBLAS_NUM_THREADS=1", "MPLBACKEND=Agg",
				 "PYTHONDONTWRITEBYTECODE=1", config_dir, NULL };

static int run(const char *const *argv, uint64_t *ret_ns, struct err *err)
{
	return proc_run(&(struct proc_command){ .argv = argv, .add_env = peer_env }, ret_ns, err);
}

static int run_python(const struct bench *bench, uint64_t *ret_ns, struct err *err)
{
	char python[3300];
	const char *const argv[] = { python, "-c", PEER_IMPORTS, NULL };

	(void)snprintf(python, sizeof(python), "%s/bin/python3", bench->tree);
	return run(argv, ret_ns, err);
}

static int run_bwrap(const struct bench *bench, uint64_t *ret_ns, struct err *err)
{
	char python[3300];
	const char *const argv[] = { "bwrap", "--unshare-all", "--ro-bind", "/", "/",
				     "--dev", "/dev", "--proc", "/proc",
				     "--tmpfs", "/tmp", "--ro-bind", bench->tree, bench->tree,
				     "--bind", bench->work, bench->work,
				     python, "-c", PEER_IMPORTS, NULL };

	(void)snprintf(python, sizeof(python), "%s/bin/python3", bench->tree);
	return run(argv, ret_ns, err);
}

static void open_python(struct bench *bench)
{
	struct err err;
	uint64_t ns;

	if (access(SYSTEM_PYTHON, X_OK) < 0)
		bench_absent(bench, ROW_PYTHON_PRINT, "not installed: no " SYSTEM_PYTHON);
	if (run_python(bench, &ns, &err) < 0)
		bench_absent(bench, ROW_PYTHON, "%s", err.text);
}

static void open_bwrap(struct bench *bench)
{
	char path[4096];
	struct err err;
	uint64_t ns;

	if (!proc_find("bwrap", path, sizeof(path)))
		bench_absent(bench, ROW_BWRAP, "not installed: bwrap (bubblewrap)");
	else if (run_bwrap(bench, &ns, &err) < 0)
		bench_absent(bench, ROW_BWRAP, "%s", err.text);
}

static void skip_unrequested(struct bench *bench, enum peer peer, enum row_id first,
			     enum row_id last)
{
	if ((bench->peers & peer) == 0)
		for (enum row_id id = first; id <= last; id++)
			bench_absent(bench, id, "not asked for (--peers)");
}

void peer_open(struct bench *bench)
{
	(void)snprintf(config_dir, sizeof(config_dir), "MPLCONFIGDIR=%s", bench->work);
	bench_say(bench, "looking for peers");
	skip_unrequested(bench, PEER_PYTHON, ROW_PYTHON_PRINT, ROW_PYTHON);
	skip_unrequested(bench, PEER_BWRAP, ROW_BWRAP, ROW_BWRAP);
	skip_unrequested(bench, PEER_CRUN, ROW_CRUN, ROW_CRUN);
	skip_unrequested(bench, PEER_IPYKERNEL, ROW_JUPYTER_COLD, ROW_JUPYTER_FIGURE);
	if ((bench->peers & PEER_PYTHON) != 0)
		open_python(bench);
	if ((bench->peers & PEER_BWRAP) != 0)
		open_bwrap(bench);
	if ((bench->peers & PEER_CRUN) != 0)
		crun_open(bench);
	if ((bench->peers & PEER_IPYKERNEL) != 0)
		jupyter_open(bench);
}

void peer_close(struct bench *bench)
{
	jupyter_close(bench);
}

static int measure(struct bench *bench, enum row_id row,
		   int (*work)(const struct bench *, uint64_t *, struct err *), struct err *err)
{
	uint64_t ns;

	if (work(bench, &ns, err) < 0)
		return (int)err->code;
	samples_add(&bench->rows[row].samples, (double)ns / 1e9);
	return 0;
}

static int run_print(const struct bench *bench, uint64_t *ret_ns, struct err *err)
{
	const char *const argv[] = { SYSTEM_PYTHON, "-c", "print(1)", NULL };

	(void)bench;
	return proc_run(&(struct proc_command){ .argv = argv }, ret_ns, err);
}

int peer_python_print(struct bench *bench, struct err *err)
{
	return measure(bench, ROW_PYTHON_PRINT, run_print, err);
}

int peer_python(struct bench *bench, struct err *err)
{
	return measure(bench, ROW_PYTHON, run_python, err);
}

int peer_bwrap(struct bench *bench, struct err *err)
{
	return measure(bench, ROW_BWRAP, run_bwrap, err);
}
