/*
 * procview.h - the numbers that a box shows in /proc; its kernel updates them.
 *
 * The box mounts files of the session's own over meminfo, stat, uptime, loadavg and cpuinfo
 * (src/box/mount/procview.c). To refresh them takes 0.1 to 0.2 ms, as long as a small cell, so a
 * kernel does it only before somebody can read them: when it is about to start a program or to open
 * one of the files. Forged numbers affect only the box's own programs.
 */
#pragma once

#include <stdint.h>

/* Runs at most once in 20 ms; does nothing if the files do not exist. Cannot fail. */
void procview_refresh(void);

/* Refreshes the numbers if `path` is one of these files in /proc. */
void procview_before_open(const char *path);

/*
 * For code that opens the files itself (C libraries): call when a cell has ended and its result is
 * sent. Refreshes the numbers if the cell ran for 20 ms or longer; begun_ns is CLOCK_MONOTONIC.
 */
void procview_after_cell(uint64_t begun_ns);
