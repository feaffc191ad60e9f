/*
 * pipes.h - pipes to and from programs: exact draining, input, and pipes that outlived their cell.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Two close-on-exec descriptors; ours is non-blocking. */
int pipe_new_from_box(int *ret_ours, int *ret_theirs, struct err *err);

/*
 * Hands over `len` bytes, which pipe_pending() said are there, and no more: a program that writes
 * as fast as we read cannot hold us. Returns 1 while somebody may still write, 0 at end of file.
 */
typedef void pipe_sink_fn(const char *bytes, size_t len, void *arg);
size_t pipe_pending(int fd);
int pipe_take(int fd, size_t len, pipe_sink_fn *sink, void *arg);
int pipe_drain(int fd, pipe_sink_fn *sink, void *arg); /* what is pending now */

#define STRAYS_MAX 16

/* Read ends of finished executions into which some process may still write. */
struct stray_set {
	int fd[STRAYS_MAX];
	size_t count;
	uint64_t bytes; /* dropped since stray_take_bytes() */
};

/* Takes `fd`; with all places in use the oldest pipe is closed. */
void stray_add(struct stray_set *set, int fd);
void stray_drain(struct stray_set *set); /* drops and counts; closes what has ended */
uint64_t stray_take_bytes(struct stray_set *set);
void stray_done(struct stray_set *set);

/* What a program reads: bytes from a caller's descriptor, as fast as the program takes them. */
struct feed {
	int source; /* the caller's, or -1 when it has ended */
	int target; /* write end, or -1 when closed */
	int theirs; /* read end for the program; ours too, so that writing never raises SIGPIPE */
	int unarchiver;   /* the same end opened anew and non-blocking, see feed_read_line() */
	bool is_lent; /* the descriptors are not ours to close */
	size_t len;
	size_t at;
	char bytes[16384];
};

/* source -1: an input that is at its end. */
int feed_open(struct feed *feed, int source, struct err *err);
/* An input at its end, too, with a `theirs` and a `peek` of before, which stay the caller's. */
void feed_lend(struct feed *feed, int theirs, int unarchiver);
void feed_close(struct feed *feed);
/* What to poll for; returns the number of entries written (0..2). */
size_t feed_poll(const struct feed *feed, struct pollfd *ret);
/*
 * Takes up to the end of a line from what the program has not read yet, without the newline; it
 * may be reading at the same time. 1: a line, or the rest at the end of the input; 0: not yet;
 * ERR_NOT_FOUND: the input is at its end.
 */
int feed_read_line(struct feed *feed, struct buf *line, struct err *err);
/* Moves what can be moved without waiting; `polled` are feed_poll()'s `count` entries. */
void feed_move(struct feed *feed, const struct pollfd *polled, size_t count);
