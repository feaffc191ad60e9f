/* task_freeze.h - stops everything that could change a session's memory, with or without
 * freezer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "box/cgroup/cgroup.h"
#include "box/mount/shell.h"

#define STANDSTILL_MAX 512

struct task_freeze {
	const struct cgroup_host *cgroups;
	const struct shell *shell;
	bool is_frozen;
	size_t count; /* tasks that were stopped one by one */
	struct {
		pid_t tid;
		int sig;
	} task[STANDSTILL_MAX];
};

/*
 * Stops all tasks of the box except `kernel`, which is stopped already (0: none is). ERR_TIMEOUT or
 * ERR_LIMIT if they cannot be stopped; call task_freeze_end() in any case.
 */
int task_freeze_begin(struct task_freeze *still, const struct cgroup_host *cgroups,
		     const struct shell *shell, pid_t kernel, struct err *err);
/* As task_freeze_begin() for all tasks, but with a freezer it does not wait: a task inside a system
 * call stops when it leaves that. */
int task_freeze_soon(struct task_freeze *still, const struct cgroup_host *cgroups,
		     const struct shell *shell, struct err *err);
void task_freeze_end(struct task_freeze *still);
