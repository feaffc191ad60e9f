/*
 * observe.c - counts events for the metrics, and takes samples of sessions periodically.
 *
 * Runs in:  reckond's loop.
 * Reads:    the host's own state, /proc and control groups of its boxes, the state directory.
 * Never:    takes longer if there are many sessions: a tick samples only a few.
 */
#include "host/operations/observe.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "host/host.h"

#define LOOKS_IN_A_TICK 4u
#define LOOK_BUSY_NS (2ull * 1000000000u)
#define LOOK_IDLE_NS (30ull * 1000000000u)
#define STORE_DIRECTORIES 256u
#define SAVE_NS (10ull * 1000000000u)

int observe_setup(struct host *host, struct err *err)
{
	struct observer *seen = &host->seen;

	seen->start_s = (uint64_t)time(NULL);
	seen->saved_ns = clock_mono_ns();
	if (db_total(host->db, "executions", &seen->lifetime_executions, err) < 0 ||
	    db_total(host->db, "sessions", &seen->lifetime_sessions, err) < 0)
		return (int)err->code;
	return db_total(host->db, "cpu_ns", &seen->lifetime_cpu_ns, err);
}

void observe_save(struct host *host)
{
	struct observer *seen = &host->seen;
	struct err err;

	seen->saved_ns = clock_mono_ns();
	if (db_total_set(host->db, "executions", seen->lifetime_executions, &err) < 0 ||
	    db_total_set(host->db, "sessions", seen->lifetime_sessions, &err) < 0 ||
	    db_total_set(host->db, "cpu_ns", seen->lifetime_cpu_ns, &err) < 0)
		log_line(LOG_WARN, "totals could not be kept", "why=\"%s\"", err.text);
}

/* ---- one sample ----------------------------------------------------------------------------- */

static void push(struct observed *observed, const struct sample *sample)
{
	size_t at;

	if (observed->count < OBSERVE_SAMPLES) {
		at = observed->count++;
	} else {
		at = observed->first;
		observed->first = (observed->first + 1) % OBSERVE_SAMPLES;
	}
	observed->samples[at] = *sample;
}

void observe_look(struct session *session, uint64_t now)
{
	struct observed *observed = session->box.observed;
	struct sample sample;
	struct err ignored;

	observed->looked_ns = now;
	observed->next_ns = now + (session->queue.running != NULL ? LOOK_BUSY_NS : LOOK_IDLE_NS);
	if (sample_take(observed->kernel_pid, &sample, &ignored) == 0)
		push(observed, &sample);
}

/* If the warden's pids mean nothing to us, the costs of executions are the only samples. */
static void note_cost(struct observed *observed, const reckon_cost *cost)
{
	struct timespec now;

	if (observed->kernel_pid > 0)
		return;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	observed->cpu_ns += cost->cpu_ns;
	/* Without a control group the present memory is unknown, so uses the peak. */
	push(observed,
	     &(struct sample){ .at_ms = (uint64_t)now.tv_sec * 1000 +
					(uint64_t)now.tv_nsec / 1000000,
			       .memory_bytes = cost->memory_bytes != 0 ? cost->memory_bytes
								       : cost->memory_peak_bytes,
			       .cpu_ns = observed->cpu_ns });
}

/* ---- events --------------------------------------------------------------------------------- */

void observe_opened(struct session *session, const struct job *job)
{
	struct observer *seen = &session->host->seen;
	reckon_opening opening = { .size = sizeof(opening) };
	unsigned warmth;

	if (session->box.handle == NULL ||
	    reckon_session_opening(session->box.handle, &opening, NULL) < 0) {
		metrics_add(&seen->metrics, METRICS_START_FAILED, 0, 1);
		return;
	}
	const struct {
		const char *phase;
		uint64_t ns;
	} phases[] = {
		{ "queue", job->times.begun_ns - job->times.queued_ns },
		{ "warden", opening.warden_ns },
		{ "shell", opening.shell_ns },		     { "spawn", opening.spawn_ns },
		{ "ready", opening.ready_ns },
	};

	seen->lifetime_sessions++;
	warmth = metrics_counter_label(METRICS_STARTS, opening.warmth);
	metrics_add(&seen->metrics, METRICS_STARTS, warmth, 1);
	metrics_observe(&seen->metrics, METRICS_START_TIME, warmth,
			clock_mono_ns() - job->times.queued_ns);
	for (size_t i = 0; i < ARRAY_LEN(phases); i++)
		metrics_observe(&seen->metrics, METRICS_START_PHASE,
				metrics_histogram_label(METRICS_START_PHASE, phases[i].phase),
				phases[i].ns);
	session->box.observed = mem_new0(1, sizeof(*session->box.observed));
	/* An ordinary user's warden is pid 1 of its own pid namespace. */
	session->box.observed->kernel_pid = geteuid() == 0 ? opening.kernel_pid : 0;
}

