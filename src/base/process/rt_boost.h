/*
 * rt_boost.h - runs the beginning of a thread's jobs at real-time priority.
 *
 * For threads whose jobs mostly take a fraction of a millisecond while a client waits: next to
 * computing threads, Linux makes such a thread wait for clock ticks (docs/tenants.md). Each job
 * begins before everything that computes; after BOOST_NS of processor time it continues at normal
 * priority, so a tenant gains at most that much. An idle host needs no boost, and it would cost a
 * little: Linux wakes a real-time thread on another processor.
 *
 * It needs CAP_SYS_NICE or RLIMIT_RTPRIO. Without them the thread only gets short slices
 * (priority.h). Children do not inherit the priority.
 */
#pragma once

#include <stdbool.h>

#define BOOST_NS 2000000 /* Linux checks at each tick, so a job may use up to one tick more */

void rt_boost_begin(void);		 /* in the thread, before its first job */
void rt_boost_job(bool is_crowded); /* before each job; is_crowded: other threads are working */
void rt_boost_end(void);		 /* before the thread ends */
