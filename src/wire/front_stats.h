/*
 * front_stats.h - one page of memory that reckond and its front share; it holds only numbers.
 *
 * Descriptor FRONT_PAGE_FD of the front; each front gets a new page. One side writes a number, the
 * other reads it, and never uses it as a length, index or address. A captured front can only
 * falsify its own counts.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define FRONT_PAGE_FD 5

/* Upper ends of the latency buckets in microseconds; a last bucket counts all longer requests. */
#define FRONT_LATENCIES_US                                                                    \
	500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, \
		10000000, 60000000
#define FRONT_LATENCY_COUNT 15

struct front_stats {
	/* written by reckond */
	_Atomic uint64_t header_ms, body_ms;
	_Atomic uint64_t log_level, log_format, log_rate;
	/* written by the front */
	_Atomic uint64_t connections;	   /* open now */
	_Atomic uint64_t accepted, turned_away;
	_Atomic uint64_t requests[6];	   /* by the first digit of the status; 0: aborted */
	_Atomic uint64_t received, sent;   /* bytes */
	_Atomic uint64_t latency[FRONT_LATENCY_COUNT];
	_Atomic uint64_t latency_us; /* sum of all latencies */
};

#define page_get(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define page_set(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)
/* Each number has one writer, so this is not a race. */
#define page_add(field, value) page_set(field, page_get(field) + (value))
