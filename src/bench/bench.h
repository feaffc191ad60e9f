/*
 * bench.h - what the files of reckon-bench share: options, rows, variants.
 *
 * A row is one measured quantity; a variant is one task that adds values to one or two rows.
 * Variants run round robin, so that other load on the host affects all of them alike.
 */
#pragma once

#include <reckon.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "bench/sample.h"

enum row_id {
	/* ours */
	ROW_FRESH,
	ROW_PARKED,
	ROW_CLOSE,
	ROW_WARM,
	ROW_BRANCH_CALL,
	ROW_BRANCH,
	ROW_CAPTURE_TABLE,
	ROW_CAPTURE_FIGURE,
	ROW_CLI,
	ROW_RATE,
	ROW_MANY_OPEN,
	ROW_MANY_ONE,
	ROW_MANY_WARM,
	ROW_MANY_DESTROY,
	ROW_MANY_PSS,
	ROW_MANY_PSS_CELL,
	ROW_MANY_MEMORY,
	/* peers */
	ROW_PYTHON_PRINT,
	ROW_PYTHON,
	ROW_BWRAP,
	ROW_CRUN,
	ROW_JUPYTER_COLD,
	ROW_JUPYTER_WARM,
	ROW_JUPYTER_TABLE,
	ROW_JUPYTER_FIGURE,
	ROW_COUNT_,
};

enum unit { UNIT_SECONDS, UNIT_BYTES, UNIT_PER_SECOND };

struct row {
	struct samples samples;
	char absent[160]; /* why there is no value; "" when there is one */
};

enum peer {
	PEER_PYTHON = 1u << 0,
	PEER_BWRAP = 1u << 1,
	PEER_CRUN = 1u << 2,
	PEER_IPYKERNEL = 1u << 3,
};
#define PEER_ALL (PEER_PYTHON | PEER_BWRAP | PEER_CRUN | PEER_IPYKERNEL)

struct jupyter; /* peer_jupyter.c */

struct bench {
	bool is_json, is_quick, does_install;
	unsigned runs;
	unsigned peers; /* enum peer, or-ed */
	unsigned sessions; /* live at once in many.c */
	double rate_s;

	char state_dir[3072];
	char template_dir[3072];
	char tree[3200];  /* package tree of the data template */
	char cli[4096];	  /* the program `reckon` */
	char work[64];	  /* temporary directory, removed at the end; "" before it is made */

	reckon_engine *engine; /* with a warden of its own */
	reckon_engine *shared; /* keeps the warden of the command line warm */
	reckon_session *live;  /* for warm cells and branches */
	/*
	 * for tables and figures; never branched, because a branch makes later writes copy memory
	 */
	reckon_session *shown;
	struct jupyter *jupyter;

	struct row rows[ROW_COUNT_];
};

/* Prints one line of progress; nothing with --json. */
void bench_say(const struct bench *bench, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Sets *err to libreckon's error; returns its code. */
int bench_fail(struct err *err, const reckon_error *error);

void bench_pause_ms(unsigned ms);

/* Stores why row `id` has no value. */
void bench_absent(struct bench *bench, enum row_id id, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- ours.c: the product ---------------------------------------------------------------- */

int ours_open(struct bench *bench, struct err *err);
void ours_close(struct bench *bench);
int ours_fresh(struct bench *bench, struct err *err);
int ours_parked(struct bench *bench, struct err *err);
int ours_warm(struct bench *bench, struct err *err);
int ours_branch(struct bench *bench, struct err *err);
int ours_table(struct bench *bench, struct err *err);
int ours_figure(struct bench *bench, struct err *err);
int ours_cli(struct bench *bench, struct err *err);

/* Opens a session with the data template; ours_session() also runs its first cell. */
int ours_open_session(reckon_engine *engine, unsigned flags, reckon_session **ret,
		      struct err *err);
int ours_session(reckon_engine *engine, unsigned flags, reckon_session **ret, struct err *err);
/* Runs a cell; an error if it fails. */
int ours_cell(reckon_session *session, const char *code, struct err *err);

/* ---- many.c: many sessions at once, and one after the other -------------------------------- */

int many_rate(struct bench *bench, struct err *err);
int many_live(struct bench *bench, struct err *err);

/* ---- peer.c, peer_crun.c, peer_jupyter.c: what others need for the same -------------------- */

void peer_open(struct bench *bench);
void peer_close(struct bench *bench);
int peer_python_print(struct bench *bench, struct err *err);
int peer_python(struct bench *bench, struct err *err);
int peer_bwrap(struct bench *bench, struct err *err);

#define PEER_IMPORTS "import numpy, pandas, matplotlib.pyplot"
/*
 * Cells with output to capture. CAPTURE_SET_UP is one line without single quotes, because it is in
 * a Python string inside a C string.
 */
#define CAPTURE_SET_UP PEER_IMPORTS "; frame = pandas.DataFrame({\"a\": numpy.arange(1000), " \
	"\"b\": numpy.linspace(0, 1, 1000), \"c\": [str(n) for n in range(1000)]})"
#define CAPTURE_TABLE "frame"
#define CAPTURE_FIGURE "matplotlib.pyplot.plot([1, 2, 3], [4, 5, 6]); " \
	"matplotlib.pyplot.title(\"Title\");"
/* variables for peers that import the packages; NULL-terminated */
extern const char *const peer_env[];

void crun_open(struct bench *bench);
int peer_crun(struct bench *bench, struct err *err);

void jupyter_open(struct bench *bench);
void jupyter_close(struct bench *bench);
int jupyter_install(struct bench *bench, struct err *err);
int peer_jupyter_cold(struct bench *bench, struct err *err);
int peer_jupyter_warm(struct bench *bench, struct err *err);
int peer_jupyter_table(struct bench *bench, struct err *err);
int peer_jupyter_figure(struct bench *bench, struct err *err);

/* ---- report.c ------------------------------------------------------------------------------ */

int report_print(const struct bench *bench, struct err *err);
