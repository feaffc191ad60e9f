/* enter.h - from a trusted fork of a zygote to a process inside a box. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

#include "base/err.h"

struct enter_plan {
	int init_pidfd;	  /* the box's pid 1 */
	int control_fd;	  /* becomes descriptor 3 */
	int landlock_fd;  /* or -1 */
	bool no_speculation;
	const struct sock_fprog *filter;
};

/*
 * Joins all namespaces of the box, becomes BOX_UID without capabilities, forbids new privileges,
 * applies Landlock and the filter. On success the only descriptors are 0-2 (/dev/null), 3 (control,
 * close-on-exec) and *ret_boot_fd; *ret_notify_fd is the filter's listener. Order matters: see the
 * comments in enter.c.
 */
int enter_box(const struct enter_plan *plan, int boot_fd, int *ret_boot_fd, int *ret_notify_fd,
	      struct err *err);
