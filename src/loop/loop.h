/*
 * loop.h - one thread's event loop: descriptors, timers, signals. libevent_core behind it.
 *
 * A callback may free any watch or timer, even its own: the loop never calls a freed one again.
 * Handles are not thread-safe; another thread wakes a loop through a descriptor.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct loop;
struct loop_io;
struct loop_timer;

#define LOOP_READ 1u
#define LOOP_WRITE 2u

typedef void loop_io_fn(unsigned ready, void *arg);
typedef void loop_fn(void *arg);

int loop_new(struct loop **ret, struct err *err);
void loop_free(struct loop *loop); /* after freeing all its watches and timers; NULL is fine */

/* Runs until loop_stop(), or until nothing is watched any more. */
int loop_run(struct loop *loop, struct err *err);
void loop_stop(struct loop *loop);

/* The caller keeps `fd` open longer than the watch, which starts without interest. */
int loop_io_new(struct loop *loop, int fd, loop_io_fn *fn, void *arg, struct loop_io **ret,
		struct err *err);
void loop_io_want(struct loop_io *io, unsigned interest); /* LOOP_READ | LOOP_WRITE, or 0 */
void loop_io_free(struct loop_io *io);			  /* NULL is fine */

/* Starts stopped; fires once for each loop_timer_set(). */
int loop_timer_new(struct loop *loop, loop_fn *fn, void *arg, struct loop_timer **ret,
		   struct err *err);
void loop_timer_set(struct loop_timer *timer, uint64_t ms); /* from now; replaces an earlier one */
void loop_timer_clear(struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer); /* NULL is fine */

/* Calls fn in the loop whenever the signal arrives, until the loop is freed. */
int loop_signal(struct loop *loop, int sig, loop_fn *fn, void *arg, struct err *err);
