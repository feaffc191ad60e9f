/* prewarmed.h - an engine that is connected to the warden already, for the session that comes next. */
#pragma once

#include "base/err.h"
#include "reckon.h"

struct host;
struct job;

int prewarmed_begin(struct host *host, struct err *err);
void prewarmed_end(struct host *host); /* when no thread of the pool is left */
reckon_engine *prewarmed_take(struct host *host); /* or NULL; now the caller's */
void prewarmed_want(struct host *host); /* a session was opened */
void prewarmed_work(struct job *job);   /* in a thread of the pool */
void prewarmed_done(struct job *job);   /* it is back */
void prewarmed_tick(struct host *host);
