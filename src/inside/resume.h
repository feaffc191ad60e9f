/*
 * resume.h - saves and restores what a live branch does not inherit.
 *
 * A branch is a copy of a kernel's memory and registers in a new process: the Linux state of the
 * old process (signal actions, umask, working directory, open files) is missing. So a kernel calls
 * resume_save() before each wait for a packet, and resume_apply() if the next packet is
 * KERNEL_RESUME.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/kernel.h"

/* Saves the working directory, umask and signal actions in static memory. Cannot fail. */
void resume_save(void);

/*
 * Restores what resume_save() saved, makes `sock` close-on-exec again and re-registers the thread
 * (zygote_thread_reset()). Async-signal-safe: uses no language runtime.
 */
void resume_apply(int sock);

/* Reopens the files that a RESUME packet names at their old numbers; returns how many failed. */
unsigned resume_reopen(const struct kernel_item *items, size_t count);

/* KERNEL_CGROUP_JOIN: this single-threaded process joins the cgroup whose file the packet carries. */
void resume_join_cgroups(const int *fds, size_t nfds);

/* KERNEL_PARK: there is time to copy the pages that a first cell writes to
 * (prefault_write_rest()). */
void resume_park(void);

/* Parses a decimal number; false if the field is not a number or does not fit. */
bool resume_number(const struct kernel_item *item, uint64_t *ret_value);
