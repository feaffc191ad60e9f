/*
 * unarchiver.h - what the files of reckon-unarchiver share.
 *
 *   main.c    start, fence, one job
 *   unpack.c  an archive as entries
 *   pack.c    files as an archive
 *   fence.c   its system calls and limits
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "wire/unarchiver.h"

/* Applies the fence. `writes`: the process may write to open files. */
int unarchiver_fence(int writes, struct err *err);

/* Sends one frame; exits if the receiver is gone. */
void send_frame(const void *frame, size_t len);
/* Sends FAIL and exits. */
void fail(enum err_code code, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

void unpack(void);
void pack(const char *format);
