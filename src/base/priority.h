/* priority.h - who wakes up first on a busy host. */
#pragma once

/*
 * For a process that serves others and computes little itself: its one thread comes before what
 * computes, and has short turns. Its children and threads do not; but a session (setsid()) that it
 * has for itself is raised as a whole, where Linux shares processors out by those (autogroup).
 * Without the right to it nothing happens.
 */
void priority_raise(void);
