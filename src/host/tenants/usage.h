/*
 * usage.h - usage of tenants: by day in the database, and since the start in memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/front.h"

struct host;
struct request;
struct tenant;
struct job;

/* One tenant's values at the moment. */
struct usage_view {
	const char *tenant; /* the tenant's id */
	const char *name;
	unsigned sessions, executions;
	uint64_t memory_limit_bytes; /* sum of its sessions' limits */
	uint64_t memory_used_bytes;  /* as last measured */
	uint64_t workspace_bytes;
	uint64_t stored_bytes;
	struct front_usage since_start;
};
typedef void usage_fn(const struct usage_view *view, void *arg);
void usage_each(const struct host *host, usage_fn *fn, void *arg);

/* Adds to the tenant's day; an error of the database is only logged. */
void usage_add(struct host *host, struct tenant *tenant, const struct front_usage *usage);
/* Subtracts a session that was counted but not opened. */
void usage_unopened(struct host *host, struct tenant *tenant);
/* Adds cost and objects of an execution: to the day, the hour's CPU time, the tenant's objects. */
void usage_executed(struct host *host, const struct job *job);
/* Records that the tenant owns this artifact or output of `size` bytes. */
void usage_own(struct host *host, struct tenant *tenant, const char *id, uint64_t size);
/* Whether the tenant owns this artifact or output. */
bool usage_owns(struct host *host, const struct tenant *tenant, const char *handle);

