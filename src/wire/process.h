/*
 * process.h - how a program is started in a box: the client's order, and the warden's plan for the
 * launcher.
 *
 * The client writes the program's arguments into a sealed memory file. The warden passes it on
 * unread; the launcher (inside/launch.c) reads it behind the box's walls, where a forged order can
 * do no more than the program itself. The file holds
 *   struct process_order
 *   the working directory, the arguments, then the variables ("NAME=value"), each with its NUL
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

#define PROCESS_ORDER_MAGIC 0x31504b52u /* "RKP1" */
#define PROCESS_ORDER_MAX (1u << 20)	/* of the whole file */
#define PROCESS_STRINGS_MAX 8192u	/* arguments and variables */

struct process_order {
	uint32_t magic;
	uint32_t argument_count; /* at least 1 */
	uint32_t variable_count;
	uint32_t text_bytes; /* all strings with their NULs: the rest of the file */
};

/*
 * The warden starts the launcher with this socket (SOCK_SEQPACKET) as its only descriptor except
 * /dev/null, and sends one struct launch_plan with descriptors in this order: the pidfd of the
 * box's pid 1, the system call filter, the order; a Landlock ruleset if has_landlock; stdio_count
 * of standard input, output and error; join_count `tasks` files of the cgroups to join.
 *
 * The launcher's arguments are the variables that every program of the template has.
 *
 * The new process answers with a struct launch_report: LAUNCH_READY when its walls are up, with the
 * filter's listener and, for a terminal, the terminal's master side. It waits for one byte from the
 * warden and executes the program, which closes the socket. LAUNCH_FAILED may come at any time and
 * is the last report.
 */
#define LAUNCH_FD 3
#define LAUNCH_JOINS_MAX 5
#define LAUNCH_FDS_MAX (3 + 1 + 3 + LAUNCH_JOINS_MAX)

struct launch_plan {
	uint32_t has_landlock;
	uint32_t no_speculation;
	uint32_t stdio_count; /* 0: the launcher creates a terminal; else 3 */
	uint32_t join_count;
	uint16_t rows, columns; /* of the terminal */
};

enum launch_kind { LAUNCH_READY = 1, LAUNCH_FAILED = 2 };

struct launch_report {
	uint32_t kind;
	struct err err;
};
