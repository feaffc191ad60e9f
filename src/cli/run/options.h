/*
 * options.h - options that `reckon run` and `reckon repl` share, with their ids.
 */
#pragma once

#include "cli/options/opt.h"
#include "languages/languages.h"

enum {
	OPT_STDIN = OPT_LONG,
	OPT_TIMEOUT,
	OPT_CPU_TIME,
	OPT_MEMORY,
	OPT_CPUS,
	OPT_PIDS,
	OPT_ISOLATE_CPU,
	OPT_DISK,
	OPT_MAX_OUTPUT,
	OPT_MAX_TEXT,
	OPT_ENV,
	OPT_JSON,
	OPT_EVENTS,
	OPT_RECEIPT,
	OPT_KEEP_GOING,
	OPT_STRICT,
	OPT_PRIVATE,
	OPT_IMAGES,
	OPT_NO_HISTORY,
	OPT_URL,
	OPT_KEY,
	OPT_NO_WAIT,
	OPT_ON_DISCONNECT,
	OPT_TOOLS,
	OPT_APPROVE,
	OPT_IDLE,
	OPT_IMAGE,
	OPT_NETWORK,
	OPT_ENTRY,
	OPT_SNAPSHOT,
};

/* Single rows for option tables. */
#define RUN_OPTION_TEMPLATE                                                               \
	{                                                                                 \
		't', "template", "TEMPLATE", "runtime and packages (reckon template ls)", \
			OPT_HINT_LIVE, OPT_LIVE_TEMPLATES, false                          \
	}
#define RUN_OPTION_MOUNT                                                                          \
	{                                                                                         \
		'm', "mount", "SRC[:DST][:ro|rw]",                                                \
			"show a directory at DST, else /mnt/<its name>", OPT_HINT_DIR, NULL, true \
	}
#define RUN_OPTION_STRICT                                                                    \
	{                                                                                    \
		OPT_STRICT, "strict", NULL, "refuse to run if an isolation wall is missing", \
			OPT_HINT_NONE, NULL, false                                           \
	}

/* Rows for option tables; run_options_take() handles all of them. */
#define RUN_OPTIONS_WHERE                                                                       \
	{ 'l', "language", "LANGUAGE", language_help, OPT_HINT_CHOICE, language_words, false }, \
		RUN_OPTION_TEMPLATE,                                                            \
		{ 'f',		 "file", "FILE[:NAME]", "put a file into the workspace",        \
		  OPT_HINT_FILE, NULL,	 true },                                                \
		RUN_OPTION_MOUNT,                                                               \
	{                                                                                       \
		'o', "output", "OUTDIR", "save displays and changed files here", OPT_HINT_DIR,  \
			NULL, false                                                             \
	}

/* How a session at a daemon begins. `rare` keeps a long --help on one screen. */
#define RUN_OPTIONS_STORAGE(rare)                                                              \
	{ 'v',                                                                                 \
	  "volume",                                                                            \
	  "VOLUME[:PATH][:ro]",                                                                \
	  "mount a volume at PATH, else /mnt/<its name>",                                      \
	  OPT_HINT_LIVE,                                                                       \
	  OPT_LIVE_VOLUMES,                                                                    \
	  true,                                                                                \
	  rare },                                                                              \
	{                                                                                      \
		OPT_SNAPSHOT, "snapshot", "SNAPSHOT", "start with the files of this snapshot", \
			OPT_HINT_LIVE, OPT_LIVE_SNAPSHOTS, false, rare                         \
	}

#define RUN_OPTIONS_LIMITS                                                                            \
	{ OPT_CPU_TIME,	 "cpu-time", "TIME", "CPU time of one cell (no limit)",                       \
	  OPT_HINT_NONE, NULL,	     false },                                                         \
		{ OPT_MEMORY,	 "memory", "SIZE", "memory limit of the session (1G)",                \
		  OPT_HINT_NONE, NULL,	   false },                                                   \
		{ OPT_CPUS,	 "cpus", "N",  "limit of processors, such as 0.5 (no limit)",         \
		  OPT_HINT_NONE, NULL,	 false },                                                     \
		{ OPT_PIDS, "pids", "N", "processes and threads (128)", OPT_HINT_NONE, NULL, false }, \
		{ OPT_ISOLATE_CPU, "isolate-cpu",                                                     \
		  "LIST",	   "core,speculation: against side channels (none)",                  \
		  OPT_HINT_CHOICE, "core speculation core,speculation",                               \
		  false,	   true },                                                            \
		{ OPT_DISK,	 "disk", "SIZE", "workspace of the session (1G)",                     \
		  OPT_HINT_NONE, NULL,	 false },                                                     \
		{ OPT_MAX_OUTPUT, "max-output", "SIZE", "kept of stdout and of stderr (1M)",          \
		  OPT_HINT_NONE,  NULL,		false },                                              \
	{                                                                                             \
		OPT_ENV, "env", "K=V", "set a variable of the environment", OPT_HINT_NONE, NULL,      \
			true                                                                          \
	}
