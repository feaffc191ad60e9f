/*
 * base.h - a warden's own directory in each hierarchy, and the removal of those of dead wardens.
 *
 * Several wardens may share a parent, each in another pid namespace: of one user, or of containers
 * without a cgroup namespace. So a live warden holds a lock on its directory, which Linux releases
 * however the warden ends; a pid means nothing in another namespace.
 */
#pragma once

#include <stddef.h>

#include "box/cgroup/cgroup.h"

/* "reckon-<pid>", followed by the pid namespace's number unless it is the first one. */
void cgroup_base_name(char *ret, size_t size);

/*
 * Makes host->parent[at]/host->name, locks and opens it; -1 if the host does not allow that.
 * Hierarchies that are mounted together have one directory, which is locked once.
 */
int cgroup_base_make(const struct cgroup_host *host, int at);

/* Removes a warden's directory with those of its boxes; -1: tasks in them are still ending. */
int cgroup_base_remove(const char *path);

/* Removes the directories of dead wardens below `parent`, and kills what is left in them, frozen or
 * not; skips `own`. */
void cgroup_base_sweep(const char *parent, const char *own);
