/*
 * observe.h - metrics, samples of sessions, readiness.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/operations/metrics.h"
#include "host/sessions/sample.h"

#define OBSERVE_SAMPLES 120u /* per session: four minutes of work, or an hour of rest */

struct request;
struct host;
struct job;
struct session;

/* The last samples of one session, in a ring. */
struct observed {
	int kernel_pid; /* 0: cannot be sampled */
	uint64_t cpu_ns; /* total, if only executions are measured */
	uint64_t looked_ns, next_ns; /* when it was last sampled, and when it is due */
	size_t first, count;
	struct sample samples[OBSERVE_SAMPLES];
};

/* Counters and times of the host; all zero at its start. */
struct observer {
	struct metrics metrics;
	uint64_t lifetime_executions, lifetime_sessions, lifetime_cpu_ns;
	uint64_t saved_ns;
	uint64_t store_bytes, store_objects; /* as of the last complete count */
	uint64_t counting_bytes, counting_objects;
	unsigned store_next;
	uint64_t start_s;
};

int observe_setup(struct host *host, struct err *err);
void observe_tick(struct host *host); /* takes some samples, and stores totals from time to time */
void observe_save(struct host *host); /* stores the totals that survive restarts */

void observe_opened(struct session *session, const struct job *job);
void observe_adopted(struct session *session);
void observe_execution(struct host *host, const struct job *job, const char *status);
void observe_kernel(struct session *session);
void observe_job(struct host *host, const struct job *job);
void observe_refused(struct host *host, const char *limit);
void observe_look(struct session *session, uint64_t now); /* a sample; it must be observed */

/* Whether the daemon could accept and store a new session; if not, the reason. */
bool observe_is_ready(struct host *host, char *ret_why, size_t size);

bool metrics_are_open(const struct host *host); /* without a key */
