/* task_freeze.h - stops everything that could change a session's memory, with or without a freezer. */
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
	size_t count; /* stopped one by one */
	struct {
		pid_t tid;
		int sig;
	} task[STANDSTILL_MAX];
};

/*
 * Stops all tasks of the box but `kernel`, which is stopped already. ERR_TIMEOUT or ERR_LIMIT when
 * they cannot be stopped; task_freeze_end() is to be called in any case.
 */
int task_freeze_begin(struct task_freeze *still, const struct cgroup_host *cgroups,
		     const struct shell *shell, pid_t kernel, struct err *err);
/* The same of a box whose tasks need not have stopped when this returns, but run nothing more. */
int task_freeze_soon(struct task_freeze *still, const struct cgroup_host *cgroups,
		     const struct shell *shell, struct err *err);
void task_freeze_end(struct task_freeze *still);
