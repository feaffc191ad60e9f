/*
 * procview.h - the numbers that a box shows in /proc; its kernel updates them.
 *
 * The box mounts files of the session's own over meminfo, stat, uptime, loadavg and cpuinfo
 * (src/box/mount/procview.c). A kernel calls procview_refresh() before it runs a cell. Forged
 * numbers affect only the box's own programs.
 */
#pragma once

/* Runs at most once in 20 ms; does nothing if the files do not exist. Cannot fail. */
void procview_refresh(void);
