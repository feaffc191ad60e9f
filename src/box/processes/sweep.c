/*
 * sweep.c - kills what an ended kernel left running in its box.
 *
 * Runs in:  the warden, and a short-lived child that has joined the box's pid namespace.
 * Reads:    cgroup.procs, or /proc where there is no freezer.
 * Never:    kills a process of another live kernel, or pid 1.
 *
 * If no other kernel lives, and no client's process that may keep children, everything but pid 1 is
 * killed: by kill(-1) inside the pid namespace, which no fork can escape. Otherwise the kernel's
 * cgroup tells what belongs to it (cgroup/kernel.c). On a host without a freezer, descent decides:
 * a process belongs to the kernel or client's process among its ancestors, and an orphan, adopted
 * by pid 1, to the one whose session id it still has. An orphan that called setsid() cannot be
 * attributed and stays: `reckon doctor` reports the missing freezer, and closing the session ends
 * the orphan.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "box/processes/process.h"
#include "box/procfile.h"
#include "box/state.h"
#include "box/sys.h"

#define ALL_TRIES 400 /* 0.5 ms apart */
#define ALL_TIMEOUT_MS 1000
#define ALL_AGAIN 3
#define LISTED_ROUNDS 64
#define DEPTH_MAX 4096

static const struct timespec pause_time = { .tv_nsec = 500000 };

/* ---- everything ---------------------------------------------------------------------------- */

__attribute__((noreturn)) static void kill_all_here(void)
{
	for (int tries = 0; tries < ALL_TRIES; tries++) {
		if (kill(-1, SIGKILL) < 0 && errno == ESRCH)
			_exit(0); /* only pid 1 and this process are left */
		(void)nanosleep(&pause_time, NULL);
	}
	_exit(1);
}

__attribute__((noreturn)) static void join_and_kill(const struct shell *shell)
{
	int status = 0;
	pid_t pid;

	if (setns(shell->init_pidfd, CLONE_NEWPID) < 0)
		_exit(2);
	pid = fork();
	if (pid == 0) {
		/* The box must not reach the warden's descriptors. */
		(void)syscall(SYS_close_range, 0, ~0u, 0);
		kill_all_here();
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		_exit(2);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
}

/* 0 if no process is left. Rootless, the box can stop the helper: the caller then tries again. */
static int sweep_all(const struct shell *shell)
{
	const pid_t pid = fork();
	cleanup_fd int pidfd = -1;
	struct pollfd wait = { .events = POLLIN };
	int status = -1;

	if (pid == 0)
		join_and_kill(shell);
	if (pid < 0)
		return -1;
	pidfd = sys_pidfd_open(pid);
	wait.fd = pidfd;
	if (pidfd < 0 || poll(&wait, 1, ALL_TIMEOUT_MS) <= 0)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

/* ---- one of several, without a freezer ------------------------------------------------------ */

struct members {
	const struct session *session;
	const void *gone; /* the kernel or process that ended */
	pid_t gone_pid;
	ino_t ns;
	pid_t init;
};

/* The live kernel or client's process with this pid, or the ended one that had it. */
static const void *owner_with(const struct members *members, pid_t pid)
{
	const struct session *session = members->session;

	for (size_t i = 0; i < WARDEN_KERNELS_MAX; i++) {
		const struct box_kernel *at = session->kernels[i];

		if (at != NULL && at->is_up && at->made.kernel == pid)
			return at;
	}
	for (const struct box_process *at = session->processes; at != NULL; at = at->next)
		if (at->as.is_up && at->as.made.kernel == pid)
			return at;
	return pid == members->gone_pid ? members->gone : NULL;
}

/* The kernel or client's process that a process descends from; NULL: unknown. */
static const void *owner_of(const struct members *members, pid_t pid)
{
	static const int fields[2] = { 4, 6 }; /* parent and session id */
	int64_t value[2];
	pid_t sid = 0;

	for (int depth = 0; depth < DEPTH_MAX && pid > 1 && pid != members->init; depth++) {
		const void *owner = owner_with(members, pid);

		if (owner != NULL)
			return owner;
		procfile_stat(pid, fields, 2, value);
		if (depth == 0)
			sid = (pid_t)value[1];
		pid = (pid_t)value[0];
	}
	return owner_with(members, sid);
}

static int kill_listed(const struct members *members)
{
	cleanup_dir DIR *dir = opendir("/proc");
	struct dirent *entry;
	int count = 0;

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		const pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
		char path[64];
		struct stat st;

		(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)pid);
		if (pid <= 1 || pid == members->init || stat(path, &st) < 0 ||
		    st.st_ino != members->ns || owner_of(members, pid) != members->gone)
			continue;
		(void)kill(pid, SIGKILL);
		count++;
	}
	return count;
}

static int sweep_listed(const struct session *session, const void *gone, pid_t gone_pid)
{
	struct members members = { .session = session, .gone = gone, .gone_pid = gone_pid,
				   .init = session->shell.init };
	char path[64];
	struct stat st;
	int left = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)session->shell.init);
	if (stat(path, &st) < 0)
		return 0;
	members.ns = st.st_ino;
	for (int round = 0; round < LISTED_ROUNDS; round++) {
		left = kill_listed(&members);
		if (left == 0)
			break;
		(void)nanosleep(&pause_time, NULL);
	}
	return left;
}

void sweep_process(const struct session *session, const struct box_process *process)
{
	if (process->as.made.kernel > 0)
		(void)sweep_listed(session, process, process->as.made.kernel);
}

void sweep_after(struct warden *warden, struct box_kernel *kernel)
{
	const struct session *session = kernel->session;
	int left = -1;

	if (session->init_reaped || session->state == SESSION_DYING)
		return;
	if (kernel_count_up(session, kernel) == 0 && process_count_left(session) == 0)
		for (int tries = 0; left != 0 && tries < ALL_AGAIN; tries++)
			left = sweep_all(&session->shell);
	else
		left = cgroup_kernel_kill(&warden->cgroups, session->shell.name, kernel->place,
					  session->shell.init);
	if (left == ERR_UNAVAILABLE)
		left = sweep_listed(session, kernel, kernel->made.kernel);
	if (left != 0)
		log_line(LOG_WARN, "processes of an ended kernel are still there",
			 "session=%u kernel=%u", session->id, kernel->id);
}
