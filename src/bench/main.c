/*
 * main.c - reckon-bench: measures Reckon on this host, and other programs for comparison.
 *
 * Runs in:  its own process, started by `reckon bench`.
 * Reads:    the command line.
 * Never:    compares numbers of different runs: one run measures everything, round robin.
 */
#include <errno.h>
#include <ftw.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "bench/bench.h"

#define EXIT_USAGE 2
#define EXIT_RECKON 125

void bench_say(const struct bench *bench, const char *fmt, ...)
{
	va_list args;

	if (bench->is_json)
		return;
	va_start(args, fmt);
	(void)fputs("reckon bench: ", stderr);
	(void)vfprintf(stderr, fmt, args);
	(void)fputc('\n', stderr);
	va_end(args);
}

/* Redraws one progress line on a terminal. `begun_ns`: when the first round began. */
static void show_rounds(const struct bench *bench, unsigned done, uint64_t begun_ns)
{
	const char *term = getenv("TERM");
	uint64_t round_ms, left_s;

	if (bench->is_json || !isatty(STDERR_FILENO) || term == NULL || strcmp(term, "dumb") == 0)
		return;
	if (done == bench->runs) {
		(void)fputs("\r\033[K", stderr);
		return;
	}
	(void)fprintf(stderr, "\rreckon bench: round %u of %u", done + 1, bench->runs);
	if (done > 0) {
		round_ms = (clock_mono_ns() - begun_ns) / done / 1000000u;
		left_s = round_ms * (bench->runs - done) / 1000;
		(void)fprintf(stderr, ", %llu.%llu s each, %llu min %llu s left",
			      (unsigned long long)round_ms / 1000,
			      (unsigned long long)round_ms / 100 % 10,
			      (unsigned long long)left_s / 60, (unsigned long long)left_s % 60);
	}
	(void)fputs("\033[K", stderr);
}

int bench_fail(struct err *err, const reckon_error *error)
{
	(void)err_set(err, (enum err_code)error->code, "%s", error->message);
	return err_remedy(err, "%s", error->remedy);
}

void bench_pause_ms(unsigned ms)
{
	struct timespec left = { .tv_sec = (time_t)(ms / 1000),
				 .tv_nsec = (long)(ms % 1000) * 1000000 };

	while (nanosleep(&left, &left) < 0 && errno == EINTR)
		;
}

void bench_absent(struct bench *bench, enum row_id id, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(bench->rows[id].absent, sizeof(bench->rows[id].absent), fmt, args);
	va_end(args);
}

/* ---- the command line ----------------------------------------------------------------------- */

static int parse_peers(const char *list, unsigned *ret, struct err *err)
{
	static const struct {
		const char *name;
		unsigned peers;
	} known[] = { { "all", PEER_ALL },     { "none", 0 },	      { "python", PEER_PYTHON },
		      { "bwrap", PEER_BWRAP }, { "crun", PEER_CRUN }, { "ipykernel", PEER_IPYKERNEL } };

	*ret = 0;
	for (const char *at = list; *at != '\0';) {
		const size_t len = strcspn(at, ",");
		size_t i = 0;

		while (i < ARRAY_LEN(known) && (strlen(known[i].name) != len ||
						strncmp(known[i].name, at, len) != 0))
			i++;
		if (i == ARRAY_LEN(known)) {
			(void)err_set(err, ERR_INVALID, "no peer \"%.*s\"", (int)len, at);
			return err_remedy(err, "all, none, or some of python,bwrap,crun,ipykernel");
		}
		*ret |= known[i].peers;
		at += len + (at[len] == ',');
	}
	return 0;
}

static int parse_runs(const char *text, unsigned *ret, struct err *err)
{
	char *end;
	const unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0' || value < 1 || value > 10000)
		return err_set(err, ERR_INVALID, "--runs %.40s: a number from 1 to 10000", text);
	*ret = (unsigned)value;
	return 0;
}

static const struct option options[] = {
	{ "json", no_argument, NULL, 'j' },	   { "quick", no_argument, NULL, 'q' },
	{ "runs", required_argument, NULL, 'n' },  { "peers", required_argument, NULL, 'p' },
	{ "install-peers", no_argument, NULL, 'i' }, { NULL, 0, NULL, 0 },
};

static int parse(struct bench *bench, int argc, char **argv, struct err *err)
{
	int opt;

	opterr = 0;
	bench->peers = PEER_ALL;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 'j':
			bench->is_json = true;
			break;
		case 'q':
			bench->is_quick = true;
			break;
		case 'i':
			bench->does_install = true;
			break;
		case 'n':
			if (parse_runs(optarg, &bench->runs, err) < 0)
				return (int)err->code;
			break;
		case 'p':
			if (parse_peers(optarg, &bench->peers, err) < 0)
				return (int)err->code;
			break;
		default:
			(void)err_set(err, ERR_INVALID, "bench: %.80s: not understood",
				      argv[optind - 1]);
			return err_remedy(err, "see reckon bench --help");
		}
	}
	if (optind < argc)
		return err_set(err, ERR_INVALID, "bench takes no operand (\"%.80s\")",
			       argv[optind]);
	if (bench->runs == 0)
		bench->runs = bench->is_quick ? 8 : 40;
	bench->sessions = bench->is_quick ? 200 : 1000;
	bench->rate_s = bench->is_quick ? 2 : 10;
	return 0;
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Finds the directories by libreckon's rules (reckon.h). */
static void find_dirs(struct bench *bench)
{
	const char *state = getenv("RECKON_STATE"), *templates = getenv("RECKON_TEMPLATES");
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (state != NULL && state[0] != '\0')
		(void)snprintf(bench->state_dir, sizeof(bench->state_dir), "%s", state);
	else if (geteuid() == 0)
		(void)snprintf(bench->state_dir, sizeof(bench->state_dir), "/var/lib/reckon");
	else if (xdg != NULL && xdg[0] != '\0')
		(void)snprintf(bench->state_dir, sizeof(bench->state_dir), "%s/reckon", xdg);
	else
		(void)snprintf(bench->state_dir, sizeof(bench->state_dir), "%s/.local/state/reckon",
			       home != NULL ? home : "");
	if (templates != NULL && templates[0] != '\0')
		(void)snprintf(bench->template_dir, sizeof(bench->template_dir), "%s", templates);
	else
		(void)snprintf(bench->template_dir, sizeof(bench->template_dir),
			       "%.3000s/templates", bench->state_dir);
	(void)snprintf(bench->tree, sizeof(bench->tree), "%s/data/tree", bench->template_dir);
}

