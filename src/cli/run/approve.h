/*
 * approve.h - asks a person to approve each tool call (reckon run --approve).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct run_call {
	const char *tool;
	const char *arguments; /* JSON */
	size_t len;
	bool (*is_over)(void *arg); /* whether the cell no longer waits for an answer */
	void *arg;
};

/*
 * Asks the person. Returns 'y' (yes), 'a' (always for this tool), 'n' (no), 'e' (the cell is over)
 * or '\0' (there is no terminal). Any thread may call it; calls wait for each other.
 */
char run_approve(const struct run_call *call);

/* Waits until no other question is open. False: is_over() returned true. */
bool run_person_take(bool (*is_over)(void *arg), void *arg);
void run_person_release(void);
