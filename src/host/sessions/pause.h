/*
 * pause.h - a session that stands still, with its memory, and whose time does; part of host.h.
 *
 * Its states are in state/life.h. One without a box (parked) is paused and resumed by its row alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/calls.h"
#include "base/err.h"

#define PAUSE_WAITERS_MAX 16u

struct job;
struct session;

struct pause {
	uint64_t request; /* who asked for it, or 0 */
	bool is_unwanted; /* PAUSING: somebody wants it to go on already */
	bool drops_box;	  /* its files alone stay */
	uint64_t expires_in_ms; /* from when it goes on; 0: what is left of its time */
	uint64_t counts_from_ms; /* its end was set then, while it was paused; or 0 */
	uint64_t resumes[PAUSE_WAITERS_MAX]; /* who waits until it goes on */
	unsigned resume_count;
};

/* Of no request: its time is over. */
void pause_begin(struct session *session);
/* What ran has ended, or may have. */
void pause_try(struct session *session);
/* What a request that needs the box meets; false when it was answered. */
bool pause_lets(struct session *session, uint64_t request);
/* Asks for it; false when that was refused. */
bool pause_ask(struct session *session, uint64_t request, bool drops_box);
/* False: it is not paused, and nobody was answered. */
bool pause_end(struct session *session, uint64_t request, bool drops_box, uint64_t expires_in_ms);
void pause_work(struct job *job); /* in a thread of the pool */
void pause_job_done(struct job *job);
/* The session ends: whoever waits is told. */
void pause_fail_waiting(struct session *session, enum api_error error, const char *why);
/* Its end was set: that is from now, whenever it goes on. */
void pause_end_set(struct session *session);
/* In the words of the API, and back. */
unsigned pause_on_timeout(uint32_t pauses);
uint32_t pause_words(unsigned on_timeout, bool has_auto, bool is_auto,
		     uint32_t before);
