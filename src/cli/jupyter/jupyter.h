/*
 * jupyter.h - the commands of reckon jupyter.
 *
 *   command.c  the option tables
 *   kernel.c   kernel: executes libexec/reckon-jupyter, the only program that loads ZeroMQ
 *   spec.c     install, uninstall: kernel.json where Jupyter finds it
 *   main.c     reckon-jupyter
 */
#pragma once

#include "cli/options/opt.h"
#include "cli/run/options.h"

enum { JUPYTER_OPT_NAME = OPT_LONG + 600, JUPYTER_OPT_DISPLAY, JUPYTER_OPT_PREFIX };

/* Options of a kernel's session; install writes them into kernel.json. */
#define JUPYTER_OPTIONS                                                                         \
	{ 'l', "language", "LANGUAGE", language_help, OPT_HINT_CHOICE, language_words, false }, \
		RUN_OPTION_TEMPLATE, RUN_OPTION_MOUNT,                                          \
		{ OPT_TIMEOUT,	 "timeout", "TIME", "limit of one cell (none)",                 \
		  OPT_HINT_NONE, NULL,	    false },                                            \
		RUN_OPTIONS_LIMITS, RUN_OPTION_STRICT

extern const struct opt_command jupyter_kernel_table, jupyter_install_table,
	jupyter_uninstall_table;

int jupyter_install(const struct opt_command *self, int argc, char **argv);
int jupyter_uninstall(const struct opt_command *self, int argc, char **argv);
