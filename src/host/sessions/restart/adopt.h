/* adopt.h - boxes that an earlier daemon left, with their kernels. */
#pragma once

struct host;
struct job;

/* At the start: all parked sessions whose box may be there, a few at a time. */
void adopt_start(struct host *host);
void adopt_work(struct job *job); /* in a thread of the pool */
void adopt_done(struct job *job);
