/* settle.h - a v2 group that was given to us, made fit to have groups below it. */
#pragma once

#include <stdbool.h>

/*
 * A group with processes of its own cannot hand controllers to children. When `group` (a path) is
 * ours to divide, its processes move into GROUP/daemon and true is returned. It is ours when systemd
 * says so (Delegate=yes), or when it is the top of our cgroup namespace (`is_top`) and not of the
 * host, as in a container.
 */
bool cgroup_settle(const char *group, bool is_top);
/* What is in there (`dir`: the group, opened) gets ten times what all boxes beside it get. */
void cgroup_settle_raise(int dir);
