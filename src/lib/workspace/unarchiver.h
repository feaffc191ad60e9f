/*
 * unarchiver.h - a reckon-unarchiver at work: started for one archive, bounded in time, ended with it.
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
 * Starts one on `file` and waits until its fence is up. `format` NULL: it reads an archive, else
 * it writes one. *ret belongs to the caller: unarchiver_free(), also when it does not answer any more.
 */
int unarchiver_new(int file, const char *format, struct unarchiver **ret, struct err *err);
void unarchiver_free(struct unarchiver *unarchiver); /* kills it; NULL is fine */
void unarchiver_freep(struct unarchiver **unarchiver);
#define cleanup_unarchiver __attribute__((cleanup(unarchiver_freep)))

/* The next frame, judged, in peek->taken; a FAIL becomes *err. ERR_TIMEOUT when it takes too long. */
int unarchiver_next(struct unarchiver *unarchiver, struct err *err);

/* For packing. `fd` (or -1) goes along with ADD. */
int unarchiver_add(struct unarchiver *unarchiver, const struct unarchiver_entry *entry,
		   const char *path, const char *target, int fd, struct err *err);
/* The archive is complete: peek->taken.end. */
int unarchiver_finish(struct unarchiver *unarchiver, struct err *err);
