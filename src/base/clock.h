/* clock.h - time. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <time.h>

uint64_t clock_mono_ns(void); /* CLOCK_MONOTONIC in nanoseconds */
uint64_t clock_wall_ms(void); /* since 1970; an administrator may set it at any time */
uint64_t clock_boot_ms(void); /* since boot, sleep included */

/* Writes "2026-11-21T22:00:00.123Z" (UTC, milliseconds, RFC 3339) and a NUL. */
#define CLOCK_RFC3339_SIZE 32
void clock_rfc3339_now(char text[CLOCK_RFC3339_SIZE]);
/* The same for any moment, in milliseconds since 1970. */
void clock_rfc3339(uint64_t ms, char text[CLOCK_RFC3339_SIZE]);
/* Whole seconds since 1970 of such a text; 0 when it is NULL or something else. */
uint64_t clock_read_s(const char *text);

int64_t clock_stamp_ns(struct timespec at); /* a file's time, as one number */
