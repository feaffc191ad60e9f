/* child.h - what a child process does between fork and exec. Only async-signal-safe calls, so that
 * a process with threads can fork. */
#pragma once

/*
 * Resets all signals for a new program: none caught, blocked or ignored, except that `ignored` (0:
 * none) stays ignored.
 */
void child_reset_signals(int ignored);
