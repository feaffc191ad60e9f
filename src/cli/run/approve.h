/* approve.h - a person decides about each call of a tool (reckon run --approve). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct run_call {
	const char *tool;
	const char *arguments; /* JSON */
	size_t len;
	bool (*is_over)(void *arg); /* whether nobody waits for an answer any more */
	void *arg;
};

/*
 * 'y'es; 'a'lways, of this tool; 'n'o; 'e': the cell is over; '\0': there is no terminal. From any
 * thread, one question at a time.
 */
char run_approve(const struct run_call *call);

/* The person answers one question at a time. False: is_over() said so. */
bool run_person_take(bool (*is_over)(void *arg), void *arg);
void run_person_release(void);
