/* session.h - boxes, their kernels, and what is made of both ahead of need. */
#pragma once

#include "box/state.h"

/* session.c */
int session_new(struct warden *warden, struct template *of, struct session **ret, struct err *err);
/* That this connection opened, or belongs to. */
struct session *session_find(const struct conn *conn, uint32_t id);
void session_end(struct warden *warden, struct session *session);
void session_reap(struct warden *warden, pid_t pid, int status);
void session_collect(struct warden *warden); /* finishes sessions that are dying */

/* open.c */
/* 0 and *ret NULL: a zygote is still warming up. */
int session_open(struct warden *warden, const struct warden_open *open, const int *mount_fds,
		 struct session **ret, enum warden_warmth *ret_warmth, struct err *err);
/* A copy of one kernel; others of its session are not in the copy's box. */
int session_branch(struct warden *warden, struct box_kernel *parent, struct session **ret,
		   struct err *err);

/* kernel.c */
struct box_kernel *kernel_new(struct session *session, unsigned place);
/* The beginning of a kernel, for a pooled shell; and somewhat more of it. */
int kernel_seed(struct warden *warden, struct box_kernel *kernel, struct zygote_proc *zygote,
		struct err *err);
int kernel_advance(struct warden *warden, struct box_kernel *kernel, struct zygote_proc *zygote,
		   struct err *err);
void kernel_drop_seed(struct box_kernel *kernel);
int kernel_spawn(struct warden *warden, struct box_kernel *kernel, struct zygote_proc *zygote,
		 struct err *err);
/* Verifies what was made (here or by a branch), numbers it, and waits for its end. */
int kernel_watch(struct warden *warden, struct box_kernel *kernel, struct err *err);
/* Kills it without waiting, as a part of the end of its box. */
void kernel_kill(struct warden *warden, struct box_kernel *kernel);
/* Ends it and all processes of it, and waits for that, bounded. The place stays. */
void context_stop(struct warden *warden, struct box_kernel *kernel);

/* context.c */
/* A further kernel in an open box. 0 and *ret NULL: a zygote is still warming up. */
int context_add(struct warden *warden, struct session *session, const struct warden_context *how,
		struct box_kernel **ret, enum warden_warmth *ret_warmth, struct err *err);
/* A fresh kernel in this place. 1 when it is there; 0: a zygote is still warming up. */
int context_restart(struct warden *warden, struct box_kernel *kernel, uint32_t flags,
		    enum warden_warmth *ret_warmth, struct err *err);
void context_remove(struct warden *warden, struct box_kernel *kernel); /* and frees the place */
/* Among those of the session; NULL when it is not this connection's. */
struct box_kernel *context_find(struct session *session, const struct conn *conn, uint32_t id);

/* pool.c */
/* For a kernel of this zygote, preferably where one was begun; NULL: for another one. */
int pool_take_shell(struct warden *warden, struct template *of, const struct zygote_proc *zygote,
		    struct session **ret, struct err *err);
bool pool_refill(struct warden *warden); /* one step; true when there is more to do */
/* What was made of a zygote that is replaced ends; all of a template that is. */
void pool_zygote_replaced(struct warden *warden, struct template *of, pid_t old);
void pool_drop(struct warden *warden, struct template *of);

/* spare.c */
int spare_take_netns(struct warden *warden); /* or -1 */
void spare_keep_netns(struct warden *warden, int fd);
void spare_make_sysctls(struct warden *warden); /* once */
int spare_sysctl_dir(const struct warden *warden, unsigned slot); /* or -1; stays the pool's */
