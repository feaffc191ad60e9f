/*
 * watch.c - folders of sessions that clients watch.
 *
 * Runs in:  reckond's loop.
 * Reads:    checked calls; event buffers.
 * Never:    reads a folder itself, or lets one box use all watches of this host.
 *
 * Clients of a session that watch the same folder share one watch. It stays open for a while after
 * the last client has gone, so that a client whose connection broke misses nothing. A client that
 * polls has a named reader in the watch, and may take longer between two requests.
 */
#include "host/files/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/fronts/reply.h"
#include "host/host.h"

#define OF_SESSION_MAX 8u
#define ALL_MAX 96u		      /* Linux usually allows 128 per user */
#define LINGER_NS (60ull * 1000000000u)
#define READER_NS (600ull * 1000000000u)
#define PACE_MS 20u /* between two reads: a box can cause events at any rate */

static unsigned watch_count;

/* ---- life ----------------------------------------------------------------------------------- */

static void watch_free(struct watch *watch)
{
	loop_io_free(watch->io);
	loop_timer_free(watch->timer);
	reckon_watch_close(watch->handle);
	event_buffer_free(watch->events);
	free(watch->path);
	free(watch);
	watch_count--;
}

/* Removes the watch from its session, and frees it when no job uses it. */
static void drop(struct watch *watch)
{
	struct watch **at = &watch->session->file_queue.watches;

	while (*at != watch)
		at = &(*at)->next;
	*at = watch->next;
	watch->is_lost = true;
	if (!watch->is_busy)
		watch_free(watch);
}

static void look(struct watch *watch, enum job_kind kind)
{
	struct job *job = job_new(watch->session, kind, 0);

	job->watch = watch;
	watch->is_busy = true;
	if (watch->io != NULL)
		loop_io_want(watch->io, 0);
	file_queue_enqueue(watch->session, job);
}

static void on_ready(unsigned ready, void *arg)
{
	struct watch *watch = arg;

	(void)ready;
	if (!watch->is_busy)
		look(watch, JOB_WATCH_READ);
}

static void on_time(void *arg)
{
	struct watch *watch = arg;

	if (watch->has_more)
		look(watch, JOB_WATCH_READ);
	else
		loop_io_want(watch->io, LOOP_READ);
}

/* ---- answers -------------------------------------------------------------------------------- */

/* Answers with one event that is not in the buffer: the watch starts, or events were missed. */
static void reply_place(struct watch *watch, uint64_t request, const char *name)
{
	char json[64];
	struct api_event event = { .id = watch->base + atomic_load(&watch->pushed), .name = name };

	(void)snprintf(json, sizeof(json), "{\"event\":\"%s\"%s}", name,
		       atomic_load(&watch->is_limited) ? ",\"limited\":true" : "");
	event.data = (struct api_bytes){ json, strlen(json) };
	reply_watch(watch->session->host, request,
		    &(struct api_events){ .events = { &event, 1 } });
}

/* False: there are no new events. Otherwise *after is the position for the next read. */
static bool try_reply(struct watch *watch, uint64_t request, uint64_t *after)
{
	cleanup_arena struct arena arena = { 0 };
	struct api_event *events;
	struct api_events reply;

	if (!event_buffer_read(watch->events, *after - watch->base, &arena, &reply))
		return false;
	events = arena_new(&arena, reply.events.count + 1, sizeof(*events));
	if (reply.events.count > 0)
		memcpy(events, reply.events.items, reply.events.count * sizeof(*events));
	for (size_t i = 0; i < reply.events.count; i++)
		*after = events[i].id += watch->base;
	reply.events.items = events;
	reply_watch(watch->session->host, request, &reply);
	return true;
}

static void follow(struct watch *watch, const struct watch_waiter *waiter)
{
	const uint64_t last = watch->base + atomic_load(&watch->pushed);
	uint64_t after = waiter->after;

	watch->alone_ns = clock_mono_ns();
	if (watch->io != NULL && waiter->is_new)
		reply_place(watch, waiter->request, "start");
	else if (watch->io != NULL && (waiter->after < watch->base || waiter->after > last))
		reply_place(watch, waiter->request, "overflow");
	else if (watch->io != NULL && try_reply(watch, waiter->request, &after))
		return;
	else if (watch->waiter_count == WATCH_WAITERS_MAX)
		front_fail(watch->session->host, waiter->request, API_ERR_BUSY,
			  "too many clients follow this folder", "", "end one of those", 1);
	else
		watch->waiters[watch->waiter_count++] = *waiter;
}

