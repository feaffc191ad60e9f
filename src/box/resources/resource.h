/* resource.h - limits, processor shares and usage of boxes. */
#pragma once

#include "box/state.h"

/* limits.c */
void limits_fill(const struct template *of, struct warden_limits *limits);
int limits_apply(struct warden *warden, struct session *session, struct err *err);
/* Applies only the resource limits of one process. */
int limits_apply_process(const struct warden *warden, const struct session *session, pid_t pid,
			 struct err *err);
/* Call when the number of kernels in the box changed: the user's limit must not include twins. */
int limits_apply_pids(struct warden *warden, struct session *session, struct err *err);

/* group.c */
/* Puts a session into the group of this name, which it creates if necessary. Call before
 * limits_apply(), and before user code runs in the session. */
int group_enter(struct warden *warden, struct session *session,
		const struct warden_group *requested, struct err *err);
/* Prepares a cgroup for the next session that enters a group; true if there was something to do. */
bool group_prepare(struct warden *warden);
/* Puts a branch into its parent's group, if that has one. */
int group_follow(struct warden *warden, struct session *session, const struct session *parent,
		 struct err *err);
/* Call after its cgroups are removed. */
void group_leave(struct warden *warden, struct session *session);
int group_change(struct warden *warden, const struct warden_group *requested, struct err *err);
/* The session's limit in percent of one processor, or its group's if that is lower; 0: no limit. */
uint32_t group_cap(const struct session *session);

/* usage.c */
void usage_begin(struct warden *warden, struct box_kernel *kernel);
/* Call before anything has run: opens the files that are read after each execution, so that the
 * first execution finds them open. */
void usage_prepare(struct warden *warden, struct box_kernel *kernel);
void usage_read(struct warden *warden, struct box_kernel *kernel, struct warden_usage *ret);
void usage_end(struct warden *warden, struct box_kernel *kernel); /* its cell has ended */
void usage_close(const struct box_kernel *kernel); /* the kernel has ended */
/* Call when a kernel or process starts or ends: the last reading no longer serves as a baseline. */
void usage_forget(struct session *session);
/* Call when a process starts: running cells share the counters with it. */
void usage_note_process(struct session *session);

/* sched_slice.c */
int sched_slice_setup(struct warden *warden, struct err *err);
void sched_slice_begin(struct warden *warden, struct box_kernel *kernel); /* a cell starts */
/* The cell or the kernel has ended. */
void sched_slice_end(struct warden *warden, struct box_kernel *kernel);
