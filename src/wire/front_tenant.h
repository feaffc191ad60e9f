/*
 * front_tenant.h - tenants, their keys and what they may use, as frames of front.h hold them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a key may do; docs/tenants.md. */
#define FRONT_SCOPE_ADMIN 1u
#define FRONT_SCOPE_SESSIONS 2u
#define FRONT_SCOPE_EXECUTE 4u
#define FRONT_SCOPE_FILES 8u
#define FRONT_SCOPE_READ 16u
#define FRONT_SCOPE_AGENT 32u /* to spend what models cost */
#define FRONT_SCOPES 6
#define FRONT_SCOPES_ALL ((1u << FRONT_SCOPES) - 1)
extern const char *const front_scope_names[FRONT_SCOPES]; /* by bit */

enum front_quota {
	FRONT_QUOTA_SESSIONS,	 /* live ones */
	FRONT_QUOTA_EXECUTIONS,	 /* that run or wait */
	FRONT_QUOTA_QUEUED,	 /* of those, that wait */
	FRONT_QUOTA_WORKERS,	 /* at once; what is more waits */
	FRONT_QUOTA_WEIGHT,	 /* share of the workers */
	FRONT_QUOTA_REQUESTS,	 /* each second */
	FRONT_QUOTA_CPU,	 /* ms in an hour */
	FRONT_QUOTA_MEMORY,	 /* sum of the limits of live sessions */
	FRONT_QUOTA_MEMORY_USED, /* measured */
	FRONT_QUOTA_DISK,	 /* workspaces, and what is kept */
	/* The most that a session may be given. */
	FRONT_QUOTA_MAX_WALL,
	FRONT_QUOTA_MAX_CPU,
	FRONT_QUOTA_MAX_MEMORY,
	FRONT_QUOTA_MAX_DISK,
	FRONT_QUOTA_MAX_INODES,
	FRONT_QUOTA_MAX_FILE,
	FRONT_QUOTA_MAX_OUTPUT,
	FRONT_QUOTA_MAX_PIDS,
	FRONT_QUOTA_MAX_CPU_PERCENT,
	FRONT_QUOTA_MAX_DISPLAYS,
	FRONT_QUOTA_MAX_IDLE,
	FRONT_QUOTA_COUNT,
};

struct front_quota_kind {
	const char *name;
	bool is_seconds; /* held in ms */
	uint64_t max;
};
extern const struct front_quota_kind front_quota_kinds[FRONT_QUOTA_COUNT];

/* `given`: a bit for each one that is named; what is named with 0 is none. */
struct front_quotas {
	uint64_t given;
	uint64_t value[FRONT_QUOTA_COUNT];
};

/* What a tenant used on a day. */
struct front_usage {
	uint64_t executions;
	uint64_t wall_ms;
	uint64_t cpu_ms;
	uint64_t memory_mib_s; /* the peak of each execution, for as long as it took */
	uint64_t bytes_in;     /* code and uploads */
	uint64_t bytes_out;    /* records and downloads */
	uint64_t disk_bytes;   /* the most that was kept at once */
	uint64_t sessions;     /* opened */
};

struct front_numbers {
	uint64_t value;
	uint64_t limit;
};

struct front_queue {
	uint64_t position; /* how many are before this one */
	uint64_t estimate_ms;
};
