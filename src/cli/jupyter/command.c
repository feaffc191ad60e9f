/*
 * command.c - reckon jupyter: the option tables of its commands.
 *
 * Runs in:  reckon, reckon-jupyter.
 * Reads:    the command line.
 * Never:    loads ZeroMQ.
 */
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/jupyter/jupyter.h"

static const struct opt_item install_items[] = {
	{ JUPYTER_OPT_NAME, "name", "NAME", "name of the kernelspec (reckon-LANGUAGE)",
	  OPT_HINT_NONE, NULL, false },
	{ JUPYTER_OPT_DISPLAY, "display-name", "TEXT", "what people see (LANGUAGE (Reckon))",
	  OPT_HINT_NONE, NULL, false },
	{ JUPYTER_OPT_PREFIX, "prefix", "DIR", "DIR/share/jupyter, not yours alone", OPT_HINT_DIR,
	  NULL, false },
	JUPYTER_OPTIONS,
};

static const struct opt_item uninstall_items[] = {
	{ JUPYTER_OPT_PREFIX, "prefix", "DIR", "DIR/share/jupyter, not yours alone", OPT_HINT_DIR,
	  NULL, false },
};

const struct opt_command jupyter_install_table = {
	.name = "jupyter install",
	.operands = "",
	.summary = "install a Jupyter kernel that runs in a Reckon session",
	.notes =
		"\n"
		"  reckon jupyter install -t data --memory 4G -m .:/mnt/work:rw\n"
		"\n"
		"The options of the session are written into kernel.json; \".\" in a mount is the\n"
		"folder of the notebook.",
	.items = install_items,
	.count = ARRAY_LEN(install_items),
	.run = jupyter_install,
};

const struct opt_command jupyter_uninstall_table = {
	.name = "jupyter uninstall",
	.operands = "NAME",
	.summary = "remove that Jupyter kernel",
	.items = uninstall_items,
	.count = ARRAY_LEN(uninstall_items),
	.run = jupyter_uninstall,
};

static const struct opt_command *const subs[] = {
	&jupyter_install_table, &jupyter_uninstall_table, &jupyter_kernel_table, NULL,
};

const struct opt_command cmd_jupyter_table = {
	.name = "jupyter",
	.operands = "COMMAND",
	.summary = "use Reckon as a kernel of JupyterLab, nbclient or papermill",
	.subs = subs,
	.is_minor = true,
	.run = cli_run_sub,
};
