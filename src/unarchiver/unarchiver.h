/*
 * unarchiver.h - what the files of reckon-unarchiver share.
 *
 *   main.c    start, fence, one job
 *   unpack.c  an archive as entries
 *   pack.c    files as an archive
 *   fence.c   what it may still do
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "wire/unarchiver.h"

/* Puts the fence up. `writes`: it may write to files that are open. */
int unarchiver_fence(int writes, struct err *err);

/* One frame; the process ends when nobody is there to take it. */
void send_frame(const void *frame, size_t len);
/* FAIL, and the end of the process. */
void fail(enum err_code code, const char *fmt, ...)
	__attribute__((noreturn, format(printf, 2, 3)));

void unpack(void);
void pack(const char *format);
