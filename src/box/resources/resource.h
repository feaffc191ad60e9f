/* resource.h - what boxes may have of the host, and what they had. */
#pragma once

#include "box/state.h"

/* limits.c */
void limits_fill(const struct template *of, struct warden_limits *limits);
int limits_apply(struct warden *warden, struct session *session, struct err *err);
/* Those of the kernel's process alone. */
int limits_apply_process(const struct warden *warden, const struct session *session, pid_t pid,
			 struct err *err);
/* The number of kernels in the box changed: our own processes must not count as its. */
int limits_apply_pids(struct warden *warden, struct session *session, struct err *err);

/* group.c */
/* Into the group of this name, which is made when it is the first one. Before its limits are put
 * into force, and before anything of a user's runs in it. */
int group_enter(struct warden *warden, struct session *session, const struct warden_group *asked,
		struct err *err);
/* For the session that enters a group next; true when there was something to do. */
bool group_prepare(struct warden *warden);
/* As its parent, which is open. */
int group_follow(struct warden *warden, struct session *session, const struct session *parent,
		 struct err *err);
void group_leave(struct warden *warden, struct session *session); /* its cgroups are gone */
int group_change(struct warden *warden, const struct warden_group *asked, struct err *err);
/* What a session may have of the processors: its own limit or its group's; 0: no limit. */
uint32_t group_cap(const struct session *session);

/* usage.c */
void usage_begin(struct warden *warden, struct box_kernel *kernel);
/* Before anything has run: opens what is read after each execution, so that the first one finds it. */
void usage_prepare(struct warden *warden, struct box_kernel *kernel);
void usage_read(struct warden *warden, struct box_kernel *kernel, struct warden_usage *ret);
void usage_end(struct warden *warden, struct box_kernel *kernel); /* no cell of it runs any more */
void usage_close(const struct box_kernel *kernel); /* it has ended */
/* A kernel came or went: what was measured last is not a base line for anybody. */
void usage_forget(struct session *session);
/* A process began, and cells that run share the accounts with it. */
void usage_note_process(struct session *session);

/* sched_slice.c */
int sched_slice_setup(struct warden *warden, struct err *err);
void sched_slice_begin(struct warden *warden, struct box_kernel *kernel); /* a cell of it */
void sched_slice_end(struct warden *warden, struct box_kernel *kernel);   /* or the kernel itself */
