/*
 * auth_throttle.c - limits how many unknown keys an address can try.
 *
 * Runs in:  a process that speaks HTTP.
 * Reads:    addresses of clients, keys that they send.
 * Never:    stores a key: only a short hash of it, with a secret that the process never saves.
 */
#include "httpd/guard/auth_throttle.h"

#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/mem.h"

#define SETS 1024u
#define WAYS 4u
#define KNOWN 4096u
#define UNIT 1000u /* bucket contents in thousandths; one is added each millisecond */

struct source {
	struct auth_peer peer;
	bool is_used;
	uint64_t tokens;
	uint64_t at_ms;
};

struct auth_throttle {
	uint64_t secret;
	struct source sources[SETS][WAYS];
	uint64_t known[KNOWN]; /* hashes of good keys; a newer one replaces the older in its slot */
};

struct auth_throttle *auth_throttle_new(void)
{
	struct auth_throttle *throttle = mem_new0(1, sizeof(*throttle));

	/* Without random bytes only the positions in the tables are predictable. */
	if (getrandom(&throttle->secret, sizeof(throttle->secret), 0) < 0)
		throttle->secret = clock_mono_ns();
	return throttle;
}

void auth_peer_of(const struct sockaddr *address, socklen_t len, struct auth_peer *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (len >= sizeof(struct sockaddr_in) && address->sa_family == AF_INET) {
		struct sockaddr_in v4;

		memcpy(&v4, address, sizeof(v4));
		ret->address[0] = 4;
		memcpy(ret->address + 1, &v4.sin_addr, 4);
	} else if (len >= sizeof(struct sockaddr_in6) && address->sa_family == AF_INET6) {
		struct sockaddr_in6 v6;

		memcpy(&v6, address, sizeof(v6));
		ret->address[0] = 6;
		memcpy(ret->address + 1, &v6.sin6_addr, 8);
		if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
			memset(ret->address, 0, sizeof(ret->address));
			ret->address[0] = 4;
			memcpy(ret->address + 1, v6.sin6_addr.s6_addr + 12, 4);
		}
	}
}

/* FNV-1a with a secret start, mixed. It only finds entries; a match grants no access. */
static uint64_t hash(const struct auth_throttle *throttle, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t value = throttle->secret;

	for (size_t i = 0; i < len; i++)
		value = (value ^ at[i]) * 1099511628211u;
	value = (value ^ value >> 33) * 0xff51afd7ed558ccdu;
	return value ^ value >> 33;
}

static uint64_t now_ms(void)
{
	return clock_mono_ns() / 1000000u;
}

static uint64_t tokens_of(const struct source *source, uint64_t now)
{
	const uint64_t tokens = source->tokens + (now - source->at_ms);

	return tokens < AUTH_BUCKET_KEYS * UNIT ? tokens : AUTH_BUCKET_KEYS * UNIT;
}

static const struct source *find(const struct auth_throttle *throttle, const struct auth_peer *peer)
{
	const struct source *set = throttle->sources[hash(throttle, peer, sizeof(*peer)) % SETS];

	for (size_t i = 0; i < WAYS; i++)
		if (set[i].is_used && memcmp(&set[i].peer, peer, sizeof(*peer)) == 0)
			return &set[i];
	return NULL;
}

/* Finds the address's entry, or replaces the one that was idle longest. */
static struct source *place(struct auth_throttle *throttle, const struct auth_peer *peer,
			    uint64_t now)
{
	struct source *set = throttle->sources[hash(throttle, peer, sizeof(*peer)) % SETS];
	struct source *oldest = &set[0];

	for (size_t i = 0; i < WAYS; i++) {
		if (set[i].is_used && memcmp(&set[i].peer, peer, sizeof(*peer)) == 0)
			return &set[i];
		if (!set[i].is_used || (oldest->is_used && set[i].at_ms < oldest->at_ms))
			oldest = &set[i];
	}
	*oldest = (struct source){
		.peer = *peer, .is_used = true, .tokens = AUTH_BUCKET_KEYS * UNIT, .at_ms = now
	};
	return oldest;
}

void auth_failed(struct auth_throttle *throttle, const struct auth_peer *peer)
{
	const uint64_t now = now_ms();
	struct source *source = place(throttle, peer, now);
	const uint64_t tokens = tokens_of(source, now);

	source->tokens = tokens > UNIT ? tokens - UNIT : 0;
	source->at_ms = now;
}

bool auth_may_ask(const struct auth_throttle *throttle, const struct auth_peer *peer,
		  const char *key)
{
	const struct source *source = find(throttle, peer);
	uint64_t known;

	if (source == NULL || tokens_of(source, now_ms()) >= UNIT)
		return true;
	known = hash(throttle, key, strlen(key));
	return throttle->known[known % KNOWN] == known;
}

void auth_learn(struct auth_throttle *throttle, const char *key, bool is_good)
{
	const uint64_t known = hash(throttle, key, strlen(key));
	uint64_t *at = &throttle->known[known % KNOWN];

	if (is_good)
		*at = known;
	else if (*at == known)
		*at = 0;
}
