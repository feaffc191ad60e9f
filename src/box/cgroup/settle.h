/* settle.h - makes a v2 group that was delegated to us fit to have groups below it. */
#pragma once

#include <stdbool.h>

/*
 * A group that has processes cannot enable controllers for its children. If `group` (a path) was
 * delegated to us, moves its processes into GROUP/daemon and returns true. It was if systemd says
 * so (Delegate=yes), or if it is the top of our cgroup namespace (`is_top`) and not of the host, as
 * in a container.
 */
bool cgroup_settle(const char *group, bool is_top);
/* Gives GROUP/daemon (`dir`: the group, opened) ten times the weight of all boxes next to it. */
void cgroup_settle_raise(int dir);
