/* procview.h - what a box sees of /proc: its processes, and the session's own numbers. */
#pragma once

#include "base/err.h"
#include "box/mount/mount.h"

/* In the root of a template, which is the working directory: what all its boxes see alike. */
int procview_skeleton(struct err *err);

/*
 * Mounts /proc in a box. Everything but processes is covered: by files of the session's own, by
 * small fixed ones, else by nothing. What cannot be covered is not mounted: then the box has
 * processes alone.
 */
int procview_mount(const struct mount_quota *quota, struct err *err);

/* The memory limit has changed. */
int procview_resize(const struct mount_quota *quota, struct err *err);
