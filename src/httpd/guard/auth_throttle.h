/*
 * auth_throttle.h - who tries keys that are not known, and how often that is answered.
 *
 * A key cannot be guessed; but each guess costs reckond a question. So each address has a bucket of
 * AUTH_BURST wrong keys that fills again by one each second. When it is empty, keys from there are
 * turned away here, without a question, unless they were good a moment ago: what is behind the same
 * proxy as a guesser goes on. All of it is bounded and coarse: an IPv6 address counts as its /64,
 * and the one that was quiet longest makes room for a new one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define AUTH_BURST 32u

struct auth_throttle;
struct auth_peer {
	unsigned char address[9]; /* its kind, and what counts of it */
};

struct auth_throttle *auth_throttle_new(void); /* before the fence: needs random bytes */
void auth_peer_of(const struct sockaddr *address, socklen_t len, struct auth_peer *ret);

/* The key from there was wrong; a request without a key is not a guess. */
void auth_failed(struct auth_throttle *throttle, const struct auth_peer *peer);
/* Whether this key may be asked about. */
bool auth_may_ask(const struct auth_throttle *throttle, const struct auth_peer *peer,
		  const char *key);
/* What reckond said of a key. */
void auth_learn(struct auth_throttle *throttle, const char *key, bool is_good);
