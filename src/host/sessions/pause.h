/*
 * pause.h - a paused session: its box is frozen, its time limit stops; included by host.h.
 *
 * state/life.h has its states. For a session without a box (parked), only the row changes.
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
	uint64_t request; /* request that asked for the pause, or 0 */
	bool is_unwanted; /* while PAUSING: a request wants to resume it already */
	bool drops_box;	  /* keep only the files */
	uint64_t expires_in_ms; /* time limit after the resume; 0: the time that was left */
	uint64_t counts_from_ms; /* when the expiry was set during the pause; or 0 */
	uint64_t resumes[PAUSE_WAITERS_MAX]; /* requests that wait for the resume */
	unsigned resume_count;
};

/* Pauses the session because its time is over; no request waits. */
void pause_begin(struct session *session);
/* Continues a pause if nothing runs any more. */
void pause_try(struct session *session);
/*
 * For a request that needs the box: resumes the session if its settings allow it, otherwise answers
 * that it is paused and returns false.
 */
bool pause_lets(struct session *session, uint64_t request);
/* Starts a pause on request. False: refused, and the request is answered. */
bool pause_ask(struct session *session, uint64_t request, bool drops_box);
/* Resumes the session on request. False: it is not paused, and the request is not answered. */
bool pause_end(struct session *session, uint64_t request, bool drops_box, uint64_t expires_in_ms);
void pause_work(struct job *job); /* runs in a thread of the pool */
void pause_job_done(struct job *job);
/* Answers requests that wait for a pause or a resume with an error. */
void pause_fail_waiting(struct session *session, enum api_error error, const char *why);
/* Notes that the expiry was set during the pause, so that it counts from now. */
void pause_end_set(struct session *session);
/* Convert between DB_PAUSES_… and the values of the API. */
unsigned pause_on_timeout(uint32_t pauses);
uint32_t pause_words(unsigned on_timeout, bool has_auto, bool is_auto,
		     uint32_t before);
