/*
 * monotonic.h - wall clocks that ignore leaps: one does not leap ahead, and is for removing old
 * data; one does not go back, and is for rights that expire.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct monotonic {
	uint64_t wall_ms, boot_ms; /* when they last agreed; 0: never */
	uint64_t leapt_boot_ms;
	bool has_leapt;
};

/* Milliseconds since 1970. Call it regularly, so that it detects leaps. */
uint64_t monotonic_now(struct monotonic *monotonic);
/* The same for given clocks. */
uint64_t monotonic_at(struct monotonic *monotonic, uint64_t wall_ms, uint64_t boot_ms);

/*
 * For keys and links: never behind the time that has passed since both clocks last agreed. If the
 * wall clock is set ahead, rights end too early until it is corrected; if it is set back, no
 * expired right becomes valid again. After a day, either time is taken as correct.
 */
struct strict {
	uint64_t wall_ms, boot_ms; /* when they last agreed; 0: never */
	uint64_t apart_boot_ms;	   /* since when they differ; 0: they agree */
};
uint64_t strict_now(const struct strict *strict);
uint64_t strict_at(const struct strict *strict, uint64_t wall_ms, uint64_t boot_ms);
/* Call it regularly. */
void strict_tick(struct strict *strict);
void strict_tick_at(struct strict *strict, uint64_t wall_ms, uint64_t boot_ms);
