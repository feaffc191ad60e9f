/*
 * kernel.c - reckon jupyter kernel: its option table; executes reckon-jupyter.
 *
 * Runs in:  reckon, reckon-jupyter.
 * Reads:    the command line.
 * Never:    loads ZeroMQ.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/jupyter/jupyter.h"

static const struct opt_item kernel_items[] = {
	{ 'f', "connection", "FILE", "the connection file that a Jupyter client wrote",
	  OPT_HINT_FILE, NULL, false },
	JUPYTER_OPTIONS,
};

/* reckon-jupyter checks the values. */
static int run_kernel(const struct opt_command *self, int argc, char **argv)
{
	(void)argc;
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		opt_print_help(stdout, self);
		return EXIT_CODE_OK;
	}
	return cli_exec_libexec("reckon-jupyter", argv);
}

const struct opt_command jupyter_kernel_table = {
	.name = "jupyter kernel",
	.operands = "",
	.summary = "run as a Jupyter kernel (kernel.json names this command)",
	.items = kernel_items,
	.count = ARRAY_LEN(kernel_items),
	.run = run_kernel,
};
