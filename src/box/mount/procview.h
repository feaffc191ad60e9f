/* procview.h - what a box sees of /proc: its processes, and the session's own numbers. */
#pragma once

#include "base/err.h"
#include "box/mount/mount.h"

/* Makes the fixed files that all boxes of a template see, in its root, the working directory. */
int procview_skeleton(struct err *err);

/*
 * Mounts /proc in a box. Covers everything but processes: with files of the session's own, with
 * small fixed ones, or with empty ones. If something cannot be covered, the box sees processes
 * alone.
 */
int procview_mount(const struct mount_quota *quota, struct err *err);

/* Call when the memory limit has changed. */
int procview_resize(const struct mount_quota *quota, struct err *err);