static void publish(struct watch *watch)
{
	const size_t count = watch->waiter_count;
	struct watch_waiter waiters[WATCH_WAITERS_MAX];

	memcpy(waiters, watch->waiters, count * sizeof(*waiters));
	watch->waiter_count = 0;
	for (size_t i = 0; i < count; i++)
		follow(watch, &waiters[i]);
}

static void fail_all(struct watch *watch, const reckon_error *error)
{
	for (size_t i = 0; i < watch->waiter_count; i++)
		front_fail_reckon(watch->session->host, watch->waiters[i].request, error);
	watch->waiter_count = 0;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static int begin(struct watch *watch, struct err *err)
{
	struct loop *loop = watch->session->host->loop;

	if (loop_timer_new(loop, on_time, watch, &watch->timer, err) < 0)
		return (int)err->code;
	return loop_io_new(loop, reckon_watch_fd(watch->handle), on_ready, watch, &watch->io, err);
}

void watch_job_done(struct job *job)
{
	struct watch *watch = job->watch;
	struct err err;

	watch->is_busy = false;
	if (watch->is_lost) {
		watch_free(watch);
		return;
	}
	if (watch->handle == NULL) {
		fail_all(watch, &job->error);
		drop(watch);
		return;
	}
	if (watch->io == NULL && begin(watch, &err) < 0) {
		job->error.code = RECKON_ESYSTEM;
		(void)snprintf(job->error.message, sizeof(job->error.message), "%s", err.text);
		fail_all(watch, &job->error);
		drop(watch);
		return;
	}
	if (atomic_load(&watch->has_ended))
		event_buffer_finish(watch->events);
	else
		loop_timer_set(watch->timer, PACE_MS);
	publish(watch);
}

void watch_job_dropped(struct job *job)
{
	struct watch *watch = job->watch;

	watch->is_busy = false;
	if (watch->is_lost)
		watch_free(watch);
}

/* ---- finding -------------------------------------------------------------------------------- */

static struct watch *find(const struct session *session, const char *path, bool is_recursive,
			  unsigned *ret_count)
{
	*ret_count = 0;
	for (struct watch *at = session->file_queue.watches; at != NULL; at = at->next) {
		if (strcmp(at->path, path) == 0 && at->is_recursive == is_recursive &&
		    !atomic_load(&at->has_ended))
			return at;
		(*ret_count)++;
	}
	return NULL;
}

static struct watch *watch_new(struct session *session, const char *path, bool is_recursive)
{
	struct watch *watch = mem_new0(1, sizeof(*watch));

	watch->session = session;
	watch->path = mem_strdup(path);
	watch->is_recursive = is_recursive;
	watch->events = event_buffer_new();
	watch->base = clock_wall_ms() * 1000;
	watch->alone_ns = clock_mono_ns();
	watch->next = session->file_queue.watches;
	session->file_queue.watches = watch;
	watch_count++;
	return watch;
}

/* ---- readers -------------------------------------------------------------------------------- */

static struct watch_reader *find_reader(const struct session *session, const char *name,
					struct watch **ret)
{
	for (struct watch *at = session->file_queue.watches; at != NULL; at = at->next)
		for (size_t i = 0; i < at->reader_count; i++)
			if (strcmp(at->readers[i].name, name) == 0) {
				*ret = at;
				return &at->readers[i];
			}
	return NULL;
}

static void forget(struct watch *watch, struct watch_reader *reader)
{
	*reader = watch->readers[--watch->reader_count];
	if (watch->reader_count == 0 && watch->waiter_count == 0 && !watch->is_followed)
		drop(watch);
}

/* Answers at once with the new events of a reader. */
static void poll_watch(struct session *session, uint64_t request, const struct api_watch_in *in)
{
	struct watch *watch = NULL;
	struct watch_reader *reader = find_reader(session, in->reader, &watch);

	if (reader == NULL) {
		front_fail(session->host, request, API_ERR_NOT_FOUND,
			  "there is no such reader of a watch, or no longer", "", "", 0);
		return;
	}
	reader->used_ns = clock_mono_ns();
	if (in->forget)
		forget(watch, reader);
	else if (watch->io != NULL && try_reply(watch, request, &reader->after))
		return;
	reply_watch(session->host, request, &(struct api_events){ 0 });
}

/* Adds a reader that gets all events from now on. */
static bool add_reader(struct watch *watch, const char *name)
{
	struct watch_reader *reader = &watch->readers[watch->reader_count];

	if (watch->reader_count == WATCH_READERS_MAX)
		return false;
	watch->reader_count++;
	(void)snprintf(reader->name, sizeof(reader->name), "%s", name);
	reader->after = watch->base + atomic_load(&watch->pushed);
	reader->used_ns = clock_mono_ns();
	return true;
}

static void forget_old(struct watch *watch, uint64_t now)
{
	for (size_t i = 0; i < watch->reader_count;)
		if (now - watch->readers[i].used_ns > READER_NS)
			watch->readers[i] = watch->readers[--watch->reader_count];
		else
			i++;
}

/* ---- requests ------------------------------------------------------------------------------- */

void watch_request(struct session *session, uint64_t request, const struct api_watch_in *in)
{
	const char *path = in->path != NULL ? in->path : "";
	struct host *host = session->host;
	struct watch *watch;
	unsigned count;

	if (in->reader != NULL && in->goes_on) {
		poll_watch(session, request, in);
		return;
	}
	watch = find(session, path, in->recursive, &count);
	if (watch == NULL && (count >= OF_SESSION_MAX || watch_count >= ALL_MAX)) {
		front_fail(host, request, API_ERR_BUSY,
			   count >= OF_SESSION_MAX ? "this session has as many watches as it may"
						   : "the daemon has as many watches as it may",
			   "", "end one; it goes a minute later", 60);
		return;
	}
	if (watch == NULL) {
		watch = watch_new(session, path, in->recursive);
		look(watch, JOB_WATCH_OPEN);
	}
	if (in->reader == NULL)
		watch->is_followed = true;
	else if (!add_reader(watch, in->reader)) {
		front_fail(host, request, API_ERR_BUSY, "too many clients ask about this folder",
			   "", "end one of those", 60);
		return;
	}
	follow(watch, &(struct watch_waiter){ request, in->after, !in->has_after });
}

/* ---- clients and watches that end ----------------------------------------------------------- */

void watch_front_lost(struct host *host, uint64_t first, uint64_t last)
{
	for (struct session *session = host->sessions.first; session != NULL; session = session->next)
		for (struct watch *at = session->file_queue.watches; at != NULL; at = at->next)
			for (size_t i = 0; i < at->waiter_count;) {
				const uint64_t request = at->waiters[i].request;

				if (request < first || request > last)
					i++;
				else
					at->waiters[i] = at->waiters[--at->waiter_count];
				at->alone_ns = clock_mono_ns();
			}
}

void watch_lose_all(struct session *session, enum api_error error, const char *why)
{
	while (session->file_queue.watches != NULL) {
		struct watch *watch = session->file_queue.watches;

		for (size_t i = 0; i < watch->waiter_count; i++)
			front_fail(session->host, watch->waiters[i].request, error, why, "", "", 0);
		watch->waiter_count = 0;
		drop(watch);
	}
}

void watch_tick(struct session *session)
{
	const uint64_t now = clock_mono_ns();
	struct watch *next;

	for (struct watch *at = session->file_queue.watches; at != NULL; at = next) {
		next = at->next;
		forget_old(at, now);
		if (at->waiter_count == 0 && at->reader_count == 0 && !at->is_busy &&
		    now - at->alone_ns > LINGER_NS)
			drop(at);
	}
}

static void request_gone(struct host *host, uint64_t request)
{
	watch_front_lost(host, request, request);
}

static void session_gone(struct session *session)
{
	watch_lose_all(session, API_ERR_SESSION_CLOSED, "the session has ended");
}

static void box_lost(struct session *session, const char *why)
{
	(void)why;
	watch_lose_all(session, API_ERR_UNAVAILABLE, "the session's box is gone");
}

const struct module files_module = {
	.request_gone = request_gone,
	.front_lost = watch_front_lost,
	.session_gone = session_gone,
	.box_lost = box_lost,
};
