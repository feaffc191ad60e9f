/*
 * conn.h - the dialect processes: their requests come to calls/judge.c, their answers go out here.
 *
 * `request` is the number of a request; it also names the process that asked. 0 is none.
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
/* A call that came, in the loop: `in` is what it takes, checked; it is answered once. */
typedef void front_call_fn(struct host *host, const struct request *req,
			   const struct api_caller *caller, const void *in);
struct front_conn;
/* Of the daemon. */
struct fronts {
	struct front_conn *of[DIALECTS_MAX]; /* NULL: no client has needed this dialect yet */
	uint64_t generation;		     /* the last that a dialect process got */
	front_call_fn *on_call;
	void (*on_frame)(unsigned ready, void *front);
};

/* Starts the native dialect's process, which accepts connections; others start when needed. */
int front_start(struct host *host, front_call_fn *on_call, struct err *err);
void front_stop(struct host *host); /* ends all processes and waits for them */
void front_settings(struct host *host); /* tells them what the configuration says now */
/* The sums over all dialects, and over the processes that each had so far. */
void front_counts(const struct host *host, struct front_stats *ret, unsigned *ret_restarts);
/* Of each dialect; their number. */
size_t front_states(const struct host *host, struct api_dialect ret[DIALECTS_MAX]);
bool front_is_pending(const struct host *host, uint64_t request);
bool front_is_busy(const struct host *host); /* whether any request is unanswered */
/* What a call gives; reply.h has one for each. Nothing happens when nobody waits for it any more. */
void front_reply_call(struct host *host, uint64_t request, const struct api_type *type,
		     const void *out);
/* The same with a descriptor, which is closed in any case. */
void front_reply_call_fd(struct host *host, uint64_t request, const struct api_type *type,
			const void *out, int fd);
void front_failure(struct host *host, uint64_t request, const struct api_failure *failure);
void front_fail(struct host *host, uint64_t request, enum api_error error, const char *message,
	       const char *cause, const char *remedy, unsigned retry_s);
/* An answer waits for the transaction that it is of (transaction_of_reply()); to be called when
 * `synced` is more, or when transactions from `first` on did not happen: then it becomes an error. */
void front_release(struct host *host);
void front_fail_transactions(struct host *host, uint64_t first, const struct err *failed);
/* What it is called towards a client that something could not be kept. */
enum api_error front_unkept(const struct err *err);
/* Something of ours failed: a full disk, or worse. */
void front_fail_err(struct host *host, uint64_t request, const struct err *err);
enum api_error front_error_of(const reckon_error *error);
void front_fail_reckon(struct host *host, uint64_t request, const reckon_error *error);
