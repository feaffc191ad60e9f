/*
 * rt_boost.h - a thread whose jobs begin in real time.
 *
 * For threads that do jobs of which most take a fraction of a millisecond, and whose clients wait:
 * beside others that compute Linux lets such a thread wait for ticks of the clock (docs/tenants.md).
 * Each job begins before all that computes; one that has used BURST_NS of a processor goes on as
 * anybody's, so that nobody gets more of the processors by it than that. Where there is nobody to
 * come before it is left out: Linux wakes such a thread on another processor, which costs a little.
 *
 * It takes the right to it (CAP_SYS_NICE, or RLIMIT_RTPRIO). Without that, turns are short
 * (priority.h), and that is all. Children do not inherit it.
 */
#pragma once

#include <stdbool.h>

#define BURST_NS 2000000 /* as Linux counts: it looks with each tick, so up to one tick more */

void rt_boost_begin(void);		 /* in the thread, before its first job */
void rt_boost_job(bool is_crowded); /* before each; others are at work */
void rt_boost_end(void);		 /* before the thread ends */
