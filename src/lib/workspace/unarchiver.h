/*
 * unarchiver.h - starts a reckon-unarchiver for one archive, with a time limit, and exchanges
 * frames with it.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "wire/unarchiver.h"

struct unarchiver {
	pid_t pid;
	int sock;
	uint64_t deadline_ns;
	enum unarchiver_state state;
	char frame[UNARCHIVER_FRAME_MAX];
	struct unarchiver_frame taken;
};

/*
 * Starts one on `file` and waits until its sandbox is set up. `format` NULL: it reads an archive,
 * else it writes one. The caller frees *ret with unarchiver_free(), even if it does not respond any
 * more.
 */
int unarchiver_new(int file, const char *format, struct unarchiver **ret, struct err *err);
void unarchiver_free(struct unarchiver *unarchiver); /* kills it; NULL is fine */
void unarchiver_freep(struct unarchiver **unarchiver);
#define cleanup_unarchiver __attribute__((cleanup(unarchiver_freep)))

/*
 * Receives the next frame and checks it, into unarchiver->taken; a FAIL becomes *err. ERR_TIMEOUT:
 * it takes too long.
 */
int unarchiver_next(struct unarchiver *unarchiver, struct err *err);

/* For writing. `fd` (or -1) is sent with ADD. */
int unarchiver_add(struct unarchiver *unarchiver, const struct unarchiver_entry *entry,
		   const char *path, const char *target, int fd, struct err *err);
/* Ends the archive; the result is in unarchiver->taken.end. */
int unarchiver_finish(struct unarchiver *unarchiver, struct err *err);
