/* child.h - what a child process does between fork and exec. Only what is safe there after threads. */
#pragma once

/*
 * All signals as a new program expects them: none caught, none blocked, and none ignored but
 * `ignored` (0: not even that), which therefore never gets through.
 */
void child_reset_signals(int ignored);
