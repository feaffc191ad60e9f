/*
 * idempotency.h - compares requests that have the same Idempotency-Key.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct host;
struct request;

/* Adds a field to the hash of a request. */
void idempotency_hash(const struct host *host, unsigned char tag, const void *data, size_t len,
		      unsigned char sum[32]);
/*
 * Whether both requests with one Idempotency-Key have the same hash; if not, answers the request.
 */
bool idempotency_check(struct host *host, const struct request *req, const unsigned char before[32],
		       const unsigned char now[32]);
