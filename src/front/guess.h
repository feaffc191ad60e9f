/*
 * guess.h - who tries keys that are not known, and how often that is answered.
 *
 * A key cannot be guessed; but each guess costs reckond a question. So each address has a bucket of
 * GUESS_BURST wrong keys that fills again by one each second. When it is empty, keys from there are
 * turned away here, without a question, unless they were good a moment ago: what is behind the same
 * proxy as a guesser goes on. All of it is bounded and coarse: an IPv6 address counts as its /64,
 * and the one that was quiet longest makes room for a new one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define GUESS_BURST 32u

struct guess;
struct guess_peer {
	unsigned char address[9]; /* its kind, and what counts of it */
};

struct guess *guess_new(void); /* before the fence: needs random bytes */
void guess_peer_of(const struct sockaddr *address, socklen_t len, struct guess_peer *ret);

/* The key from there was wrong; a request without a key is no guess. */
void guess_failed(struct guess *guess, const struct guess_peer *peer);
/* Whether this key may be asked about. */
bool guess_may_ask(const struct guess *guess, const struct guess_peer *peer, const char *key);
/* What reckond said of a key. */
void guess_learn(struct guess *guess, const char *key, bool is_good);
