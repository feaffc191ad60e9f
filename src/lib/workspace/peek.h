/*
 * peek.h - a reckon-peek at work: started for one archive, bounded in time, ended with it.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "wire/peek.h"

struct peek {
	pid_t pid;
	int sock;
	uint64_t deadline_ns;
	enum peek_state state;
	char frame[PEEK_FRAME_MAX];
	struct peek_frame taken;
};

/*
 * Starts one on `file` and waits until its fence is up. `format` NULL: it reads an archive, else
 * it writes one. *ret belongs to the caller: peek_free(), also when it does not answer any more.
 */
int peek_new(int file, const char *format, struct peek **ret, struct err *err);
void peek_free(struct peek *peek); /* kills it; NULL is fine */
void peek_freep(struct peek **peek);
#define cleanup_peek __attribute__((cleanup(peek_freep)))

/* The next frame, judged, in peek->taken; a FAIL becomes *err. ERR_TIMEOUT when it takes too long. */
int peek_next(struct peek *peek, struct err *err);

/* For packing. `fd` (or -1) goes along with ADD. */
int peek_add(struct peek *peek, const struct peek_entry *entry, const char *path,
	     const char *target, int fd, struct err *err);
/* The archive is complete: peek->taken.end. */
int peek_finish(struct peek *peek, struct err *err);
