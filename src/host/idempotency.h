/*
 * idempotency.h - whether two requests with one Idempotency-Key are the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct host;
struct request;

/* Adds a field to a sum that says whether two requests are the same. */
void idempotency_hash(const struct host *host, unsigned char tag, const void *data, size_t len,
		      unsigned char sum[32]);
/* Whether both requests with one Idempotency-Key have the same sum; answers when they have not. */
bool idempotency_check(struct host *host, const struct request *req, const unsigned char before[32],
		       const unsigned char now[32]);