/*
 * This program is in BUILD/libexec or PREFIX/libexec/reckon, and `reckon` in the bin beside
 * libexec.
 */
static int find_cli(struct bench *bench, struct err *err)
{
	static const char *const ways[] = { "../bin/reckon", "../../bin/reckon" };
	char self[2048];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	for (size_t i = 0; slash != NULL && i < ARRAY_LEN(ways); i++) {
		(void)snprintf(bench->cli, sizeof(bench->cli), "%.*s/%s", (int)(slash - self), self,
			       ways[i]);
		if (access(bench->cli, X_OK) == 0)
			return 0;
	}
	return err_set(err, ERR_NOT_FOUND, "the program `reckon` is not beside %s", self);
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	(void)remove(path);
	return 0;
}

static int make_work(struct bench *bench, struct err *err)
{
	char path[] = "/tmp/reckon-bench-XXXXXX";

	if (mkdtemp(path) == NULL)
		return err_sys(err, "make a temporary directory");
	(void)snprintf(bench->work, sizeof(bench->work), "%s", path);
	return 0;
}

static void bench_close(struct bench *bench)
{
	ours_close(bench);
	peer_close(bench);
	if (bench->work[0] != '\0')
		(void)nftw(bench->work, remove_entry, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	for (size_t i = 0; i < ROW_COUNT_; i++)
		samples_done(&bench->rows[i].samples);
}

/* ---- the run ---------------------------------------------------------------------------------- */

/*
 * Fast variants run several times per round and slow ones only in some rounds, to limit the total
 * time.
 */
static const struct variant {
	int (*run)(struct bench *bench, struct err *err);
	enum row_id row;
	unsigned repeat; /* runs per round */
	unsigned every;	 /* run in every N-th round */
} variants[] = {
	{ ours_fresh, ROW_FRESH, 2, 1 },
	{ peer_python, ROW_PYTHON, 1, 4 },
	{ ours_parked, ROW_PARKED, 2, 1 },
	{ peer_python_print, ROW_PYTHON_PRINT, 2, 1 },
	{ ours_cli, ROW_CLI, 2, 1 },
	{ peer_bwrap, ROW_BWRAP, 1, 4 },
	{ ours_branch, ROW_BRANCH, 2, 1 },
	{ peer_crun, ROW_CRUN, 1, 4 },
	{ ours_warm, ROW_WARM, 10, 1 },
	{ peer_jupyter_warm, ROW_JUPYTER_WARM, 10, 1 },
	{ ours_table, ROW_CAPTURE_TABLE, 2, 1 },
	{ peer_jupyter_table, ROW_JUPYTER_TABLE, 2, 1 },
	{ ours_figure, ROW_CAPTURE_FIGURE, 2, 1 },
	{ peer_jupyter_figure, ROW_JUPYTER_FIGURE, 2, 1 },
	{ peer_jupyter_cold, ROW_JUPYTER_COLD, 1, 8 },
};

static int run_round(struct bench *bench, unsigned round, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
		const struct variant *variant = &variants[i];

		if (bench->rows[variant->row].absent[0] != '\0' || round % variant->every != 0)
			continue;
		for (unsigned k = 0; k < variant->repeat; k++)
			if (variant->run(bench, err) < 0)
				return (int)err->code;
	}
	return 0;
}

static int run(struct bench *bench, struct err *err)
{
	uint64_t begun_ns;

	find_dirs(bench);
	if (find_cli(bench, err) < 0 || make_work(bench, err) < 0)
		return (int)err->code;
	if (bench->does_install && jupyter_install(bench, err) < 0)
		return (int)err->code;
	/* First, so that the child that measures inherits no open descriptors or sessions. */
	if (many_rate(bench, err) < 0 || ours_open(bench, err) < 0)
		return (int)err->code;
	peer_open(bench);
	bench_say(bench, "%u rounds", bench->runs);
	begun_ns = clock_mono_ns();
	for (unsigned round = 0; round < bench->runs; round++) {
		show_rounds(bench, round, begun_ns);
		if (run_round(bench, round, err) < 0)
			return (int)err->code;
	}
	show_rounds(bench, bench->runs, begun_ns);
	if (many_live(bench, err) < 0)
		return (int)err->code;
	return report_print(bench, err);
}

static void complain(const struct err *err)
{
	(void)fprintf(stderr, "reckon: %s%s%s%s\n", err->text, err->remedy[0] != '\0' ? " (" : "",
		      err->remedy, err->remedy[0] != '\0' ? ")" : "");
}

int main(int argc, char **argv)
{
	static struct bench bench;
	struct err err = { 0 };
	int code = parse(&bench, argc, argv, &err);

	if (code == 0) {
		code = run(&bench, &err);
		bench_close(&bench);
	}
	if (code == 0)
		return 0;
	complain(&err);
	return code == ERR_INVALID ? EXIT_USAGE : EXIT_RECKON;
}
