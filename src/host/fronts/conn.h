/*
 * conn.h - the dialect processes: their requests go to calls/judge.c, answers to them come here.
 *
 * `request` is the number of a request, and identifies its process; 0 is none.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/calls.h"
#include "base/buf.h"
#include "base/err.h"
#include "dialects/table.h"
#include "reckon.h"
#include "wire/front.h"
#include "wire/front_stats.h"

struct host;

struct request;
struct api_caller;
/* Handles a call in the loop: `in` has its checked arguments. Each call is answered once. */
typedef void front_call_fn(struct host *host, const struct request *req,
			   const struct api_caller *caller, const void *in);
struct front_conn;
/* The dialect processes of the daemon. */
struct fronts {
	struct front_conn *of[DIALECTS_MAX]; /* NULL: no client has needed this dialect yet */
	uint64_t generation;		     /* last one assigned */
	front_call_fn *on_call;
	void (*on_frame)(unsigned ready, void *front);
};

/* Starts the native dialect's process, which accepts connections; others start when needed. */
int front_start(struct host *host, front_call_fn *on_call, struct err *err);
void front_stop(struct host *host); /* ends all processes and waits for them */
void front_settings(struct host *host); /* tells them the current configuration */
/* Sums over all dialects and all their processes so far. */
void front_counts(const struct host *host, struct front_stats *ret, unsigned *ret_restarts);
/* The state of each dialect; returns their number. */
size_t front_states(const struct host *host, struct api_dialect ret[DIALECTS_MAX]);
bool front_is_pending(const struct host *host, uint64_t request);
bool front_is_busy(const struct host *host); /* whether any request is unanswered */
/*
 * Sends the result of a call; reply.h has a function for each call. Does nothing if the client no
 * longer waits.
 */
void front_reply_call(struct host *host, uint64_t request, const struct api_type *type,
		     const void *out);
/* The same with a descriptor, which it always closes. */
void front_reply_call_fd(struct host *host, uint64_t request, const struct api_type *type,
			const void *out, int fd);
void front_failure(struct host *host, uint64_t request, const struct api_failure *failure);
void front_fail(struct host *host, uint64_t request, enum api_error error, const char *message,
	       const char *cause, const char *remedy, unsigned retry_s);
/*
 * An answer waits for its transaction (transaction_of_reply()). Call front_release() when `synced`
 * has grown; front_fail_transactions() when transactions from `first` on failed, which turns their
 * answers into errors.
 */
void front_release(struct host *host);
void front_fail_transactions(struct host *host, uint64_t first, const struct err *failed);
/* The error for clients when something could not be stored. */
enum api_error front_storage_error(const struct err *err);
/* An internal error, such as a full disk. */
void front_fail_err(struct host *host, uint64_t request, const struct err *err);
enum api_error front_error_of(const reckon_error *error);
void front_fail_reckon(struct host *host, uint64_t request, const reckon_error *error);
