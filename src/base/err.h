/*
 * err.h - the one error type.
 *
 * Holds no pointers, so that a child process can write it to a pipe as it is
 * (box/spawn reports its failures this way). A function that can fail returns
 * a negative `enum err_code`, otherwise 0, a count or a descriptor; its last
 * parameter is a `struct err *`, never NULL inside src/.
 */
#pragma once

#include <limits.h>

enum err_code {
	ERR_OK = 0,
	ERR_INVALID = -1,     /* the caller's input is wrong                */
	ERR_NOT_FOUND = -2,   /* a named thing does not exist               */
	ERR_DENIED = -3,      /* policy or the kernel refused               */
	ERR_LIMIT = -4,	      /* a configured bound was reached             */
	ERR_TIMEOUT = -5,     /* no answer in time                          */
	ERR_SYSTEM = -6,      /* a system call failed, see errnum           */
	ERR_PROTOCOL = -7,    /* a peer broke the wire protocol             */
	ERR_LOST = -8,	      /* a session or kernel that existed is gone */
	ERR_UNAVAILABLE = -9, /* this host lacks an isolation wall or a facility */
	ERR_KERNEL_LOST = -10, /* the session exists, but its kernel is gone */
};

#define ERR_CODE_COUNT 11

/* `text` says what failed and why, `remedy` (may be empty) what to do about it. */
struct err {
	enum err_code code;
	int errnum;
	char text[320];
	char remedy[176];
};

_Static_assert(sizeof(struct err) <= 512,
	       "an error must fit an atomic pipe write (POSIX PIPE_BUF)");

/* Clears *err to success. */
void err_clear(struct err *err);

/* Sets code and text, clears the remedy; returns `code`. */
int err_set(struct err *err, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* As err_set with ERR_SYSTEM; appends strerror(errno). The only reader of errno for messages. */
int err_sys(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Puts "context: " before the existing text; returns the existing code. */
int err_wrap(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets the remedy; returns the existing code. */
int err_remedy(struct err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Stable lower-case name for JSON and logs, for example "not_found". Never NULL. */
const char *err_code_name(enum err_code code);
