/* enter.h - takes a trusted fork of a zygote into a box. */
#pragma once

#include <linux/filter.h>
#include <stdbool.h>

#include "base/err.h"

struct enter_plan {
	int init_pidfd;	  /* the box's pid 1 */
	int control_fd;	  /* becomes descriptor 3, or -1 */
	int landlock_fd;  /* or -1 */
	int order_fd;	  /* becomes ENTER_ORDER_FD, or -1 */
	int stdio[3];	  /* or -1: /dev/null */
	bool no_speculation;
	const struct sock_fprog *filter;
	/* Called as the box's user without capabilities, before Landlock and the filter; or NULL. */
	int (*before_filter)(void *arg, struct err *err);
	void *arg;
};

#define ENTER_PLAN_NONE                          \
	((struct enter_plan){ .init_pidfd = -1,  \
			      .control_fd = -1,  \
			      .landlock_fd = -1, \
			      .order_fd = -1,    \
			      .stdio = { -1, -1, -1 } })
#define ENTER_ORDER_FD 203

/*
 * Joins all namespaces of the box, becomes BOX_UID without capabilities, forbids new privileges,
 * applies Landlock and the filter. On success the only descriptors are 0-2, 3 (control, if any),
 * ENTER_ORDER_FD (if any) and *ret_boot_fd, all but 0-2 close-on-exec; *ret_notify_fd is the
 * filter's listener. The order of the steps matters: see the comments in enter.c.
 */
int enter_box(const struct enter_plan *plan, int boot_fd, int *ret_boot_fd, int *ret_notify_fd,
	      struct err *err);
