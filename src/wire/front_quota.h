/*
 * front_quota.h - the quotas of a tenant: one list for all programs.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum front_quota {
	FRONT_QUOTA_SESSIONS,	 /* live ones */
	FRONT_QUOTA_EXECUTIONS,	 /* running or waiting */
	FRONT_QUOTA_QUEUED,	 /* of those, the waiting ones */
	FRONT_QUOTA_WORKERS,	 /* at once; further executions wait */
	FRONT_QUOTA_WEIGHT,	 /* share of the workers */
	FRONT_QUOTA_REQUESTS,	 /* per second */
	FRONT_QUOTA_CPU,	 /* ms per hour */
	FRONT_QUOTA_MEMORY,	 /* sum of the limits of live sessions */
	FRONT_QUOTA_MEMORY_USED, /* measured */
	FRONT_QUOTA_DISK,	 /* workspaces and stored data */
	/* Upper limits for one session. */
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
	/* share of the processors, for all sessions together */
	FRONT_QUOTA_CPU_WEIGHT,
	FRONT_QUOTA_CPU_PERCENT,
	FRONT_QUOTA_PROCESSES, /* started by clients and still running */
	FRONT_QUOTA_COUNT,
};

struct front_quota_kind {
	const char *name;
	bool is_seconds; /* held in ms */
	uint64_t max;
};
extern const struct front_quota_kind front_quota_kinds[FRONT_QUOTA_COUNT];

/* `given` has a bit for each quota that is set; a quota set to 0 is unlimited. */
struct front_quotas {
	uint64_t given;
	uint64_t value[FRONT_QUOTA_COUNT];
};
