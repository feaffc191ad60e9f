/*
 * front_stats.h - one page of memory that reckond and its front share: numbers, nothing else.
 *
 * Descriptor FRONT_PAGE_FD of the front, made anew for each. One side writes a number, the other
 * reads it; none of them is a length, an index or an address of the reader's. What a captured
 * front writes here makes its own counts wrong.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define FRONT_PAGE_FD 5

/* Upper ends of the latency buckets in microseconds; behind the last comes all that took longer. */
#define FRONT_LATENCIES_US                                                                    \
	500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, \
		10000000, 60000000
#define FRONT_LATENCY_COUNT 15

struct front_stats {
	/* reckond writes */
	_Atomic uint64_t header_ms, body_ms;
	_Atomic uint64_t log_level, log_format, log_rate;
	/* the front writes */
	_Atomic uint64_t connections;	   /* now */
	_Atomic uint64_t accepted, turned_away;
	_Atomic uint64_t requests[6];	   /* by the first digit of the status; 0: broken off */
	_Atomic uint64_t received, sent;   /* bytes */
	_Atomic uint64_t latency[FRONT_LATENCY_COUNT];
	_Atomic uint64_t latency_us; /* their sum */
};

#define page_get(field) atomic_load_explicit(&(field), memory_order_relaxed)
#define page_set(field, value) atomic_store_explicit(&(field), (value), memory_order_relaxed)
/* Each number has one writer, so this is not a race. */
#define page_add(field, value) page_set(field, page_get(field) + (value))
