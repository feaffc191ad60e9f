/* lease.h - leases: sessions that stay frozen after their connection ended, until they are
 * adopted. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/warden.h"

#define STATE_FROZEN_MAX 512 /* frozen sessions at one time */

struct box_kernel;
struct conn;
struct session;
struct warden;
struct task_freeze;

/* The lease of a session. */
struct lease {
	bool is_set;
	uint8_t key[WARDEN_LEASE_SIZE];
	uint32_t seconds;
	unsigned busy;		   /* changes of the workspace that are in progress */
	uint64_t ends_ns;	   /* FROZEN: when the session ends */
	struct task_freeze *still; /* FROZEN: its stopped tasks */
	struct {
		char id[WARDEN_EXECUTION_SIZE];
		bool is_used;
	} ran[WARDEN_RAN_MAX]; /* the last executions, the oldest at `next` */
	unsigned next;
};

/* The lease of a context's kernel. */
struct kernel_lease {
	bool is_set;
	uint8_t key[WARDEN_LEASE_SIZE];
	uint64_t ends_ns; /* without a client, in an open box: when the kernel ends */
};

/* lease.c */
/* The session with this key, or NULL. */
struct session *lease_find(const struct warden *warden, const uint8_t key[WARDEN_LEASE_SIZE]);
bool lease_is_zero(const uint8_t key[WARDEN_LEASE_SIZE]);
void lease_forget(struct session *session);
int lease_set_kernel(struct box_kernel *kernel, const struct warden_lease *requested,
		     struct err *err);
void lease_forget_kernel(struct box_kernel *kernel);
/* Whether the kernel stays when its connection, or the client of its box, is gone. */
bool lease_keeps_kernel(const struct box_kernel *kernel);
/* Finds the kernel of the session that has this lease and no client. ERR_NOT_FOUND if there is
 * none. */
int lease_find_kernel(const struct session *session, const struct warden_lease *shown,
		      struct box_kernel **ret, struct err *err);
int lease_busy(struct session *session, bool is_busy, struct err *err);
void lease_note_ran(struct box_kernel *kernel); /* its execution has ended or was cut off */
void lease_fill(const struct session *session, struct warden_adopted *ret);
/* For a session that dies: forgets its lease and its stopped tasks. */
void lease_drop(struct warden *warden, struct session *session);
void lease_leave_frozen(struct warden *warden, struct session *session);

/* adopt.c */
int lease_set(struct warden *warden, struct session *session, const struct warden_lease *requested,
	      struct err *err);
/* Call when the client is gone: freezes the session. False: it cannot wait, and the caller ends
 * it. */
bool lease_freeze(struct warden *warden, struct session *session);
/* Call when the connection of a context is gone. False: the caller ends its kernel. */
bool lease_leave_kernel(struct warden *warden, struct box_kernel *kernel);
/* Finds the frozen session that has this lease and resumes it. ERR_NOT_FOUND if there is none. */
int lease_adopt(struct warden *warden, const struct conn *conn, const struct warden_lease *shown,
		struct session **ret, struct err *err);
void lease_tick(struct warden *warden); /* ends sessions and kernels whose time is over */

/* session.c */
void session_leave_conn(struct session *session); /* takes it from its client */
