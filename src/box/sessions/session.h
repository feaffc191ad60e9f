/* session.h - sessions and their kernels, including those made ahead of need. */
#pragma once

#include "box/state.h"

/* session.c */
int session_new(struct warden *warden, struct template *of, struct session **ret, struct err *err);
/* The session of this number that the connection opened or belongs to, or NULL. */
struct session *session_find(const struct conn *conn, uint32_t id);
void session_end(struct warden *warden, struct session *session);
void session_reap(struct warden *warden, pid_t pid, int status);
void session_collect(struct warden *warden); /* frees dying sessions that are reaped */

/* open.c */
/* 0 and *ret NULL: a zygote is still warming up. */
int session_open(struct warden *warden, const struct warden_open *open, const int *mount_fds,
		 struct session **ret, enum warden_warmth *ret_warmth, struct err *err);
/* Copies one kernel into a new session; the other kernels of its session are not copied. */
int session_branch(struct warden *warden, struct box_kernel *parent, struct session **ret,
		   struct err *err);

/* kernel.c */
struct box_kernel *kernel_new(struct session *session, unsigned place);
/* Begins a kernel in a pooled box: its twin; kernel_advance() also makes the kernel itself. */
int kernel_seed(struct warden *warden, struct box_kernel *kernel, struct zygote_proc *zygote,
		struct err *err);
int kernel_advance(struct warden *warden, struct box_kernel *kernel, struct zygote_proc *zygote,
		   struct err *err);
void kernel_drop_seed(struct box_kernel *kernel);
int kernel_spawn(struct warden *warden, struct box_kernel *kernel, struct zygote_proc *zygote,
		 struct err *err);
/* Verifies a new kernel (spawned or branched), gives it a number, and watches for its end. */
int kernel_watch(struct warden *warden, struct box_kernel *kernel, struct err *err);
/* Kills the kernel without waiting, when its box ends. */
void kernel_kill(struct warden *warden, struct box_kernel *kernel);
/* Ends the kernel and its processes, and waits a limited time for that. The place stays. */
void context_stop(struct warden *warden, struct box_kernel *kernel);

/* context.c */
/* Adds a kernel to an open box. 0 and *ret NULL: a zygote is still warming up. */
int context_add(struct warden *warden, struct session *session, const struct warden_context *how,
		struct box_kernel **ret, enum warden_warmth *ret_warmth, struct err *err);
/* Puts a fresh kernel in this place. Returns 1 if it runs; 0: a zygote is still warming up. */
int context_restart(struct warden *warden, struct box_kernel *kernel, uint32_t flags,
		    enum warden_warmth *ret_warmth, struct err *err);
/* Ends it and frees the place. */
void context_remove(struct warden *warden, struct box_kernel *kernel);
/* The session's kernel of this number, 0 being the first one; NULL if it is not this
 * connection's. */
struct box_kernel *context_find(struct session *session, const struct conn *conn, uint32_t id);

/* pool.c */
/* Takes a pooled box, or builds one: preferably with a begun kernel of this zygote; NULL: without
 * any. */
int pool_take_shell(struct warden *warden, struct template *of, const struct zygote_proc *zygote,
		    struct session **ret, struct err *err);
bool pool_refill(struct warden *warden); /* one step; true if there may be more */
/* End what was made ahead of need from a replaced zygote, or from a template. */
void pool_zygote_replaced(struct warden *warden, struct template *of, pid_t old);
void pool_drop(struct warden *warden, struct template *of);

/* spare.c */
int spare_take_netns(struct warden *warden); /* or -1 */
void spare_keep_netns(struct warden *warden, int fd);
void spare_make_sysctls(struct warden *warden); /* call once */
int spare_sysctl_dir(const struct warden *warden, unsigned slot); /* or -1; owned by the pool */
