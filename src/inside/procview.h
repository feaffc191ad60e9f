/*
 * procview.h - the numbers that a box shows in /proc, kept up to date by its kernel.
 *
 * The box mounts files of the session's own over meminfo, stat, uptime, loadavg and cpuinfo
 * (src/box/mount/procview.c). A kernel calls procview_refresh() before it runs a cell; who lies there
 * deceives nobody but the box's own programs.
 */
#pragma once

/* At most once in 20 ms; without such files nothing happens. Cannot fail. */
void procview_refresh(void);
