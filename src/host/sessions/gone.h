/*
 * gone.h - what became of a session that is no more, or never was.
 */
#pragma once

#include <stdint.h>

struct host;
struct tenant;

/* Answers with what became of a tenant's session that is no more, or was never. */
void session_tell_gone(struct host *host, const struct tenant *tenant, uint64_t request,
		 const char *session_id);
