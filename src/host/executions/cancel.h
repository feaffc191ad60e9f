/* cancel.h - executions that were to end when whoever asked for them goes away; see lease.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct execution;
struct host;
struct session;

/* A client says so; it has not ended. */
void cancel_on_request(struct execution *execution);
/* Those that were to end when nobody waits for them or follows them any more, and nobody does. */
void cancel_abandoned(struct session *session);
void cancel_note_why(struct execution *execution); /* for the record, when it is stopped so */
/* Whoever waited with this request went away. */
void cancel_request_gone(struct host *host, uint64_t request);
/* A dialect process died, and with it its connections: that ends nothing. Its requests had the ids
 * from `first` to `last`. */
void cancel_front_lost(struct host *host, uint64_t first, uint64_t last);
