/*
 * transaction.h - commits changes of the loop in groups, and holds answers until they are synced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct host;
struct session;

struct loop_io;
struct loop_timer;
struct pool;
struct pool_item;

/* The transactions of the daemon. */
struct transactions {
	bool is_open;
	bool is_reading; /* the answer that is made now does not depend on it */
	uint64_t current; /* the open one, or the last */
	uint64_t committed, synced; /* the last one in the log, and on the disk */
	uint64_t requested_upto;    /* the last one that a sync was started for */
	unsigned syncing;
	bool is_writing_head; /* a thread is writing audit.head */
	struct pool *pool;
	struct loop_io *io;
	struct session *sessions; /* with a part in a transaction that is not synced */
	struct err failed; /* code ERR_OK: it has not failed yet */
	struct pool_item *postponed;  /* a returned job whose transaction could not begin yet */
	struct loop_timer *busy_timer; /* for the next try */
	uint64_t busy_since_ns;	       /* since when another process writes; 0: none */
};

int transaction_setup(struct host *host, struct err *err);
void transaction_stop(struct host *host); /* waits for running syncs */
/*
 * Between both calls, all changes of returned jobs are made; they are answered when the transaction
 * is synced. False: another process is writing the database, so try again later.
 */
bool transaction_begin(struct host *host);
void transaction_end(struct host *host);
/*
 * For the changes of one request: uses the open transaction, or opens one, which
 * transaction_leave() ends. The loop syncs that one itself if at most `own_jobs` jobs are waiting
 * or running, which are the request's. On an error the database cannot be written, and nothing was
 * begun.
 */
int transaction_join(struct host *host, bool *ret_is_own, struct err *err);
void transaction_leave(struct host *host, bool is_own, size_t own_jobs);
void transaction_fail(struct host *host, const struct err *err); /* the whole transaction fails */
/* The current transaction changes something of this session. */
void transaction_note(struct session *session);
void transaction_forget(struct session *session); /* it is freed */
/* Writes audit.head in a thread; `done` gets the result in the loop. False: there is no thread. */
struct audit_head;
typedef void transaction_head_fn(struct host *host, const struct audit_head *head,
				 const struct err *failed);
bool transaction_write_head(struct host *host, const struct audit_head *head,
			    transaction_head_fn *done);
/* Syncs all commits; inside a transaction this is left to its end. */
int transaction_sync(struct host *host, struct err *err);
/* The transaction that must be synced before an answer that is made now is sent; 0: none. */
uint64_t transaction_of_reply(const struct host *host);
