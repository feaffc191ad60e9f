/*
 * sha256.c - SHA-256 of bytes, with libmd.
 *
 * Runs in:  the processes that speak HTTP.
 * Reads:    any bytes.
 * Never:    hashes secrets: its callers hash content that the client may read.
 */
#include "codec/hash/sha256.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <sha2.h>

void sha256_text(const void *bytes, size_t len, char ret[SHA256_TEXT_SIZE])
{
	uint8_t sum[SHA256_DIGEST_LENGTH];
	SHA2_CTX context;

	SHA256Init(&context);
	SHA256Update(&context, bytes, len);
	SHA256Final(sum, &context);
	for (size_t i = 0; i < sizeof(sum); i++)
		(void)snprintf(ret + 2 * i, 3, "%02x", sum[i]);
}
