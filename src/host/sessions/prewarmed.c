/*
 * prewarmed.c - keeps one engine connected to the warden for the next session.
 *
 * Runs in:  reckond's loop; prewarmed_work() in a thread of the pool.
 * Reads:    nothing.
 * Never:    makes an engine before a session was opened, or keeps an unused one for long.
 *
 * Each session has its own engine, which takes three dozen system calls and a round trip to the
 * warden. To save a request that time, an engine is made shortly after a session was opened, when
 * its first cell has most likely ended. It is closed if no session needs it for a while, because a
 * warden ends only when it has no connection.
 */
#include "host/sessions/prewarmed.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "host/host.h"

#define SPARE_AFTER_MS 25u
#define PREWARMED_MAX_AGE_NS (30ull * 1000000000u)

struct prewarmed {
	struct host *host;
	struct loop_timer *timer;
	bool is_requested; /* a job is making one */
	pthread_mutex_t lock;
	/* protected by the lock */
	reckon_engine *engine;
	uint64_t since_ns;
};

static reckon_engine *take(struct prewarmed *prewarmed, uint64_t older_than_ns)
{
	reckon_engine *engine = NULL;

	(void)pthread_mutex_lock(&prewarmed->lock);
	if (prewarmed->since_ns <= older_than_ns)
		engine = TAKE_PTR(prewarmed->engine);
	(void)pthread_mutex_unlock(&prewarmed->lock);
	return engine;
}

reckon_engine *prewarmed_take(struct host *host)
{
	return take(host->sessions.prewarmed, UINT64_MAX);
}

static bool has_one(struct prewarmed *prewarmed)
{
	bool found;

	(void)pthread_mutex_lock(&prewarmed->lock);
	found = prewarmed->engine != NULL;
	(void)pthread_mutex_unlock(&prewarmed->lock);
	return found;
}

static void make(void *arg)
{
	struct prewarmed *prewarmed = arg;
	struct host *host = prewarmed->host;
	struct job *job;

	if (prewarmed->is_requested || lifecycle_is_ending(&host->life) ||
	    lifecycle_is_drained(&host->life) || has_one(prewarmed))
		return;
	job = job_new(NULL, JOB_SPARE, 0);
	job->host = host;
	prewarmed->is_requested = true;
	pool_submit(host->pools.main, &job->item);
}

void prewarmed_want(struct host *host)
{
	loop_timer_set(host->sessions.prewarmed->timer, SPARE_AFTER_MS);
}

/* Runs in a thread of the pool. */
void prewarmed_work(struct job *job)
{
	struct prewarmed *prewarmed = job->host->sessions.prewarmed;
	reckon_engine *engine;

	if (work_engine(job->host, &engine, &job->error) < 0)
		return;
	if (reckon_engine_connect(engine, &job->error) < 0) {
		reckon_engine_close(engine);
		return;
	}
	(void)pthread_mutex_lock(&prewarmed->lock);
	prewarmed->engine = engine;
	prewarmed->since_ns = clock_mono_ns();
	(void)pthread_mutex_unlock(&prewarmed->lock);
}

/* Ignores errors: the next session meets them again, and reports them. */
void prewarmed_done(struct job *job)
{
	job->host->sessions.prewarmed->is_requested = false;
	job_free(job);
}

void prewarmed_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();

	if (now > PREWARMED_MAX_AGE_NS)
		reckon_engine_close(take(host->sessions.prewarmed, now - PREWARMED_MAX_AGE_NS));
}

int prewarmed_begin(struct host *host, struct err *err)
{
	struct prewarmed *prewarmed = mem_new0(1, sizeof(*prewarmed));

	prewarmed->host = host;
	(void)pthread_mutex_init(&prewarmed->lock, NULL);
	host->sessions.prewarmed = prewarmed;
	return loop_timer_new(host->loop, make, prewarmed, &prewarmed->timer, err);
}

void prewarmed_end(struct host *host)
{
	if (host->sessions.prewarmed == NULL)
		return;
	reckon_engine_close(host->sessions.prewarmed->engine);
	(void)pthread_mutex_destroy(&host->sessions.prewarmed->lock);
	loop_timer_free(host->sessions.prewarmed->timer);
	free(host->sessions.prewarmed);
	host->sessions.prewarmed = NULL;
}
