/*
 * transaction.h - what the loop commits at once, and when its answers may go out.
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

/* Of the daemon. */
struct transactions {
	bool is_open;
	bool is_reading; /* what is answered now needs nothing of it */
	uint64_t current; /* the one that is open, or was last */
	uint64_t committed, synced; /* the last that is in the log, and on the disk */
	uint64_t asked_upto; /* the last that a sync was asked for */
	unsigned syncing;
	bool is_writing_head; /* a thread of theirs is */
	struct pool *pool;
	struct loop_io *io;
	struct session *sessions; /* of which something is not on the disk */
	struct err failed; /* code ERR_OK: not so far */
	struct pool_item *postponed;  /* it came back, and its transaction cannot begin yet */
	struct loop_timer *busy_timer; /* when that is tried again */
	uint64_t busy_since_ns;	       /* another process writes; 0: none does */
};

int transaction_setup(struct host *host, struct err *err);
void transaction_stop(struct host *host); /* what is on its way to the disk gets there */
/*
 * Everything that jobs which came back changed is committed at once, and only then answered.
 * False: another process writes the database, so a little later.
 */
bool transaction_begin(struct host *host);
void transaction_end(struct host *host);
/*
 * For what one request writes: within the transaction that is open, or else in one of its own,
 * which is at its end when it is left. The loop brings that to the disk by itself when nobody is at work but
 * `own_jobs` jobs of the request. An error: the database cannot be written, and nothing was begun.
 */
int transaction_join(struct host *host, bool *ret_is_own, struct err *err);
void transaction_leave(struct host *host, bool is_own, size_t own_jobs);
void transaction_fail(struct host *host, const struct err *err); /* then nothing of the transaction is kept */
/* What becomes of the transaction concerns this session, too. */
void transaction_note(struct session *session);
void transaction_forget(struct session *session); /* it goes */
/* Writes it in a thread; `done` hears in the loop what came of it. False: there is no thread. */
struct audit_head;
typedef void transaction_head_fn(struct host *host, const struct audit_head *head,
				 const struct err *failed);
bool transaction_write_head(struct host *host, const struct audit_head *head,
			    transaction_head_fn *done);
/* Makes what was committed durable; inside a transaction that is done at its end. */
int transaction_sync(struct host *host, struct err *err);
/* Which transaction has to be on the disk before something that is said now may go out; 0: none. */
uint64_t transaction_of_reply(const struct host *host);
