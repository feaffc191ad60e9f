/*
 * front_quota.h - what a tenant may have: the list that all who speak of quotas share.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
	/* of the processors, for all sessions together */
	FRONT_QUOTA_CPU_WEIGHT,
	FRONT_QUOTA_CPU_PERCENT,
	FRONT_QUOTA_PROCESSES, /* that clients started and that run */
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
