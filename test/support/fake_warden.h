/*
 * fake_warden.h - a warden and kernels without walls, for tests of libreckon.
 *
 * A forked process answers wire/warden.h on a socket pair; each session's kernel is a fork of it
 * that speaks wire/kernel.h and runs a cell as a list of commands, one per line:
 *
 *   out TEXT | err TEXT | raw HEX      print (a newline is added, not to raw)
 *   flood N                            N bytes of numbered lines to stdout
 *   sync                               a SYNC exchange
 *   result TEXT | display ID TEXT | update ID TEXT | clear | note TEXT
 *   error NAME VALUE                   an ERROR packet
 *   input | readall                    request a line, read stdin to its end; print the input
 *   file PATH TEXT                     write a file of the workspace
 *   sleep | deaf | spin                until interrupted; for ever; printing without end
 *   stray TEXT                         a child that outlives the cell and prints it repeatedly
 *   exit N | kill N | hangup           exit; end by a signal; close the socket but live on
 *   done STATUS                        end of the cell ("ok" by itself)
 *   violate WHAT                       see fake_kernel.c
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/warden.h"

struct fake_config {
	uint16_t version;	    /* 0: WARDEN_VERSION */
	size_t reply_len;	    /* length of all replies; 0: the correct length */
	bool ends_are_oom;	    /* a kernel's death is reported as out of memory */
	bool dies_at_begin;	    /* the warden exits when it gets BEGIN */
	bool kernel_never_ready;    /* the kernel exits with status 7 before READY */
	bool restarts_fail;	    /* the box is gone when a new kernel is requested */
	bool kernel_wrong_first;    /* its first packet is not READY */
	uint64_t cpu_ns_per_usage;  /* added to the CPU time with each USAGE */
	struct warden_usage usage;  /* the other values that USAGE returns */
};

struct fake_warden {
	pid_t pid;
	int client_fd; /* owned by the engine */
};

void fake_warden_start(struct fake_warden *fake, const struct fake_config *config);
/* Closes the test's end of the socket, which ends the warden, and waits for it. */
void fake_warden_stop(struct fake_warden *fake);

/* Runs a kernel on `sock`; its workspace is the current directory. */
void fake_kernel_main(int sock, const struct fake_config *config, bool is_branch)
	__attribute__((noreturn));
