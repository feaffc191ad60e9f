/*
 * peer.h - the dialect processes: their requests come to answer.c, their answers go out here.
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
#include "wire/front_page.h"

struct host;

/* Starts the native dialect's process, which accepts connections; others start when needed. */
int peer_start(struct host *host, struct err *err);
void peer_stop(struct host *host); /* ends all processes and waits for them */
void peer_settings(struct host *host); /* tells them what the configuration says now */
/* The sums over all dialects, and over the processes that each had so far. */
void peer_counts(const struct host *host, struct front_page *ret, unsigned *ret_restarts);
/* Of each dialect; their number. */
size_t peer_states(const struct host *host, struct api_dialect ret[DIALECTS_MAX]);
bool peer_is_pending(const struct host *host, uint64_t request);
bool peer_is_busy(const struct host *host); /* whether any request is unanswered */
/* What a call gives; calls/call.h has one for each. Nothing happens when nobody waits for it any more. */
void peer_reply_call(struct host *host, uint64_t request, const struct api_type *type,
		     const void *out);
/* The same with a descriptor, which is closed in any case. */
void peer_reply_call_fd(struct host *host, uint64_t request, const struct api_type *type,
			const void *out, int fd);
void peer_failure(struct host *host, uint64_t request, const struct api_failure *failure);
void peer_fail(struct host *host, uint64_t request, enum api_error error, const char *message,
	       const char *cause, const char *remedy, unsigned retry_s);
/* An answer waits for the turn that it is of (turn_of_answer()); to be called when `synced` is more,
 * or when turns from `first` on did not happen: then it becomes an error. */
void peer_release(struct host *host);
void peer_fail_turns(struct host *host, uint64_t first, const struct err *failed);
/* What it is called towards a client that something could not be kept. */
enum api_error peer_unkept(const struct err *err);
/* Something of ours failed: a full disk, or worse. */
void peer_fail_err(struct host *host, uint64_t request, const struct err *err);
enum api_error peer_error_of(const reckon_error *error);
void peer_fail_reckon(struct host *host, uint64_t request, const reckon_error *error);
