/*
 * questions.h - the open questions of one execution's code; part of run.h.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "lib/execution/answers.h"

struct run;

struct questions {
	struct reckon_answers *answers; /* NULL: no answers are possible */
	uint64_t wait_ns;   /* total time that the code may wait */
	uint64_t waited_ns; /* time waited so far, without the current wait */
	uint64_t since_ns;  /* when the current wait began; 0: nothing waits */
	bool asks_input;
	int sock; /* receives tool calls; -1: there are no tools */
	char *packet; /* the packet that is being read */
	struct open_call {
		uint64_t number;
		int fd; /* for its answer */
	} open[ANSWERS_CALLS_MAX];
	size_t open_count;
	uint64_t calls;	  /* calls that were sent to the caller */
	uint64_t packets; /* packets received */
};

void questions_init(struct run *run);
void questions_done(struct run *run);
/* Tells the kernel its tools, if any; call it before EXECUTE. */
int questions_begin(struct run *run, struct err *err);
size_t questions_poll(const struct run *run, struct pollfd *ret); /* at most 2 */
#define QUESTIONS_POLL_MAX 2
/* Registers an INPUT_REQUEST that is sent as event `seq`; false: there is no mailbox for
 * answers. */
bool questions_ask_input(struct run *run, uint64_t seq);
/* Handles new calls, new answers and waits that have ended. */
void questions_turn(struct run *run);
/* How long the program has waited for answers: the time limit excludes this. */
uint64_t questions_waited_ns(const struct run *run, uint64_t now_ns);
/* When the current wait times out; UINT64_MAX: nothing waits. */
uint64_t questions_next_ns(const struct run *run);
