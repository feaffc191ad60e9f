/*
 * base.h - a warden's own directory in each hierarchy, and those of wardens that are gone.
 *
 * Several wardens may share a parent, each from another pid namespace: of a user, of containers
 * without a cgroup namespace. So a warden that lives holds a lock on its directory, which Linux
 * takes back however it ends; a process number says nothing to who is elsewhere.
 */
#pragma once

#include <stddef.h>

#include "box/cgroup/cgroup.h"

/* "reckon-<pid>"; in a pid namespace other than the first with its number behind. */
void cgroup_base_name(char *ret, size_t size);

/*
 * Makes host->parent[at]/host->name, locks and opens it; -1 when the host does not let us.
 * Hierarchies that are mounted together have one directory, which is locked once.
 */
int cgroup_base_make(const struct cgroup_host *host, int at);

/* A warden's directory with those of its boxes; -1: tasks in them are still ending. */
int cgroup_base_remove(const char *path);

/* Removes those below `parent` whose warden is dead, and ends what is left in them, frozen or not;
 * `own` is not looked at. */
void cgroup_base_sweep(const char *parent, const char *own);
