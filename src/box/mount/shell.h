/*
 * shell.h - a prepared box without a kernel: reckon-init, seven namespaces, mounts, a cgroup.
 *
 * Theory of operation. The warden clones a child into fresh pid, ipc, uts and (unless one can be
 * recycled) network namespaces. The child copies the mount namespace of the template's root, adds
 * the session's own mounts, and makes the user namespace last, so that every other namespace
 * belongs to the outer one and no capability inside the box governs it. The warden maps one uid;
 * the child forbids further user namespaces, becomes that uid and executes reckon-init. A failure
 * comes back as one struct err; end of file means the exec succeeded.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "box/cgroup/cgroup.h"
#include "box/mount/mount.h"

struct shell {
	bool used;
	char name[40];	   /* of its cgroup; "GROUP/…" once it is in one */
	unsigned slot;	   /* index among the warden's boxes; selects the uid */
	pid_t init;
	int init_pidfd;
	int netns_fd;
	int landlock_fd;   /* ruleset for kernels of this box, or -1 */
	uid_t uid;	   /* the box's uid as the warden sees it */
	uid_t host_uid;	   /* … as the host sees it */
	gid_t gid;
	gid_t host_gid;
	bool has_guests; /* a socket of its network namespace was handed out: do not recycle that */
	struct mount_quota quota;
};

struct shell_plan {
	const struct cgroup_host *cgroups;
	int root_ns_fd;	   /* mount namespace of the template's root */
	int netns_fd;	   /* to recycle, or -1; becomes the shell's */
	int sysctl_dir;	   /* /proc/sys/user to use, or -1 for that of the template's root */
	unsigned slot;
	uid_t uid, host_uid;
	gid_t gid, host_gid;
	struct mount_quota quota; /* uid and gid are filled in */
};

/* On failure nothing is left behind; the recycled namespace stays the caller's. */
int shell_build(const struct shell_plan *plan, struct shell *ret, struct err *err);

/* Runs `fn` in a short-lived child that has joined the box's mount namespace; its error comes
 * back. Used for quotas and host directories before a kernel starts. */
typedef int shell_fn(void *arg, struct err *err);
int shell_run_in(const struct shell *shell, shell_fn *fn, void *arg, struct err *err);

/* Sends SIGKILL to pid 1: Linux then ends every process of the box. The warden reaps them. */
void shell_kill(const struct shell *shell);

/* Closes descriptors; returns the network namespace for recycling through ret_netns, or -1. */
void shell_done(struct shell *shell, int *ret_netns);
