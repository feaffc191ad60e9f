/*
 * cancel.h - cancels executions: by a request, or because their client disconnected; see lease.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct execution;
struct host;
struct session;

/* Call only for an execution that has not ended. */
void cancel_on_request(struct execution *execution);
/* Cancels the session's executions whose lease is over. */
void cancel_abandoned(struct session *session);
void cancel_note_why(struct execution *execution); /* sets "client disconnected" as the reason */
/* Removes a waiting request whose client disconnected. */
void cancel_request_gone(struct host *host, uint64_t request);
/*
 * A dialect process crashed, whose requests had the ids from `first` to `last`. Its clients did not
 * disconnect themselves, so this cancels nothing.
 */
void cancel_front_lost(struct host *host, uint64_t first, uint64_t last);
