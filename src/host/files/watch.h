/*
 * watch.h - folders of sessions that clients watch; included by host.h.
 *
 *   watch.c        waiting requests and their answers, in the loop
 *   watch_work.c   reads a folder's events, in a thread of the pool: a box can cause many
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
	struct watch *next; /* in the session's list */
	struct session *session;
	char *path;
	bool is_recursive;
	reckon_watch *handle; /* the running job owns it; NULL: not open yet */
	struct event_buffer *events;
	uint64_t base; /* offset of the ids that clients see, never those of an earlier watch */
	_Atomic uint64_t pushed;
	_Atomic bool has_ended, is_limited;
	bool has_more; /* more events than one job reads; they are available already */
	bool is_busy; /* a job is using it */
	bool is_lost; /* freed when the job has returned */
	struct loop_io *io;
	struct loop_timer *timer; /* for the next read */
	struct watch_waiter {
		uint64_t request, after;
		bool is_new; /* wants an event when the watch starts */
	} waiters[WATCH_WAITERS_MAX];
	size_t waiter_count;
	/* Clients that poll, with their positions. */
	struct watch_reader {
		char name[ID_SIZE];
		uint64_t after, used_ns;
	} readers[WATCH_READERS_MAX];
	size_t reader_count;
	bool is_followed; /* a client has waited, and may come back */
	uint64_t alone_ns; /* since when no request waits */
};

/* Answers at once, or when there are events. */
void watch_request(struct session *session, uint64_t request, const struct api_watch_in *in);
void watch_job_done(struct job *job);
void watch_job_dropped(struct job *job); /* the job will not run */
/* The box or the session has gone: answers all waiting requests with the error. */
void watch_lose_all(struct session *session, enum api_error error, const char *why);
void watch_tick(struct session *session);
/* The clients of requests with these ids have gone. */
void watch_front_lost(struct host *host, uint64_t first, uint64_t last);

/* Runs in a thread of the pool. */
void work_watch(struct job *job);
