/*
 * twin.h - kernels and their twins.
 *
 * A twin T is a fork of a zygote, outside every box. It made the kernel K with clone(CLONE_VM), so
 * both share one memory, and stays stopped right behind that system call. A live session is copied
 * by making T fork: see twin_branch(). inside/zygote.c has the other half.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "box/cgroup/cgroup.h"
#include "box/mount/shell.h"
#include "box/twin/trace.h"

struct twin_kernel {
	pid_t twin;	 /* T, or the plain parent of a kernel without twin */
	pid_t kernel;	 /* K */
	int kernel_pidfd; /* readable once K has ended */
	int notify_fd;	 /* reports denied system calls */
	bool traced;	 /* T is a real twin */
	struct trace_code code; /* the file of the code in which T stands */
};

struct twin_spawn {
	pid_t zygote;
	int zygote_sock;
	bool traced; /* the zygote is traced by us: make a twin */
	const struct shell *shell;
	const struct cgroup_host *cgroups;
	struct cgroup_place place;
	int control_fd; /* the kernel's end; stays the caller's */
	bool no_speculation;
	struct trace_code *code; /* of all twins of this zygote; the first one fills it in */
};

/* A kernel begun ahead of need: T, stopped at its birth; and K, stopped at its own. */
struct twin_seed {
	pid_t twin;   /* 0: none */
	pid_t kernel; /* 0: not born yet */
	pid_t zygote; /* whose fork T is */
	int boot;     /* where K's first message will come */
};

int twin_prepare(const struct twin_spawn *how, struct twin_seed *ret, struct err *err);

/* Lets T do its part (it also copies pages that K will write to) and make K, which has run nothing
 * yet. No effect if nothing is traced. On failure the caller calls twin_drop(). */
int twin_advance(const struct twin_spawn *how, struct twin_seed *seed, struct err *err);

/* Completes the kernel. Takes the seed, also on failure. */
int twin_complete(const struct twin_spawn *how, struct twin_seed *seed, struct twin_kernel *ret,
		  struct err *err);

/* Ends a seed that is not needed. */
void twin_drop(struct twin_seed *seed);

/* Both in one: a fresh kernel in a box. On failure nothing of it is left running. */
int twin_spawn(const struct twin_spawn *how, struct twin_kernel *ret, struct err *err);

struct twin_branch {
	const struct twin_kernel *parent;
	const struct shell *parent_shell;
	const struct shell *shell; /* where the copy goes */
	const struct cgroup_host *cgroups;
	int control_fd; /* the copy's end of its control socket, in the warden */
	const void *filter; /* struct sock_filter array */
	unsigned short filter_len;
	/* Called while the parent's processes are stopped: copy what must be consistent. */
	int (*while_still)(void *arg, struct err *err);
	/* Called when the copy stands behind its walls, before it runs: add what it still lacks. */
	int (*before_start)(void *arg, const struct twin_kernel *made, struct err *err);
	void *arg;
	bool no_speculation;
};

/*
 * Copies a live kernel that waits for its next packet into another box. The parent is unchanged and
 * continues. ERR_INVALID if it is busy, ERR_DENIED if its memory was tampered with, ERR_UNAVAILABLE
 * without a twin.
 */
int twin_branch(const struct twin_branch *how, struct twin_kernel *ret, struct err *err);

/* Takes the twin out of the box's freezer: see struct cgroup_joins. */
int twin_leave_freezer(pid_t twin, const struct trace_regs *base, uint64_t digit, struct err *err);

/* Kills T (and K, should it still live); reaping is the warden's. */
void twin_kill(const struct twin_kernel *kernel);
void twin_done(struct twin_kernel *kernel); /* closes descriptors */
