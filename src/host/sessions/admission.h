/*
 * admission.h - whether the host has memory, and the daemon descriptors, for one more session.
 *
 * Limits are promises that hardly anybody uses up, so their sum says little. What counts is what
 * the kernel says can be had without swapping, here and in each cgroup that we are in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "wire/front.h"

struct host;
struct request;

/* What the daemon has let in. */
struct admission {
	unsigned opening;     /* sessions that are admitted, and not open yet */
	uint64_t memory_used; /* of all sessions, as last measured */
	uint64_t available, available_ns; /* to be had of the host, and when that was read */
	uint64_t admitted; /* to sessions since it was read */
};

/*
 * Bytes that could still be had: the least of MemAvailable and of what each memory cgroup from
 * ours upwards leaves. UINT64_MAX when nothing can be read. `root` is "" but in tests.
 */
uint64_t admission_available(const char *root);

/* What has to be free for a session with these limits. */
uint64_t admission_need(const struct host *host, const struct front_limits *limits);

/* False when there is too little; then the request was answered. */
bool admission_check(struct host *host, const struct request *req,
		     const struct front_limits *limits);
