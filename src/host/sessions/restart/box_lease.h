/* box_lease.h - what lets the box of a session wait for the next daemon. */
#pragma once

#include "reckon_keep.h"

struct job;
struct session;

/* How long the session's box would wait for the next daemon; 0: it ends with this one. */
unsigned box_lease_seconds(const struct session *session);
/* Of a session, or of a context of it. */
void box_lease_key(const struct session *session, const char *id,
		   unsigned char ret[RECKON_LEASE_SIZE]);
/* After each use of a session or a context, in its thread: the lease that its job says, unless it
 * has that. */
void box_lease(const struct job *job);
