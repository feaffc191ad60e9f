/*
 * test_host_hold.c - a lease is over when the last connection has closed.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    waits: the clock is a number.
 */
#include "unit.h"

#include <stdlib.h>

#include "host/executions/lease.h"

#define S 1000000000ull

UNIT_TEST(a_lease_without_a_disconnect_is_never_over)
{
	struct lease *lease = lease_new(0, 1);

	assert_false(lease_is_over(lease, 1));
	assert_false(lease_is_over(lease, UINT64_MAX));
	/* A connection that does not lease the lease changes nothing when it closes. */
	lease_drop(lease, 2, 5 * S);
	assert_false(lease_is_over(lease, UINT64_MAX));
	free(lease);
	assert_false(lease_is_over(NULL, UINT64_MAX));
	lease_take(NULL, 1);
	lease_drop(NULL, 1, S);
	lease_lose(NULL, 0, UINT64_MAX);
}

UNIT_TEST(the_last_disconnect_ends_the_lease)
{
	struct lease *lease = lease_new(0, 1);

	lease_take(lease, 2);
	lease_drop(lease, 1, 5 * S);
	assert_false(lease_is_over(lease, 6 * S));
	lease_drop(lease, 1, 6 * S);
	assert_false(lease_is_over(lease, 7 * S));
	lease_drop(lease, 2, 7 * S);
	assert_true(lease_is_over(lease, 7 * S));
	free(lease);
}

UNIT_TEST(a_connection_within_the_grace_period_renews_the_lease)
{
	struct lease *lease = lease_new(3000, 1);

	lease_drop(lease, 1, 10 * S);
	assert_false(lease_is_over(lease, 13 * S - 1));
	lease_take(lease, 2);
	assert_false(lease_is_over(lease, 100 * S));
	/* The grace period starts again. */
	lease_drop(lease, 2, 100 * S);
	assert_false(lease_is_over(lease, 103 * S - 1));
	assert_true(lease_is_over(lease, 103 * S));
	free(lease);
}

UNIT_TEST(a_crash_of_the_front_is_not_a_disconnect)
{
	struct lease *lease = lease_new(3000, 1);

	lease_lose(lease, 0, UINT64_MAX);
	assert_false(lease_is_over(lease, UINT64_MAX));
	/* The lease forgets the connections of the front; a new connection counts. */
	lease_drop(lease, 1, 10 * S);
	assert_false(lease_is_over(lease, UINT64_MAX));
	lease_take(lease, 2);
	lease_drop(lease, 2, 20 * S);
	lease_lose(lease, 0, UINT64_MAX);
	assert_true(lease_is_over(lease, 23 * S));
	free(lease);
}

UNIT_TEST(a_crash_drops_only_the_connections_of_that_front)
{
	struct lease *lease = lease_new(0, 5);

	lease_take(lease, 10);
	lease_take(lease, 19);
	lease_take(lease, 20);
	lease_lose(lease, 10, 19);
	lease_drop(lease, 10, 1 * S);
	lease_drop(lease, 5, 2 * S);
	assert_false(lease_is_over(lease, UINT64_MAX));
	lease_drop(lease, 20, 3 * S);
	assert_true(lease_is_over(lease, 3 * S));
	free(lease);
}

UNIT_TEST(connections_and_the_grace_period_are_limited)
{
	struct lease *lease = lease_new(UINT64_MAX, 1);

	for (uint64_t i = 2; i < 5000; i++)
		lease_take(lease, i);
	for (uint64_t i = 1; i <= LEASE_CONNECTIONS_MAX; i++)
		lease_drop(lease, i, 10 * S);
	assert_false(lease_is_over(lease, 3609 * S));
	assert_true(lease_is_over(lease, 3610 * S));
	free(lease);
}
