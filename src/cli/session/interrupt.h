/*
 * interrupt.h - interrupts the running cell after Ctrl-C, which it counts, or after a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reckon.h"

/* Makes a closed pipe an error of write() instead of a signal that ends the program. */
void interrupt_ignore_pipes(void);

struct interrupt_options {
	bool ends_reads; /* a read at the terminal returns EINTR */
	bool exits;	 /* the third Ctrl-C exits at once */
	void (*also)(int signo); /* called in the handler for each SIGINT; or NULL */
};

/* From now on SIGINT is counted instead of ending the program. */
void interrupt_catch(const struct interrupt_options *options);

/*
 * Interrupts the running cell after `ms` milliseconds (0: never), then each second until
 * interrupt_settle(). interrupt_count() does not count these.
 */
void interrupt_after(uint64_t ms);
void interrupt_settle(void);
bool interrupt_is_late(void); /* whether that time has passed since interrupt_after() */

int interrupt_count(void);
void interrupt_clear(void);

/*
 * Waits until the terminal has a line. False: Ctrl-C, or an error. Blocks SIGINT outside ppoll(),
 * so that no Ctrl-C is missed between the check and the wait.
 */
bool interrupt_wait_for_line(int tty);

/* The session that Ctrl-C interrupts, or NULL. */
void interrupt_lend(reckon_session *session);
/* The descriptor that gets a byte for each interrupt, or -1. */
void interrupt_wake(int fd);
