/*
 * test_httpd_auth_throttle.c - wrong keys count per address; good keys still pass.
 *
 * Runs in:  the unit suite.
 * Reads:    the clock: it must use up a bucket faster than the bucket refills.
 * Never:    waits.
 */
#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include "httpd/guard/auth_throttle.h"

static struct auth_peer peer_of(const char *text)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct auth_peer peer;

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
		auth_peer_of((const struct sockaddr *)&v4, sizeof(v4), &peer);
	} else {
		assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
		auth_peer_of((const struct sockaddr *)&v6, sizeof(v6), &peer);
	}
	return peer;
}

static void exhaust(struct auth_throttle *throttle, const struct auth_peer *peer)
{
	for (unsigned i = 0; i < AUTH_BUCKET_KEYS * 100; i++)
		auth_failed(throttle, peer);
}

UNIT_TEST(an_empty_bucket_blocks_unknown_keys_of_its_address)
{
	struct auth_throttle *throttle = auth_throttle_new();
	const struct auth_peer bad = peer_of("10.0.0.1"), other = peer_of("10.0.0.2");

	auth_learn(throttle, "rk_good", true);
	for (unsigned i = 0; i < AUTH_BUCKET_KEYS - 1; i++)
		auth_failed(throttle, &bad);
	assert_true(auth_may_ask(throttle, &bad, "rk_any"));
	exhaust(throttle, &bad);
	assert_false(auth_may_ask(throttle, &bad, "rk_any"));
	assert_true(auth_may_ask(throttle, &other, "rk_any"));
	assert_true(auth_may_ask(throttle, &bad, "rk_good"));
	auth_learn(throttle, "rk_good", false);
	assert_false(auth_may_ask(throttle, &bad, "rk_good"));
	free(throttle);
}

UNIT_TEST(ipv6_counts_by_64_bit_prefix_and_mapped_ipv4_as_ipv4)
{
	struct auth_throttle *throttle = auth_throttle_new();
	const struct auth_peer one = peer_of("2001:db8:1:2::1"), near = peer_of("2001:db8:1:2:3::9"),
				far = peer_of("2001:db8:1:3::1"), mapped = peer_of("::ffff:10.0.0.1"),
				plain = peer_of("10.0.0.1");

	exhaust(throttle, &one);
	assert_false(auth_may_ask(throttle, &near, "rk_any"));
	assert_true(auth_may_ask(throttle, &far, "rk_any"));
	assert_true(auth_may_ask(throttle, &mapped, "rk_any"));
	exhaust(throttle, &mapped);
	assert_false(auth_may_ask(throttle, &plain, "rk_any"));
	free(throttle);
}

/* Wrong keys from many addresses do not block another address. */
UNIT_TEST(many_addresses)
{
	struct auth_throttle *throttle = auth_throttle_new();
	const struct auth_peer quiet = peer_of("192.0.2.1");
	char text[32];

	for (unsigned i = 0; i < 20000; i++) {
		(void)snprintf(text, sizeof(text), "10.%u.%u.1", i / 250, i % 250);
		const struct auth_peer peer = peer_of(text);

		auth_failed(throttle, &peer);
	}
	assert_true(auth_may_ask(throttle, &quiet, "rk_any"));
	free(throttle);
}
