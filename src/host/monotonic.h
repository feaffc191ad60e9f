/*
 * monotonic.h - wall clocks that do not leap: not ahead, for what would remove things; not back, for
 * what gives rights until a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct monotonic {
	uint64_t wall_ms, boot_ms; /* when the two were last seen to go together; 0: never */
	uint64_t leapt_boot_ms;
	bool has_leapt;
};

/* Milliseconds since 1970; to be asked now and then, so that a leap is seen. */
uint64_t monotonic_now(struct monotonic *monotonic);
/* The same of given clocks. */
uint64_t monotonic_at(struct monotonic *monotonic, uint64_t wall_ms, uint64_t boot_ms);

/*
 * For keys and links: never behind the time that has passed since it was right. One that is set ahead
 * is believed at once, which ends them too early, until it is set right; one that is set back gives
 * back nothing that was over. Either is taken for right when it has stood for a day.
 */
struct strict {
	uint64_t wall_ms, boot_ms; /* when the two were last seen to go together; 0: never */
	uint64_t apart_boot_ms;	   /* since when they do not; 0: they do */
};
uint64_t strict_now(const struct strict *strict);
uint64_t strict_at(const struct strict *strict, uint64_t wall_ms, uint64_t boot_ms);
/* To be called now and then. */
void strict_tick(struct strict *strict);
void strict_tick_at(struct strict *strict, uint64_t wall_ms, uint64_t boot_ms);
