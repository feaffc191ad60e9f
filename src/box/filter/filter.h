/*
 * filter.h - the system call filter of a kernel.
 *
 * An allow-list compiled into a range tree (Linux runs a filter once per system call number when it
 * is loaded, so depth is start-up time), with argument filters behind the numbers that need them.
 * Unknown numbers get ENOSYS so that libraries fall back; a foreign architecture or ABI is killed;
 * what is known to be dangerous is reported to the warden, which counts it and answers EPERM
 * (SECCOMP_RET_USER_NOTIF), so that the author of the code can be told.
 */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#include "base/err.h"

#define FILTER_INSNS_MAX 2048

struct filter_program {
	struct sock_filter insn[FILTER_INSNS_MAX];
	unsigned short len;
};

/* Compiles the filter for this machine's architecture. Pure but for name look-ups. */
int filter_compile(struct filter_program *ret, struct err *err);

/* Name of a system call of this architecture, or "syscall_<nr>". */
void filter_name(int nr, char *ret_name, size_t size);
