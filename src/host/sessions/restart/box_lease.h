/* box_lease.h - leases that let the box of a session wait for the next daemon. */
#pragma once

#include "reckon_keep.h"

struct job;
struct session;

/* How long the session's box waits for the next daemon; 0: it ends with this one. */
unsigned box_lease_seconds(const struct session *session);
/* The key of the lease of a session or a context. */
void box_lease_key(const struct session *session, const char *id,
		   unsigned char ret[RECKON_LEASE_SIZE]);
/*
 * Call after each use of a session or a context, in its thread: requests the lease of its job,
 * unless it has that lease already.
 */
void box_lease(const struct job *job);
