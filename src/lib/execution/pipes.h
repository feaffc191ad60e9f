/*
 * pipes.h - pipes to and from programs: exact draining, input, and pipes that outlive their cell.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* Makes two close-on-exec descriptors; ours is non-blocking. */
int pipe_new_from_box(int *ret_ours, int *ret_theirs, struct err *err);

/*
 * Passes on the `len` bytes that pipe_pending() reported, and no more: a program that writes as
 * fast as we read cannot hold us up. Returns 1 while the pipe has a writer, 0 at end of file.
 */
typedef void pipe_sink_fn(const char *bytes, size_t len, void *arg);
size_t pipe_pending(int fd);
int pipe_take(int fd, size_t len, pipe_sink_fn *sink, void *arg);
int pipe_drain(int fd, pipe_sink_fn *sink, void *arg); /* passes on the bytes that are pending
						        * now */

#define STRAYS_MAX 16

/* Read ends of finished executions that still have writers. */
struct stray_set {
	int fd[STRAYS_MAX];
	size_t count;
	uint64_t bytes; /* dropped since the last stray_take_bytes() */
};

/* Takes `fd`; if the set is full, closes the oldest pipe. */
void stray_add(struct stray_set *set, int fd);
void stray_drain(struct stray_set *set); /* reads and counts bytes; closes pipes that have ended */
uint64_t stray_take_bytes(struct stray_set *set);
void stray_done(struct stray_set *set);

/* A program's input: bytes from a caller's descriptor, as fast as the program reads. */
struct feed {
	int source; /* the caller's, or -1 once it has ended */
	int target; /* write end, or -1 when closed */
	int theirs; /* read end for the program; we keep it too, so that writing never raises
		     * SIGPIPE */
	int unarchiver;   /* the same end, reopened and non-blocking, see feed_read_line() */
	bool is_lent; /* the caller closes the descriptors */
	size_t len;
	size_t at;
	char bytes[16384];
};

/* source -1: an empty input. */
int feed_open(struct feed *feed, int source, struct err *err);
/* An empty input, too, with a `theirs` and an `unarchiver` that were opened earlier and stay the
 * caller's. */
void feed_lend(struct feed *feed, int theirs, int unarchiver);
void feed_close(struct feed *feed);
/* Fills in what to poll; returns the number of entries (0..2). */
size_t feed_poll(const struct feed *feed, struct pollfd *ret);
/*
 * Takes one line, without the newline, from the bytes that the program has not read yet; the
 * program may be reading at the same time. 1: a line, or the rest at the end of the input; 0: not
 * yet; ERR_NOT_FOUND: the input has ended.
 */
int feed_read_line(struct feed *feed, struct buf *line, struct err *err);
/* Moves as many bytes as possible without waiting; `polled` are feed_poll()'s `count` entries. */
void feed_move(struct feed *feed, const struct pollfd *polled, size_t count);
