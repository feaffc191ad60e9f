/*
 * shared.h - data shared by the handles of one session: of its first kernel, its contexts and its
 * files.
 *
 * Each handle is used by one thread at a time, but different handles by different threads. A lock
 * guards the shared data, and it is reference-counted, because a context may outlive its session.
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

/* The next number of an execution in the session, from 1. */
uint64_t shared_next_sequence(struct shared *shared);
/* Get the last number; set it, for a branch. */
uint64_t shared_sequence(struct shared *shared);
void shared_set_sequence(struct shared *shared, uint64_t sequence);

/*
 * Call before and after each execution: while one runs, shared_changed() only notes the part that
 * the host changed.
 */
void shared_begin(struct shared *shared);
void shared_end(struct shared *shared);

/* Scans the workspace; later changes count from this state. */
int shared_look(struct shared *shared, int workspace, struct err *err);
/*
 * The same, and adds all changes since the last scan to the record. If executions overlap, the one
 * that ends first reports them.
 */
int shared_collect(struct shared *shared, int workspace, struct store *store,
		   struct record *record, struct err *err);

/* The stored copy of the workspace (store/persist.h). There is none without shared_keep_begin(). */
struct shared_unstored {
	size_t count;
	char why[160];
};
void shared_keep_begin(struct shared *shared);
bool shared_keeps(const struct shared *shared);
int shared_keep(struct shared *shared, int workspace, struct store *store,
		const struct persist_bounds *bounds, bool thorough,
		struct shared_unstored *ret_unstored, struct err *err);
/*
 * The host changed the `part` of the workspace: stores it, and no execution reports it. While
 * nothing executes this applies to the whole workspace.
 */
void shared_changed(struct shared *shared, int workspace, struct store *store,
		    const struct persist_bounds *bounds, const struct part *part);

/* Creates or removes a hidden folder, which scans of the workspace skip. */
int shared_hide(struct shared *shared, int workspace, const char *name, int *ret_fd,
		uint64_t *ret_inode, struct err *err);
void shared_unhide(struct shared *shared, int workspace, const char *name, uint64_t inode);

/*
 * Call before and after a change of the workspace in several steps: a box with an unfinished change
 * must not be adopted. The warden is only told if the box has a lease; pass *ret_is_reported to the
 * end.
 */
int shared_steps_begin(struct shared *shared, struct client *client, uint32_t session,
		       bool *ret_is_reported, struct err *err);
void shared_steps_end(struct shared *shared, struct client *client, uint32_t session,
		      bool is_reported);
/* Whether the box may have a lease now; from then on it counts as leased. */
bool shared_may_lease(struct shared *shared);

/* The box is lost; handles without a kernel learn it from shared_check(). */
void shared_note_lost(struct shared *shared, const struct err *why);
int shared_check(struct shared *shared, struct err *err);

void shared_keep_take(struct shared *shared, reckon_workspace **ret);
void shared_keep_forget(struct shared *shared);
int shared_keep_restore(struct shared *shared, int workspace, struct store *store,
			const reckon_workspace *manifest, uid_t uid, gid_t gid,
			const struct persist_missing *missing, struct err *err);

/* Counts the known changes of the workspace. */
uint64_t shared_changes(struct shared *shared);
uint64_t shared_note_change(struct shared *shared);

/*
 * Sends a request about the session on a connection that no execution uses, and waits for the
 * reply. `client` is the session's own connection, over which this one is made the first time;
 * NULL: it exists already.
 */
int shared_ask(struct shared *shared, struct client *client, uint32_t session,
	       struct warden_request *request, struct client_call *call, int timeout_ms,
	       struct err *err);
/* The same with descriptors, which the caller still owns. */
int shared_ask_with(struct shared *shared, struct client *client, uint32_t session,
		    struct warden_request *request, const int *fds, size_t nfds,
		    struct client_call *call, int timeout_ms, struct err *err);
/*
 * Makes that connection in advance, in two parts; the call is pending on `client` until the second.
 */
int shared_ask_door(struct client *client, uint32_t session, struct client_call *call,
		    struct err *err);
int shared_take_door(struct shared *shared, struct client *client, struct client_call *call,
		     struct err *err);
