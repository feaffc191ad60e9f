/*
 * admission.h - checks whether the host has memory for one more session.
 *
 * Few sessions use their whole limit, so the sum of limits says little. The check uses the memory
 * that the kernel can provide without swapping, on the host and in each cgroup around us.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/front.h"

struct host;
struct request;

/* Sessions that the daemon admitted, and the host's memory. */
struct admission {
	unsigned opening;     /* sessions that are admitted but not open yet */
	uint64_t memory_used; /* of all sessions, as last measured */
	uint64_t available, available_ns; /* memory of the host, and when it was read */
	uint64_t admitted; /* memory for sessions admitted since then */
};

/*
 * Available bytes: the least of MemAvailable and of what each memory cgroup from ours upwards has
 * left. UINT64_MAX if nothing can be read. `root` is "" except in tests.
 */
uint64_t admission_available(const char *root);

/* Memory that must be available to admit a session with these limits. */
uint64_t admission_need(const struct host *host, const struct front_limits *limits);

/* False if there is too little memory; then it answers the request. */
bool admission_check(struct host *host, const struct request *req,
		     const struct front_limits *limits);
