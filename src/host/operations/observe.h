/*
 * observe.h - what reckond tells of itself: metrics, samples of its sessions, readiness.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/operations/metrics.h"
#include "host/sessions/sample.h"

#define OBSERVE_SAMPLES 120u /* of a session: four minutes of work, or an hour of rest */

struct request;
struct host;
struct job;
struct session;

/* The newest samples of one session, in a ring. */
struct observed {
	int kernel_pid; /* 0: not ours to look at */
	uint64_t cpu_ns; /* so far, where only executions tell */
	uint64_t looked_ns, next_ns; /* when it was looked at, and is again */
	size_t first, count;
	struct sample samples[OBSERVE_SAMPLES];
};

/* Counters and clocks of the host; all zero when it starts. */
struct observer {
	struct metrics metrics;
	uint64_t lifetime_executions, lifetime_sessions, lifetime_cpu_ns;
	uint64_t saved_ns;
	uint64_t store_bytes, store_objects; /* as last counted, all of it */
	uint64_t counting_bytes, counting_objects;
	unsigned store_next;
	uint64_t start_s;
};

int observe_setup(struct host *host, struct err *err);
void observe_tick(struct host *host); /* some samples, now and then the totals */
void observe_save(struct host *host); /* totals that outlive us */

void observe_opened(struct session *session, const struct job *job);
void observe_adopted(struct session *session);
void observe_execution(struct host *host, const struct job *job, const char *status);
void observe_kernel(struct session *session);
void observe_job(struct host *host, const struct job *job);
void observe_refused(struct host *host, const char *limit);
void observe_look(struct session *session, uint64_t now); /* a sample of it; it is observed */

/* Whether the daemon would take and keep a new session; else why not. */
bool observe_is_ready(struct host *host, char *ret_why, size_t size);

bool metrics_are_open(const struct host *host); /* to those without a key */
