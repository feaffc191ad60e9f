/*
 * sys.h - system calls that glibc 2.36 has no wrapper for, and their newer constants.
 *
 * Numbers come from <asm/unistd.h>; a call that the running Linux lacks fails with ENOSYS and is
 * reported by walls/probe.c.
 */
#pragma once

#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline pid_t sys_clone3(struct clone_args *args)
{
	return (pid_t)syscall(SYS_clone3, args, sizeof(*args));
}

static inline int sys_pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static inline int sys_pidfd_getfd(int pidfd, int fd)
{
	return (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
}

static inline int sys_pidfd_signal(int pidfd, int sig)
{
	return (int)syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
}

/* struct landlock_ruleset_attr of Linux 6.12; an older one accepts it if what it does not know is
 * 0. */
struct sys_landlock_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};

#define SYS_LANDLOCK_SCOPE_ABSTRACT_UNIX 1u
#define SYS_LANDLOCK_SCOPE_SIGNAL 2u

static inline int sys_landlock_create(const struct sys_landlock_attr *attr, size_t size,
				      uint32_t flags)
{
	return (int)syscall(SYS_landlock_create_ruleset, attr, size, flags);
}

static inline int sys_landlock_allow(int ruleset, const struct landlock_path_beneath_attr *attr)
{
	return (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, attr, 0);
}
