/*
 * task_freeze.c - stops everything that could change a session's memory.
 *
 * Runs in:  the warden.
 * Reads:    /proc: which tasks live in the box's pid namespace.
 * Never:    lets the caller go on while one of them runs, unless it asked not to wait.
 *
 * The freezer stops all tasks in one step. Without one, each task is traced and interrupted, and
 * this is repeated until a scan finds no new task.
 */
#include "box/twin/task_freeze.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/twin/trace.h"

#define ROUNDS_MAX 32

/* All processes in a namespace show the same inode for it. */
static bool is_inside(const char *pid, const struct stat *ns)
{
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%.16s/ns/pid", pid);
	return stat(path, &st) == 0 && st.st_ino == ns->st_ino && st.st_dev == ns->st_dev;
}

static bool is_known(const struct task_freeze *still, pid_t tid)
{
	for (size_t i = 0; i < still->count; i++)
		if (still->task[i].tid == tid)
			return true;
	return false;
}

/* 1: stopped a new task; 0: the task ended meanwhile, or is stopped already. */
static int stop_task(struct task_freeze *still, pid_t tid, struct err *err)
{
	int sig, code;

	if (is_known(still, tid))
		return 0;
	if (still->count == STANDSTILL_MAX)
		return err_set(err, ERR_LIMIT, "the session has too many threads to be stopped");
	code = trace_hold(tid, err);
	if (code == 0)
		code = trace_interrupt(tid, &sig, err);
	if (code == ERR_LOST || (code < 0 && err->errnum == ESRCH))
		return 0;
	if (code < 0)
		return code;
	still->task[still->count].tid = tid;
	still->task[still->count++].sig = sig;
	return 1;
}

/* Stops the threads of one process; returns how many were new. */
static int stop_process(struct task_freeze *still, const char *pid, pid_t kernel, struct err *err)
{
	char path[64];
	cleanup_dir DIR *dir = NULL;
	struct dirent *entry;
	int found = 0;

	(void)snprintf(path, sizeof(path), "/proc/%.16s/task", pid);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		const pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		int code;

		if (tid <= 0 || tid == kernel || tid == still->shell->init)
			continue;
		code = stop_task(still, tid, err);
		if (code < 0)
			return code;
		found += code;
	}
	return found;
}

static int stop_round(struct task_freeze *still, const struct stat *ns, pid_t kernel,
		      struct err *err)
{
	cleanup_dir DIR *dir = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	if (dir == NULL)
		return err_sys(err, "read /proc");
	while ((entry = readdir(dir)) != NULL) {
		int code;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    !is_inside(entry->d_name, ns))
			continue;
		code = stop_process(still, entry->d_name, kernel, err);
		if (code < 0)
			return code;
		found += code;
	}
	return found;
}

int task_freeze_begin(struct task_freeze *still, const struct cgroup_host *cgroups,
		     const struct shell *shell, pid_t kernel, struct err *err)
{
	char path[64];
	struct stat ns;

	*still = (struct task_freeze){ .cgroups = cgroups, .shell = shell };
	if (cgroup_has(cgroups, CG_FREEZER)) {
		still->is_frozen = true;
		return cgroup_freeze(cgroups, shell->name, true, err);
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/ns/pid", (int)shell->init);
	if (stat(path, &ns) < 0)
		return err_sys(err, "%s", path);
	for (int round = 0; round < ROUNDS_MAX; round++) {
		const int found = stop_round(still, &ns, kernel, err);

		if (found <= 0)
			return found;
	}
	return err_set(err, ERR_TIMEOUT, "the session's processes do not stand still");
}

int task_freeze_soon(struct task_freeze *still, const struct cgroup_host *cgroups,
		     const struct shell *shell, struct err *err)
{
	/* Waiting for one box that does not stop would delay all others. */
	if (!cgroup_has(cgroups, CG_FREEZER))
		return task_freeze_begin(still, cgroups, shell, 0, err);
	*still = (struct task_freeze){ .cgroups = cgroups, .shell = shell, .is_frozen = true };
	return cgroup_freeze_soon(cgroups, shell->name, err);
}

void task_freeze_end(struct task_freeze *still)
{
	struct err ignored;

	if (still->is_frozen)
		(void)cgroup_freeze(still->cgroups, still->shell->name, false, &ignored);
	for (size_t i = 0; i < still->count; i++)
		(void)trace_detach(still->task[i].tid, still->task[i].sig, &ignored);
	still->is_frozen = false;
	still->count = 0;
}
