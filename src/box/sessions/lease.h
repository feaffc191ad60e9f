/* lease.h - sessions that outlive their connection for a while, frozen, until another adopts them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/warden.h"

#define STATE_FROZEN_MAX 512 /* at once */

struct box_kernel;
struct conn;
struct session;
struct warden;
struct task_freeze;

/* What a session has for it. */
struct lease {
	bool is_set;
	uint8_t key[WARDEN_LEASE_SIZE];
	uint32_t seconds;
	unsigned busy;		   /* changes of the workspace that are half done */
	uint64_t ends_ns;	   /* FROZEN: until when */
	struct task_freeze *still; /* FROZEN: its tasks */
	struct {
		char id[WARDEN_EXECUTION_SIZE];
		bool is_used;
	} ran[WARDEN_RAN_MAX]; /* executions, the oldest at `next` */
	unsigned next;
};

/* What a context's kernel has for it. */
struct kernel_lease {
	bool is_set;
	uint8_t key[WARDEN_LEASE_SIZE];
	uint64_t ends_ns; /* its client is gone, and the box is not frozen: until when */
};

/* lease.c */
/* NULL when no session has this one. */
struct session *lease_find(const struct warden *warden, const uint8_t key[WARDEN_LEASE_SIZE]);
bool lease_is_zero(const uint8_t key[WARDEN_LEASE_SIZE]);
void lease_forget(struct session *session);
int lease_set_kernel(struct box_kernel *kernel, const struct warden_lease *asked, struct err *err);
void lease_forget_kernel(struct box_kernel *kernel);
/* When its connection, or its box, is left. */
bool lease_keeps_kernel(const struct box_kernel *kernel);
/* The one of the session that has this lease and no client. */
int lease_find_kernel(const struct session *session, const struct warden_lease *shown,
		      struct box_kernel **ret, struct err *err);
int lease_busy(struct session *session, bool is_busy, struct err *err);
void lease_note_ran(struct box_kernel *kernel); /* its execution is over, or was cut off */
void lease_fill(const struct session *session, struct warden_adopted *ret);
/* The session is dying: its tasks need nobody any more who holds them. */
void lease_drop(struct warden *warden, struct session *session);
void lease_leave_frozen(struct warden *warden, struct session *session);

/* adopt.c */
int lease_set(struct warden *warden, struct session *session, const struct warden_lease *asked,
	      struct err *err);
/* Its client is gone. False: there is nothing to wait for, and the session is to be ended. */
bool lease_freeze(struct warden *warden, struct session *session);
/* The connection of a context is gone. False: its kernel is to be ended. */
bool lease_leave_kernel(struct warden *warden, struct box_kernel *kernel);
/* The one that has this lease, which goes on. */
int lease_adopt(struct warden *warden, const struct conn *conn, const struct warden_lease *shown,
		struct session **ret, struct err *err);
void lease_tick(struct warden *warden); /* ends those that nobody came for */

/* session.c */
void session_leave_conn(struct session *session); /* its client has it no more */
