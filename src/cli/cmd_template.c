/*
 * cmd_template.c - reckon template, model and bench: handed to the programs in libexec.
 *
 * Runs in:  reckon.
 * Reads:    the command line, only for --help.
 * Never:    checks arguments; the programs check their own. They inherit our environment, with
 *           RECKON_TEMPLATES and RECKON_STATE.
 */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"

static int hand_over(const struct opt_command *self, const char *program, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			opt_print_help(stdout, self);
			return EXIT_CODE_OK;
		}
	}
	return cli_exec_libexec(program, argv);
}

static int run_template(const struct opt_command *self, int argc, char **argv)
{
	struct err err;

	if (argc < 2) {
		err_set(&err, ERR_INVALID, "template: missing subcommand");
		err_remedy(&err,
			   "ls, build NAME, add NAME, verify NAME or rm NAME; see reckon help "
			   "template");
		return cli_complain(&err);
	}
	return hand_over(self, "reckon-template", argc, argv);
}

static int run_bench(const struct opt_command *self, int argc, char **argv)
{
	return hand_over(self, "reckon-bench", argc, argv);
}

enum {
	OPT_REQUIREMENTS = OPT_LONG,
	OPT_LOCK,
	OPT_FROM,
	OPT_PRELOAD,
	OPT_ENV,
	OPT_MEMORY,
	OPT_FORCE,
	OPT_INDEX_URL,
	OPT_FIND_LINKS,
	OPT_OFFLINE,
};

static const struct opt_item template_items[] = {
	{ OPT_REQUIREMENTS, "requirements", "FILE", "packages to install, as for pip (add)",
	  OPT_HINT_FILE, NULL, false },
	{ OPT_LOCK, "lock", NULL, "pin what a FILE without hashes asks for (add)", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_FROM, "from", "TEMPLATE", "begin with what it has (add)", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_PRELOAD, "preload", "M,...", "modules imported before the first cell (add)",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_ENV, "env", "K=V", "environment variable of its kernels (add)", OPT_HINT_NONE, NULL,
	  true },
	{ OPT_MEMORY, "memory", "SIZE", "default memory limit (add)", OPT_HINT_NONE, NULL, false },
	{ 'q', "quiet", NULL, "print only names, one per line (ls)", OPT_HINT_NONE, NULL, false },
	{ OPT_FORCE, "force", NULL, "build all the same (build), replace (add)", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_INDEX_URL, "index-url", "URL", "package index to use (build, add)", OPT_HINT_NONE,
	  NULL, false },
	{ OPT_FIND_LINKS, "find-links", "DIR", "directory of wheels (build, add)", OPT_HINT_FILE,
	  NULL, true },
	{ OPT_OFFLINE, "offline", NULL, "install from these directories only (build, add)",
	  OPT_HINT_NONE, NULL, false },
};

const struct opt_command cmd_template_table = {
	.name = "template",
	.operands = "ls | build | add | verify | rm [NAME]...",
	.summary = "list, build, add or remove runtimes with their packages",
	.notes = "\n"
		 "  reckon template build data\n"
		 "  reckon template add geo --requirements geo.txt --lock --preload geopandas\n"
		 "\n"
		 "Templates are stored in $RECKON_TEMPLATES, or below the state directory.",
	.items = template_items,
	.count = sizeof(template_items) / sizeof(template_items[0]),
	.operand_hint = OPT_HINT_CHOICE,
	.operand_choices = "ls build add verify rm",
	.run = run_template,
};

static int run_model(const struct opt_command *self, int argc, char **argv)
{
	struct err err;

	if (argc < 2) {
		err_set(&err, ERR_INVALID, "model: missing subcommand");
		err_remedy(&err, "ls, install or rm NAME; see reckon help model");
		return cli_complain(&err);
	}
	return hand_over(self, "reckon-model", argc, argv);
}

static const struct opt_item model_items[] = {
	{ OPT_INDEX_URL, "index-url", "URL", "package index to use (install)", OPT_HINT_NONE, NULL,
	  false },
	{ OPT_FIND_LINKS, "find-links", "DIR", "directory of wheels (install)", OPT_HINT_DIR, NULL,
	  true },
	{ OPT_FORCE, "force", NULL, "install even if it is installed", OPT_HINT_NONE, NULL, false },
};

const struct opt_command cmd_model_table = {
	.name = "model",
	.is_minor = true,
	.operands = "ls | install [FILE.gguf [NAME]] | rm NAME",
	.summary = "install, list or remove local models for reckon ask",
	.notes = "\n"
		 "install without FILE sets up smollm2, a model of 135 million parameters for\n"
		 "trying things out; see docs/agent.md.",
	.items = model_items,
	.count = sizeof(model_items) / sizeof(model_items[0]),
	.operand_hint = OPT_HINT_CHOICE,
	.operand_choices = "ls install rm",
	.run = run_model,
};

enum { OPT_JSON = OPT_LONG, OPT_QUICK, OPT_RUNS, OPT_PEERS, OPT_INSTALL_PEERS };

static const struct opt_item bench_items[] = {
	{ OPT_JSON, "json", NULL, "one JSON object instead of a table",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_QUICK, "quick", NULL, "fewer runs, and 200 sessions",
	  OPT_HINT_NONE, NULL, false },
	{ OPT_RUNS, "runs", "N", "rounds", OPT_HINT_NONE, NULL, false },
	{ OPT_PEERS, "peers", "LIST", "all, none, python,bwrap,crun,ipykernel",
	  OPT_HINT_CHOICE, "all none python bwrap crun ipykernel", false },
	{ OPT_INSTALL_PEERS, "install-peers", NULL,
	  "first install ipykernel, with pip", OPT_HINT_NONE, NULL, false },
};

const struct opt_command cmd_bench_table = {
	.name = "bench",
	.is_minor = true,
	.operands = "",
	.summary = "measure this host: cold and warm start, cells, memory",
	.notes = "\n"
		 "Measures Reckon, plain Python, bubblewrap, crun and a Jupyter kernel in turns,\n"
		 "in one run: see docs/benchmarks.md.",
	.items = bench_items,
	.count = sizeof(bench_items) / sizeof(bench_items[0]),
	.run = run_bench,
};
