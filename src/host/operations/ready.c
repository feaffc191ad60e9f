/*
 * ready.c - whether the daemon could accept and store a new session.
 *
 * Runs in:  reckond's loop; work_probe() in a thread of the pool.
 * Reads:    the host's own state, the database, the disk.
 * Never:    asks the warden more often than every few seconds: clients can ask at any rate.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/mem.h"
#include "host/calls/call.h"
#include "host/host.h"
#include "host/descriptors.h"

#define FRESH_NS (10ull * 1000000000u)
#define WRITE_NS 500000000ull
#define WAITING_MAX 64u
#define FREE_MIN (64ull << 20) /* bytes; with less, uploads and records may fail at any moment */

struct readiness {
	struct job *job; /* asks the warden, or NULL */
	uint64_t answered_ns; /* when the warden last answered; 0: never */
	bool is_up;
	char why[200];
	uint64_t written_ns; /* when the database was last tested */
	struct err written;
	uint64_t waiting[WAITING_MAX]; /* requests that wait for the warden */
	size_t waiting_count;
};

static struct readiness *readiness_of(struct host *host)
{
	if (host->operations.readiness == NULL)
		host->operations.readiness = mem_new0(1, sizeof(*host->operations.readiness));
	return host->operations.readiness;
}

/* Tests the database with a write, at most twice a second. */
static bool is_writable(struct host *host, struct readiness *readiness)
{
	const uint64_t now = clock_mono_ns();

	if (readiness->written_ns == 0 || now - readiness->written_ns > WRITE_NS) {
		readiness->written_ns = now;
		err_clear(&readiness->written);
		(void)db_total_set(host->db, "ready", (uint64_t)time(NULL), &readiness->written);
	}
	return readiness->written.code == ERR_OK;
}

bool observe_is_ready(struct host *host, char *ret_why, size_t size)
{
	struct readiness *readiness = readiness_of(host);

	if (lifecycle_is_ending(&host->life) || lifecycle_is_drained(&host->life))
		(void)snprintf(ret_why, size,
			       lifecycle_is_ending(&host->life) ? "the daemon is stopping"
								: "the daemon is draining");
	else if (host->operations.reserve.is_full)
		(void)snprintf(ret_why, size, "the disk of the state directory is full");
	else if (reserve_left(host) < FREE_MIN)
		(void)snprintf(ret_why, size,
			       "the disk of the state directory has less than %llu MiB left",
			       FREE_MIN >> 20);
	else if (!is_writable(host, readiness))
		(void)snprintf(ret_why, size, "%s", readiness->written.text);
	else if (!descriptors_are_left())
		(void)snprintf(ret_why, size, "%s", DESCRIPTORS_NONE_LEFT);
	else if (readiness->answered_ns != 0 && !readiness->is_up)
		(void)snprintf(ret_why, size, "the warden: %.180s", readiness->why);
	else
		return true;
	return false;
}

void handle_health(struct host *host, const struct request *req, const struct api_health_in *in)
{
	(void)in;
	reply_health(host, req->id,
		     &(struct api_health){ API_HEALTH_STATUS_OK, RECKON_VERSION });
}

static void reply(struct host *host, uint64_t request)
{
	struct api_dialect dialects[DIALECTS_MAX];
	char why[256];

	host->transactions.is_reading = true;
	if (!observe_is_ready(host, why, sizeof(why)))
		front_fail(host, request, API_ERR_NOT_READY, why, "", "", 2);
	else
		reply_ready(host, request,
			    &(struct api_ready_out){ API_READY_OUT_STATUS_READY,
						     { dialects, front_states(host, dialects) } });
	host->transactions.is_reading = false;
}

void handle_ready(struct host *host, const struct request *req, const struct api_ready_in *in)
{
	struct readiness *readiness = readiness_of(host);
	const uint64_t now = clock_mono_ns();

	(void)in;
	if (lifecycle_is_ending(&host->life) || !descriptors_are_left() ||
	    (readiness->answered_ns != 0 && now - readiness->answered_ns < FRESH_NS)) {
		reply(host, req->id);
		return;
	}
	if (readiness->waiting_count == WAITING_MAX) {
		front_fail(host, req->id, API_ERR_NOT_READY, "the warden has not answered yet",
			  "", "", 2);
		return;
	}
	readiness->waiting[readiness->waiting_count++] = req->id;
	if (readiness->job != NULL)
		return;
	readiness->job = job_new(NULL, JOB_PROBE, 0);
	readiness->job->host = host;
	pool_submit(host->pools.main, &readiness->job->item);
}

/* Runs in a thread of the pool. */
void work_probe(struct job *job)
{
	const reckon_engine_options options = {
		.size = sizeof(options),
		.state_dir = job->host->config.state_dir,
	};
	reckon_engine *engine;
	char *walls = NULL;

	if (reckon_engine_open(&options, &engine, &job->error) < 0)
		return;
	if (reckon_engine_doctor(engine, &walls, &job->error) == 0)
		job->error.code = 0;
	free(walls);
	reckon_engine_close(engine);
}

void readiness_done(struct job *job)
{
	struct host *host = job->host;
	struct readiness *readiness = readiness_of(host);

	readiness->job = NULL;
	readiness->answered_ns = clock_mono_ns();
	if (readiness->is_up && job->error.code < 0)
		log_line(LOG_ERROR, "the warden does not answer", "why=\"%s\"", job->error.message);
	readiness->is_up = job->error.code == 0;
	(void)snprintf(readiness->why, sizeof(readiness->why), "%.199s", job->error.message);
	job_free(job);
	for (size_t i = 0; i < readiness->waiting_count; i++)
		reply(host, readiness->waiting[i]);
	readiness->waiting_count = 0;
}
