/* priority.h - who wakes up first on a busy host. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * For a process that serves others and computes little itself: its one thread comes before what
 * computes, and has short turns. Its children and threads do not; but a session (setsid()) that it
 * has for itself is raised as a whole, where Linux shares processors out by those (autogroup).
 * Without the right to it only its turns are short.
 */
void priority_raise(void);

/*
 * Turns of `turn_ns` (100,000 to 100,000,000) for a task, or for the calling thread (0): when it
 * runs, not how much. Linux 6.12 or later looks at it. What cannot be set stays as it is.
 */
void priority_turns(pid_t task, uint64_t turn_ns);
