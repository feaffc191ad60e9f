/*
 * metrics.h - counters and histograms of the daemon, and their text for Prometheus (text format
 * 0.0.4).
 *
 * All labels have fixed sets of values, except a tenant's, of which METRICS_TENANTS_MAX are shown.
 * Counters start at 0 with the daemon; those named lifetime_ are stored in the database.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "wire/front_stats.h"

#define METRICS_LABELS_MAX 12u
#define METRICS_BUCKETS_MAX 16u
#define METRICS_TENANTS_MAX 200u

enum metrics_counter {
	METRICS_STARTS,	      /* by warmth */
	METRICS_START_FAILED,
	METRICS_ENDS,	      /* by state */
	METRICS_EXECUTIONS,   /* by status */
	METRICS_LIMITS,	      /* by limit */
	METRICS_REMOVED,      /* by kind */
	METRICS_RELOADS,      /* by result */
	METRICS_DENIED,
	METRICS_AUDIT,
	METRICS_RUNS,	      /* runs of models, by why they ended */
	METRICS_RUN_STEPS,
	METRICS_RUN_TOKENS,   /* by kind */
	METRICS_RUN_COST,
	METRICS_PROCESSES,    /* by cause */
	METRICS_ADOPTED,      /* by result */
	METRICS_COUNTER_COUNT_
};

enum metrics_histogram {
	METRICS_START_TIME,  /* by warmth */
	METRICS_START_PHASE, /* by phase */
	METRICS_QUEUE_TIME,  /* by queue */
	METRICS_WALL,
	METRICS_CPU,
	METRICS_COMMIT,
	METRICS_SYNC,
	METRICS_HISTOGRAM_COUNT_
};

struct metrics_series {
	uint64_t buckets[METRICS_BUCKETS_MAX + 1]; /* not cumulative; the last: above all bounds */
	uint64_t sum_ns;
};

struct metrics {
	uint64_t counters[METRICS_COUNTER_COUNT_][METRICS_LABELS_MAX];
	struct metrics_series series[METRICS_HISTOGRAM_COUNT_][METRICS_LABELS_MAX];
};

struct metrics_tenant {
	char id[40];
	uint64_t sessions, executions, cpu_ms, memory_bytes;
};

/* Values at the moment. */
struct metrics_now {
	const char *version;
	uint64_t sessions_opening, sessions_live, sessions_closing;
	uint64_t sessions_max;
	uint64_t jobs_waiting;	/* in the queues of their sessions */
	uint64_t workers_busy, workers_waiting, workers_max;
	uint64_t uploads;
	uint64_t processes; /* that clients started */
	uint64_t runs; /* running runs of models */
	uint64_t memory_bytes, memory_sessions; /* of live sessions; number of measured ones */
	uint64_t database_bytes, store_bytes, store_objects, disk_free_bytes;
	uint64_t start_s;	/* since 1970 */
	uint64_t cpu_ns, resident_bytes, descriptors, descriptors_max; /* of the process reckond */
	uint64_t lifetime_executions, lifetime_sessions, lifetime_cpu_ns;
	bool is_draining, is_ready;
	struct front_stats front;
	unsigned front_restarts;
	size_t tenant_count;
	struct metrics_tenant tenants[METRICS_TENANTS_MAX + 1]; /* the last: all others */
};

/* `label` is an index, or from the functions below; 0 if there are no labels. */
void metrics_add(struct metrics *metrics, enum metrics_counter counter, unsigned label, uint64_t n);
void metrics_observe(struct metrics *metrics, enum metrics_histogram histogram, unsigned label,
		     uint64_t ns);
/* The index of a word; for an unknown word the last one, "other". */
unsigned metrics_counter_label(enum metrics_counter counter, const char *word);
unsigned metrics_histogram_label(enum metrics_histogram histogram, const char *word);

/* Writes all metrics, grouped by family. */
int metrics_write(const struct metrics *metrics, const struct metrics_now *now, struct buf *ret,
		  struct err *err);

/* ---- the format ---- */
int metrics_family(struct buf *ret, const char *name, const char *type, const char *help,
		   struct err *err);
/* `labels`: pairs of name and value, terminated by NULL; escapes the values. */
int metrics_sample(struct buf *ret, const char *name, const char *const *labels, uint64_t value,
		   struct err *err);
/* The same in seconds, exact to the nanosecond. */
int metrics_sample_ns(struct buf *ret, const char *name, const char *const *labels, uint64_t ns,
		      struct err *err);
