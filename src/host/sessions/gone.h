/*
 * gone.h - answers for a session that has ended or never existed.
 */
#pragma once

#include <stdint.h>

struct host;
struct tenant;

/* Answers why a tenant's session cannot be used: it ended, expired, was lost or never existed. */
void session_tell_gone(struct host *host, const struct tenant *tenant, uint64_t request,
		 const char *session_id);
