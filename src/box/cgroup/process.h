/* process.h - the groups of the processes that a client starts in a box. */
#pragma once

#include "box/cgroup/cgroup.h"

/* `box` is the box's name, `number` the process's. Without control groups nothing is done. */
int cgroup_process_create(const struct cgroup_host *host, const char *box, uint32_t number,
			  struct err *err);
/* False while processes are in it. */
bool cgroup_process_remove(const struct cgroup_host *host, const char *box, uint32_t number);

/* v1: opens what a process with one thread joins by itself (see struct cgroup_joins). */
int cgroup_process_join(const struct cgroup_host *host, const char *box, uint32_t number,
			 struct cgroup_joins *ret, struct err *err);
/* v2: moves a process into its group. */
int cgroup_process_attach(const struct cgroup_host *host, const char *box, uint32_t number,
			  pid_t pid, struct err *err);

size_t cgroup_process_count(const struct cgroup_host *host, const char *box, uint32_t number);

/* Kills all processes of the group and waits a limited time for their end. Returns how many are
 * still ending, or ERR_UNAVAILABLE without a freezer. */
int cgroup_process_kill(const struct cgroup_host *host, const char *box, uint32_t number);

void cgroup_process_read(const struct cgroup_host *host, const char *box, uint32_t number,
			 struct cgroup_usage *ret);
