/*
 * front_tenant.h - permissions of keys and usage of tenants, as in the frames of front.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Permissions of a key; see docs/tenants.md. */
#define FRONT_SCOPE_ADMIN 1u
#define FRONT_SCOPE_SESSIONS 2u
#define FRONT_SCOPE_EXECUTE 4u
#define FRONT_SCOPE_FILES 8u
#define FRONT_SCOPE_READ 16u
#define FRONT_SCOPE_AGENT 32u /* to spend money on models */
#define FRONT_SCOPES 6
#define FRONT_SCOPES_ALL ((1u << FRONT_SCOPES) - 1)
extern const char *const front_scope_names[FRONT_SCOPES]; /* by bit */

/* A tenant's usage on one day. */
struct front_usage {
	uint64_t executions;
	uint64_t wall_ms;
	uint64_t cpu_ms;
	uint64_t memory_mib_s; /* each execution's peak times its duration */
	uint64_t bytes_in;     /* code and uploads */
	uint64_t bytes_out;    /* records and downloads */
	uint64_t disk_bytes;   /* largest amount stored at one time */
	uint64_t sessions;     /* opened */
};

struct front_numbers {
	uint64_t value;
	uint64_t limit;
};

struct front_queue {
	uint64_t position; /* number of executions before this one */
	uint64_t estimate_ms;
};
