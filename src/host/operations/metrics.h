/*
 * metrics.h - what the daemon counts, and its text for Prometheus (text format 0.0.4).
 *
 * Every label has a fixed set of values but a tenant's, of which METRICS_TENANTS_MAX are shown.
 * Counters begin with 0 when the daemon starts; those named lifetime_ are kept in the database.
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
	METRICS_RUNS,	      /* of models, by why they ended */
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
	uint64_t buckets[METRICS_BUCKETS_MAX + 1]; /* not cumulative; the last: beyond all bounds */
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

/* The states of the moment. */
struct metrics_now {
	const char *version;
	uint64_t sessions_opening, sessions_live, sessions_closing;
	uint64_t sessions_max;
	uint64_t jobs_waiting;	/* in their session's queue */
	uint64_t workers_busy, workers_waiting, workers_max;
	uint64_t uploads;
	uint64_t processes; /* that clients started */
	uint64_t runs; /* questions that models answer */
	uint64_t memory_bytes, memory_sessions; /* of live sessions, as last looked at; of how many */
	uint64_t database_bytes, store_bytes, store_objects, disk_free_bytes;
	uint64_t start_s;	/* since 1970 */
	uint64_t cpu_ns, resident_bytes, descriptors, descriptors_max; /* of reckond */
	uint64_t lifetime_executions, lifetime_sessions, lifetime_cpu_ns;
	bool is_draining, is_ready;
	struct front_stats front;
	unsigned front_restarts;
	size_t tenant_count;
	struct metrics_tenant tenants[METRICS_TENANTS_MAX + 1]; /* the last: all the others */
};

/* `label` is an index, or a word from metrics_label(); 0 for those without labels. */
void metrics_add(struct metrics *metrics, enum metrics_counter counter, unsigned label, uint64_t n);
void metrics_observe(struct metrics *metrics, enum metrics_histogram histogram, unsigned label,
		     uint64_t ns);
/* A word that is not known is the last one, "other". */
unsigned metrics_counter_label(enum metrics_counter counter, const char *word);
unsigned metrics_histogram_label(enum metrics_histogram histogram, const char *word);

/* All of it; families of the same name stand together. */
int metrics_write(const struct metrics *metrics, const struct metrics_now *now, struct buf *ret,
		  struct err *err);

/* ---- the format ---- */
int metrics_family(struct buf *ret, const char *name, const char *type, const char *help,
		   struct err *err);
/* `labels`: pairs of name and value, up to a NULL; values are escaped. */
int metrics_sample(struct buf *ret, const char *name, const char *const *labels, uint64_t value,
		   struct err *err);
/* The same in seconds, exact to the nanosecond. */
int metrics_sample_ns(struct buf *ret, const char *name, const char *const *labels, uint64_t ns,
		      struct err *err);
