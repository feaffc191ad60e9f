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
		{ 't',		 "template",                                                    \
		  "TEMPLATE",	 "runtime and packages (reckon template ls)",                   \
		  OPT_HINT_LIVE, OPT_LIVE_TEMPLATES,                                            \
		  false },                                                                      \
		{ 'm',                                                                          \
		  "mount",                                                                      \
		  "SRC[:DST][:ro|rw]",                                                          \
		  "show a directory at DST, else /mnt/<its name>",                              \
		  OPT_HINT_DIR,                                                                 \
		  NULL,                                                                         \
		  true },                                                                       \
		{ OPT_TIMEOUT,	 "timeout", "TIME", "limit of one cell (none)",                 \
		  OPT_HINT_NONE, NULL,	    false },                                            \
		RUN_OPTIONS_LIMITS,                                                             \
	{                                                                                       \
		OPT_STRICT, "strict", NULL, "refuse to run if an isolation wall is missing",    \
			OPT_HINT_NONE, NULL, false                                              \
	}

extern const struct opt_command jupyter_kernel_table, jupyter_install_table,
	jupyter_uninstall_table;

int jupyter_install(const struct opt_command *self, int argc, char **argv);
int jupyter_uninstall(const struct opt_command *self, int argc, char **argv);
