/* prewarmed.h - keeps one engine connected to the warden for the next session. */
#pragma once

#include "base/err.h"
#include "reckon.h"

struct host;
struct job;

int prewarmed_begin(struct host *host, struct err *err);
void prewarmed_end(struct host *host); /* when no thread of the pool is left */
reckon_engine *prewarmed_take(struct host *host); /* the caller owns it; NULL: none is ready */
void prewarmed_want(struct host *host); /* a session was opened */
void prewarmed_work(struct job *job);   /* runs in a thread of the pool */
void prewarmed_done(struct job *job);   /* the job has returned */
void prewarmed_tick(struct host *host);
