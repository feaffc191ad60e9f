/*
 * auth_throttle.h - limits how many unknown keys an address can try.
 *
 * A key cannot be guessed, but each attempt costs reckond a request. So each address has a bucket
 * of AUTH_BUCKET_KEYS wrong keys that refills by one each second. When it is empty, the front
 * refuses keys from that address itself, except keys that were good a moment ago: other clients
 * behind the same proxy keep working. The tables are bounded and coarse: an IPv6 address counts as
 * its /64, and a new address replaces the one that was idle longest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define AUTH_BUCKET_KEYS 32u

struct auth_throttle;
struct auth_peer {
	unsigned char address[9]; /* address family, and the significant bytes */
};

struct auth_throttle *auth_throttle_new(void); /* before the fence: it needs random bytes */
void auth_peer_of(const struct sockaddr *address, socklen_t len, struct auth_peer *ret);

/* A wrong key came from there; a request without a key does not count. */
void auth_failed(struct auth_throttle *throttle, const struct auth_peer *peer);
/* Whether the front may ask reckond about this key. */
bool auth_may_ask(const struct auth_throttle *throttle, const struct auth_peer *peer,
		  const char *key);
/* Records reckond's verdict on a key. */
void auth_learn(struct auth_throttle *throttle, const char *key, bool is_good);
