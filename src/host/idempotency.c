/*
 * idempotency.c - compares requests that have the same Idempotency-Key.
 *
 * Runs in:  reckond's loop.
 * Reads:    fields of requests.
 */
#include "host/idempotency.h"

#include <string.h>

#include "host/host.h"

void idempotency_hash(const struct host *host, unsigned char tag, const void *data, size_t len,
		      unsigned char sum[32])
{
	unsigned char next[32 + 32 + 1];

	memcpy(next, sum, 32);
	key_hash(host, data, len, next + 32);
	next[64] = tag;
	key_hash(host, next, sizeof(next), sum);
}

bool idempotency_check(struct host *host, const struct request *req, const unsigned char before[32],
		       const unsigned char now[32])
{
	if (memcmp(before, now, 32) == 0)
		return true;
	front_fail(host, req->id, API_ERR_CONFLICT,
		  "this Idempotency-Key was used for another request", "",
		  "use a new key for new code, or a new question", 0);
	return false;
}
