/*
 * key.c - API keys: "rk_" and 43 characters for 256 random bits, shown once, kept as a hash.
 *
 * Runs in:  reckond's loop.
 * Reads:    what a client presented.
 * Never:    keeps or logs a key. Keyed BLAKE2b suffices: what is random cannot be guessed, so a
 *           slow hash would only slow down each request.
 */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "host/host.h"

#define KEY_PREFIX "rk_"

void key_hash(const struct host *host, const void *bytes, size_t len, unsigned char ret[32])
{
	(void)crypto_generichash(ret, 32, bytes, len, host->key_secret, sizeof(host->key_secret));
}

bool key_is_good(const struct host *host, const char *text, size_t len)
{
	unsigned char hash[32];

	/* There the way in is the key: private.c. */
	if (host->config.is_private)
		return true;
	if (len < sizeof(KEY_PREFIX) || memcmp(text, KEY_PREFIX, sizeof(KEY_PREFIX) - 1) != 0)
		return false;
	key_hash(host, text, len, hash);
	return db_key_has(host->db, hash);
}

int key_setup(struct host *host, char ret_key[KEY_TEXT_SIZE], struct err *err)
{
	unsigned char random[32], hash[32];
	int count;

	ret_key[0] = '\0';
	if (sodium_init() < 0)
		return err_set(err, ERR_UNAVAILABLE, "libsodium does not start");
	if (db_secret(host->db, host->key_secret, err) < 0 ||
	    db_key_count(host->db, &count, err) < 0)
		return (int)err->code;
	if (count > 0)
		return 0;
	randombytes_buf(random, sizeof(random));
	memcpy(ret_key, KEY_PREFIX, sizeof(KEY_PREFIX));
	(void)sodium_bin2base64(ret_key + sizeof(KEY_PREFIX) - 1,
				KEY_TEXT_SIZE - sizeof(KEY_PREFIX) + 1, random, sizeof(random),
				sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sodium_memzero(random, sizeof(random));
	key_hash(host, ret_key, strlen(ret_key), hash);
	return db_key_add(host->db, hash, err);
}
