/*
 * interrupt.h - Ctrl-C in commands that run cells: it is counted, and passed on to what runs. So is
 * the end of a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "reckon.h"

/* A reader that goes away is an error of write(), whatever else is done. */
void interrupt_ignore_pipes(void);

struct interrupt_options {
	bool ends_reads; /* a read at the terminal returns EINTR */
	bool exits;	 /* the third one does not wait for anything */
	void (*also)(int signo); /* told of each, in the handler; or NULL */
};

/* From here on SIGINT is counted instead of ending the program. */
void interrupt_catch(const struct interrupt_options *options);

/*
 * Interrupts what runs in `ms` (0: does not), and each second from then on until interrupt_settle().
 * That is not counted.
 */
void interrupt_after(uint64_t ms);
void interrupt_settle(void);
bool interrupt_is_late(void); /* it came to that since interrupt_after() */

int interrupt_count(void);
void interrupt_clear(void);

/*
 * Until a line can be read at the terminal; false: Ctrl-C, or the end. It may come at any moment,
 * so there is none between the look whether it came and the read.
 */
bool interrupt_wait_for_line(int tty);

/* While it is not NULL, it is interrupted. */
void interrupt_lend(reckon_session *session);
/* A descriptor that gets a byte for each, or -1. */
void interrupt_wake(int fd);
