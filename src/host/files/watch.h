/*
 * watch.h - folders of sessions that clients follow: part of host.h.
 *
 *   watch.c        whose requests wait, and what they are answered, in the loop
 *   watch_work.c   what the folder's events are, in a thread of the pool: a box can make that long
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "host/executions/job.h"
#include "host/executions/event_buffer.h"
#include "loop/loop.h"
#include "reckon_watch.h"

#define WATCH_WAITERS_MAX 64u
#define WATCH_READERS_MAX 16u

struct watch {
	struct watch *next; /* of the session */
	struct session *session;
	char *path;
	bool is_recursive;
	reckon_watch *handle; /* the running job's, if there is one; NULL: not open yet */
	struct event_buffer *events;
	uint64_t base; /* ids that clients see begin behind it: never those of an earlier watch */
	_Atomic uint64_t pushed;
	_Atomic bool has_ended, is_limited;
	bool has_more; /* than one job takes at once, which are read already */
	bool is_busy; /* a job has it */
	bool is_lost; /* freed when that is back */
	struct loop_io *io;
	struct loop_timer *timer; /* until it is looked at again */
	struct watch_waiter {
		uint64_t request, after;
		bool is_new; /* wants to be told that it begins */
	} waiters[WATCH_WAITERS_MAX];
	size_t waiter_count;
	/* Clients that ask now and then, whose place is kept here. */
	struct watch_reader {
		char name[ID_SIZE];
		uint64_t after, used_ns;
	} readers[WATCH_READERS_MAX];
	size_t reader_count;
	bool is_followed; /* a client has waited, which may come back */
	uint64_t alone_ns; /* since when nobody waits */
};

/* Answered at once, or when something has happened there. */
void watch_request(struct session *session, uint64_t request, const struct api_watch_in *in);
void watch_job_done(struct job *job);
void watch_job_dropped(struct job *job); /* it will not run */
/* The box or the session is gone: everybody is told. */
void watch_lose_all(struct session *session, enum api_error error, const char *why);
void watch_tick(struct session *session);
/* Whoever asked with these ids is gone. */
void watch_front_lost(struct host *host, uint64_t first, uint64_t last);

/* In a thread of the pool. */
void work_watch(struct job *job);
