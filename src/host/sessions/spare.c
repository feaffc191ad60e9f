/*
 * spare.c - an engine that is connected to the warden already, for the session that comes next.
 *
 * Runs in:  reckond's loop; in a thread of the pool where it says so.
 * Reads:    nothing.
 * Never:    makes one before a session was opened, or keeps one that nobody needs.
 *
 * Each session has an engine of its own: three dozen system calls and a round trip to the warden
 * that need not wait for a request. One is made a moment after a session was opened, when its first
 * cell has most likely run, and goes when no session came for a while: a warden ends by itself when
 * it has no connection.
 */
#include "host/sessions/spare.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/host.h"

#define SPARE_AFTER_MS 25u
#define SPARE_KEPT_NS (30ull * 1000000000u)

struct spare {
	struct host *host;
	struct loop_timer *timer;
	bool is_asked; /* a job makes one */
	pthread_mutex_t lock;
	/* with the lock held */
	reckon_engine *engine;
	uint64_t since_ns;
};

static reckon_engine *take(struct spare *spare, uint64_t older_than_ns)
{
	reckon_engine *engine = NULL;

	(void)pthread_mutex_lock(&spare->lock);
	if (spare->since_ns <= older_than_ns)
		engine = TAKE_PTR(spare->engine);
	(void)pthread_mutex_unlock(&spare->lock);
	return engine;
}

reckon_engine *spare_take(struct host *host)
{
	return take(host->spare, UINT64_MAX);
}

static bool has_one(struct spare *spare)
{
	bool found;

	(void)pthread_mutex_lock(&spare->lock);
	found = spare->engine != NULL;
	(void)pthread_mutex_unlock(&spare->lock);
	return found;
}

static void make(void *arg)
{
	struct spare *spare = arg;
	struct host *host = spare->host;
	struct job *job;

	if (spare->is_asked || host->is_stopping || host->is_draining || has_one(spare))
		return;
	job = job_new(NULL, JOB_SPARE, 0);
	job->host = host;
	spare->is_asked = true;
	pool_submit(host->pool, &job->item);
}

void spare_want(struct host *host)
{
	loop_timer_set(host->spare->timer, SPARE_AFTER_MS);
}

/* In a thread of the pool. */
void spare_work(struct job *job)
{
	struct spare *spare = job->host->spare;
	reckon_engine *engine;

	if (work_engine(job->host, &engine, &job->error) < 0)
		return;
	if (reckon_engine_connect(engine, &job->error) < 0) {
		reckon_engine_close(engine);
		return;
	}
	(void)pthread_mutex_lock(&spare->lock);
	spare->engine = engine;
	spare->since_ns = clock_mono_ns();
	(void)pthread_mutex_unlock(&spare->lock);
}

/* What was wrong the next session is going to find out, and tell. */
void spare_done(struct job *job)
{
	job->host->spare->is_asked = false;
	job_free(job);
}

void spare_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();

	if (now > SPARE_KEPT_NS)
		reckon_engine_close(take(host->spare, now - SPARE_KEPT_NS));
}

int spare_begin(struct host *host, struct err *err)
{
	struct spare *spare = mem_new0(1, sizeof(*spare));

	spare->host = host;
	(void)pthread_mutex_init(&spare->lock, NULL);
	host->spare = spare;
	return loop_timer_new(host->loop, make, spare, &spare->timer, err);
}

void spare_end(struct host *host)
{
	if (host->spare == NULL)
		return;
	reckon_engine_close(host->spare->engine);
	(void)pthread_mutex_destroy(&host->spare->lock);
	loop_timer_free(host->spare->timer);
	free(host->spare);
	host->spare = NULL;
}
