/*
 * shared.h - what the handles of one session share: its first kernel's, and those of its contexts.
 *
 * Each handle is used by one thread at a time, different ones by different threads. What they have
 * in common is this, behind a lock, and counted: a context may outlive its session.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "lib/client.h"
#include "lib/store/persist.h"
#include "lib/workspace/part.h"
#include "lib/record/record.h"
#include "lib/store/store.h"
#include "lib/workspace/workspace.h"

struct shared;

struct shared *shared_new(void);
struct shared *shared_ref(struct shared *shared);
void shared_unref(struct shared *shared); /* NULL is fine */

/* Number of an execution within the session, from 1. */
uint64_t shared_next_sequence(struct shared *shared);
/* The last that was given, and where to go on (of a branch). */
uint64_t shared_sequence(struct shared *shared);
void shared_set_sequence(struct shared *shared, uint64_t sequence);

/* Around each execution: what else changes the workspace meanwhile leaves the rest of it alone. */
void shared_begin(struct shared *shared);
void shared_end(struct shared *shared);

/* Looks at the workspace: what is there now is not an execution's doing. */
int shared_look(struct shared *shared, int workspace, struct err *err);
/*
 * The same, and everything that changed since the last look is added to the record: of executions
 * that overlap the one that ends first reports it.
 */
int shared_collect(struct shared *shared, int workspace, struct store *store,
		   struct record *record, struct err *err);

/* The workspace kept in the store (store/keep.h); without shared_keep_begin() nothing is. */
struct shared_not_kept {
	size_t count;
	char why[160];
};
void shared_keep_begin(struct shared *shared);
bool shared_keeps(const struct shared *shared);
int shared_keep(struct shared *shared, int workspace, struct store *store,
		const struct persist_bounds *bounds, bool thorough,
		struct shared_not_kept *ret_not_kept, struct err *err);
/*
 * The host changed the workspace in `part`: that is kept, and no execution's doing. While nothing
 * executes the same goes for all of it.
 */
void shared_changed(struct shared *shared, int workspace, struct store *store,
		    const struct persist_bounds *bounds, const struct part *part);

/* A folder of our own, which no look at the workspace sees. */
int shared_hide(struct shared *shared, int workspace, const char *name, int *ret_fd,
		uint64_t *ret_inode, struct err *err);
void shared_unhide(struct shared *shared, int workspace, const char *name, uint64_t inode);

/*
 * Around a change of the workspace in several steps: a box in which one is half done is not for its
 * next owner. Told to the warden only when the box has a lease; *ret_is_told is for the end.
 */
int shared_steps_begin(struct shared *shared, struct client *client, uint32_t session,
		       bool *ret_is_told, struct err *err);
void shared_steps_end(struct shared *shared, struct client *client, uint32_t session,
		      bool is_told);
/* Whether the box may have a lease now; from then on it counts as leased. */
bool shared_may_lease(struct shared *shared);

/* The box is gone; whoever has a handle without a kernel is told by shared_check(). */
void shared_note_lost(struct shared *shared, const struct err *why);
int shared_check(struct shared *shared, struct err *err);

void shared_keep_take(struct shared *shared, reckon_workspace **ret);
void shared_keep_forget(struct shared *shared);
int shared_keep_restore(struct shared *shared, int workspace, struct store *store,
			const reckon_workspace *manifest, uid_t uid, gid_t gid,
			const struct persist_missing *missing, struct err *err);

/* Counts changes of the workspace that are known. */
uint64_t shared_changes(struct shared *shared);
uint64_t shared_note_change(struct shared *shared);

/*
 * Sends a request about the session on a connection that no execution uses, and waits. `client` is
 * the session's own, by which the connection is made the first time; NULL: there is one already.
 */
int shared_ask(struct shared *shared, struct client *client, uint32_t session,
	       struct warden_request *request, struct client_call *call, int timeout_ms,
	       struct err *err);
/* The same with descriptors, which stay the caller's. */
int shared_ask_with(struct shared *shared, struct client *client, uint32_t session,
		    struct warden_request *request, const int *fds, size_t nfds,
		    struct client_call *call, int timeout_ms, struct err *err);
/* Makes that connection beforehand, in two parts; the call is on `client` until it was taken. */
int shared_ask_door(struct client *client, uint32_t session, struct client_call *call,
		    struct err *err);
int shared_take_door(struct shared *shared, struct client *client, struct client_call *call,
		     struct err *err);
