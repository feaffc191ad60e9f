/*
 * steady.h - a wall clock that does not leap ahead, for what would remove things.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct steady {
	uint64_t wall_ms, boot_ms; /* when the two were last seen to go together; 0: never */
	uint64_t leapt_boot_ms;
	bool has_leapt;
};

/* Milliseconds since 1970; to be asked now and then, so that a leap is seen. */
uint64_t steady_now(struct steady *steady);
/* The same of given clocks. */
uint64_t steady_at(struct steady *steady, uint64_t wall_ms, uint64_t boot_ms);