void observe_adopted(struct session *session)
{
	metrics_add(&session->host->seen.metrics, METRICS_ADOPTED, 0, 1);
	session->box.observed = mem_new0(1, sizeof(*session->box.observed));
	observe_kernel(session);
}

/* The kernel may have changed since the last job. */
void observe_kernel(struct session *session)
{
	reckon_opening opening = { .size = sizeof(opening) };

	if (session->box.observed == NULL)
		return;
	/* As above: pids from an ordinary user's warden would be other processes here. */
	session->box.observed->kernel_pid = 0;
	if (geteuid() == 0 && !session->box.kernel_lost &&
	    reckon_session_opening(session->box.handle, &opening, NULL) == 0)
		session->box.observed->kernel_pid = opening.kernel_pid;
}

void observe_job(struct host *host, const struct job *job)
{
	struct metrics *metrics = &host->seen.metrics;

	if (job->times.submitted_ns == 0)
		return;
	metrics_observe(metrics, METRICS_QUEUE_TIME, 0,
			job->times.submitted_ns - job->times.queued_ns);
	metrics_observe(metrics, METRICS_QUEUE_TIME, 1,
			job->times.begun_ns - job->times.submitted_ns);
}

void observe_execution(struct host *host, const struct job *job, const char *status)
{
	static const struct {
		const char *status, *limit;
	} limits[] = { { "timeout", "wall_time" },
		       { "out_of_memory", "memory" },
		       { "output_limit", "output" } };
	struct observer *seen = &host->seen;

	metrics_add(&seen->metrics, METRICS_EXECUTIONS,
		    metrics_counter_label(METRICS_EXECUTIONS, status), 1);
	seen->lifetime_executions++;
	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (strcmp(limits[i].status, status) == 0)
			observe_refused(host, limits[i].limit);
	if (job == NULL || job->times.ended_ns == 0)
		return;
	metrics_observe(&seen->metrics, METRICS_WALL, 0, job->times.ended_ns - job->times.begun_ns);
	metrics_observe(&seen->metrics, METRICS_CPU, 0, job->result.cost.cpu_ns);
	seen->lifetime_cpu_ns += job->result.cost.cpu_ns;
	if (job->session->box.observed != NULL)
		note_cost(job->session->box.observed, &job->result.cost);
}

void observe_refused(struct host *host, const char *limit)
{
	metrics_add(&host->seen.metrics, METRICS_LIMITS,
		    metrics_counter_label(METRICS_LIMITS, limit), 1);
}

/* ---- samples -------------------------------------------------------------------------------- */

/* Counts one of the store's 256 directories in each tick, and so all of them in a minute. */
static void count_store(struct host *host)
{
	struct observer *seen = &host->seen;
	char path[sizeof(host->config.state_dir) + 20];
	struct dirent *entry;
	struct stat st;
	cleanup_dir DIR *dir = NULL;

	(void)snprintf(path, sizeof(path), "%s/artifacts/%02x", host->config.state_dir,
		       seen->store_next);
	dir = opendir(path);
	while (dir != NULL && (entry = readdir(dir)) != NULL)
		if (entry->d_name[0] != '.' &&
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			seen->counting_objects++;
			seen->counting_bytes += (uint64_t)st.st_size;
		}
	if (++seen->store_next < STORE_DIRECTORIES)
		return;
	seen->store_objects = seen->counting_objects;
	seen->store_bytes = seen->counting_bytes;
	seen->store_next = 0;
	seen->counting_objects = seen->counting_bytes = 0;
}

void observe_tick(struct host *host)
{
	const uint64_t now = clock_mono_ns();
	unsigned looks = 0;

	for (struct session *at = host->sessions.first; at != NULL && looks < LOOKS_IN_A_TICK;
	     at = at->next) {
		struct observed *observed = at->box.observed;

		if (observed == NULL || !life_is_live(at->life))
			continue;
		/*
		 * Skips a session that is not due, unless work began while it had the longer
		 * interval.
		 */
		if (observed->next_ns > now &&
		    (at->queue.running == NULL || observed->next_ns < now + LOOK_BUSY_NS))
			continue;
		observe_look(at, now);
		looks++;
	}
	count_store(host);
	if (now - host->seen.saved_ns > SAVE_NS)
		observe_save(host);
}

bool metrics_are_open(const struct host *host)
{
	return host->config.metrics == CONFIG_METRICS_LOOPBACK && host->door.is_loopback;
}
