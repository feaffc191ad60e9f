/*
 * resume.h - what a live branch does not inherit, kept by the kernel itself.
 *
 * A branch is a copy of a kernel's memory and registers in a new process: everything the Linux
 * kernel held for the old one (signal actions, umask, working directory, open files) is that of
 * the process it was made from. So a kernel calls resume_save() each time before it waits for a
 * packet, and resume_apply() when the packet that ends the wait is KERNEL_RESUME.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/kernel.h"

/* Remembers working directory, umask and signal actions in static memory. Cannot fail. */
void resume_save(void);

/*
 * Puts back what resume_save() remembered, makes `sock` close-on-exec again and re-registers the
 * thread (zygote_thread_reset()). Async-signal-safe: nothing here needs a language runtime.
 */
void resume_apply(int sock);

/* Opens the files that a RESUME packet names at the numbers they had; returns how many failed. */
unsigned resume_reopen(const struct kernel_item *items, size_t count);

/* KERNEL_SEAT: this process, which has one thread, joins the group whose file came along. */
void resume_take_seat(const int *fds, size_t nfds);

/* KERNEL_PARK: there is time to copy the pages that a first cell writes to (prefault_write_rest()). */
void resume_park(void);

/* Reads a decimal number; false when the field is not one or does not fit. */
bool resume_number(const struct kernel_item *item, uint64_t *ret_value);
