/*
 * questions.h - what the code of one execution asks and waits for; part of run.h.
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
	struct reckon_answers *answers; /* NULL: nobody answers */
	uint64_t wait_ns;   /* that may be waited for in all */
	uint64_t waited_ns; /* of that, before the wait that is under way */
	uint64_t since_ns;  /* when that began; 0: nothing is waited for */
	bool asks_input;
	int sock; /* calls of tools arrive here; -1: there are none */
	char *packet; /* the one that is being read */
	struct open_call {
		uint64_t number;
		int fd; /* for its answer */
	} open[ANSWERS_CALLS_MAX];
	size_t open_count;
	uint64_t calls;	  /* that were told */
	uint64_t packets; /* that came */
};

void questions_init(struct run *run);
void questions_done(struct run *run);
/* Tells the kernel of its tools, when there are any; before EXECUTE. */
int questions_begin(struct run *run, struct err *err);
size_t questions_poll(const struct run *run, struct pollfd *ret); /* at most 2 */
#define QUESTIONS_POLL_MAX 2
/* An INPUT_REQUEST, to be told as event `seq`; false: nobody is to answer it. */
bool questions_ask_input(struct run *run, uint64_t seq);
/* Calls that came, answers that are there, waits that are over. */
void questions_turn(struct run *run);
/* How long the program has waited for answers: the time limit does not count that. */
uint64_t questions_waited_ns(const struct run *run, uint64_t now_ns);
/* When the wait that is under way is over; UINT64_MAX: there is none. */
uint64_t questions_next_ns(const struct run *run);
