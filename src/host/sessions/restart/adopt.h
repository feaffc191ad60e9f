/* adopt.h - takes over boxes that an earlier daemon left, with their kernels. */
#pragma once

struct host;
struct job;

/* Call at the start: adopts the boxes of parked sessions, ADOPTING_MAX at a time. */
void adopt_start(struct host *host);
void adopt_work(struct job *job); /* runs in a thread of the pool */
void adopt_done(struct job *job);
