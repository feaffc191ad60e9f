/* priority.h - which processes Linux runs first on a busy host. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * For a process that serves others and computes little: Linux runs its one thread before those that
 * compute, and gives it short slices. Children and threads do not inherit that. If the process has
 * a session (setsid()) to itself, the session is raised where Linux divides processors by session
 * (autogroup). Without the privilege only the slices are short.
 */
void priority_raise(void);

/*
 * Sets slices of `turn_ns` (100,000 to 100,000,000) for a task, or for the calling thread (0). They
 * decide when it runs, not how much; Linux honours them from 6.12 on. Failures are ignored.
 */
void priority_turns(pid_t task, uint64_t turn_ns);
