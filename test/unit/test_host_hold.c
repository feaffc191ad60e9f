/*
 * test_host_hold.c - when nobody cares for an execution any more.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    waits: the clock is a number.
 */
#include "unit.h"

#include <stdlib.h>

#include "host/executions/lease.h"

#define S 1000000000ull

UNIT_TEST(nobody_ever_went)
{
	struct lease *hold = lease_new(0, 1);

	assert_false(lease_is_over(hold, 1));
	assert_false(lease_is_over(hold, UINT64_MAX));
	/* A stranger's going is nobody's. */
	lease_drop(hold, 2, 5 * S);
	assert_false(lease_is_over(hold, UINT64_MAX));
	free(hold);
	assert_false(lease_is_over(NULL, UINT64_MAX));
	lease_take(NULL, 1);
	lease_drop(NULL, 1, S);
	lease_lose(NULL, 0, UINT64_MAX);
}

UNIT_TEST(the_last_one_ends_it)
{
	struct lease *hold = lease_new(0, 1);

	lease_take(hold, 2);
	lease_drop(hold, 1, 5 * S);
	assert_false(lease_is_over(hold, 6 * S));
	lease_drop(hold, 1, 6 * S);
	assert_false(lease_is_over(hold, 7 * S));
	lease_drop(hold, 2, 7 * S);
	assert_true(lease_is_over(hold, 7 * S));
	free(hold);
}

UNIT_TEST(whoever_comes_back_in_time_keeps_it)
{
	struct lease *hold = lease_new(3000, 1);

	lease_drop(hold, 1, 10 * S);
	assert_false(lease_is_over(hold, 13 * S - 1));
	lease_take(hold, 2);
	assert_false(lease_is_over(hold, 100 * S));
	/* And the time begins anew. */
	lease_drop(hold, 2, 100 * S);
	assert_false(lease_is_over(hold, 103 * S - 1));
	assert_true(lease_is_over(hold, 103 * S));
	free(hold);
}

UNIT_TEST(a_front_that_died_took_nobody_away)
{
	struct lease *hold = lease_new(3000, 1);

	lease_lose(hold, 0, UINT64_MAX);
	assert_false(lease_is_over(hold, UINT64_MAX));
	/* Its connections are known no more; one that comes back is. */
	lease_drop(hold, 1, 10 * S);
	assert_false(lease_is_over(hold, UINT64_MAX));
	lease_take(hold, 2);
	lease_drop(hold, 2, 20 * S);
	lease_lose(hold, 0, UINT64_MAX);
	assert_true(lease_is_over(hold, 23 * S));
	free(hold);
}

UNIT_TEST(only_the_connections_of_the_dead_one_are_lost)
{
	struct lease *hold = lease_new(0, 5);

	lease_take(hold, 10);
	lease_take(hold, 19);
	lease_take(hold, 20);
	lease_lose(hold, 10, 19);
	lease_drop(hold, 10, 1 * S);
	lease_drop(hold, 5, 2 * S);
	assert_false(lease_is_over(hold, UINT64_MAX));
	lease_drop(hold, 20, 3 * S);
	assert_true(lease_is_over(hold, 3 * S));
	free(hold);
}

UNIT_TEST(what_a_front_names_is_bounded)
{
	struct lease *hold = lease_new(UINT64_MAX, 1);

	for (uint64_t i = 2; i < 5000; i++)
		lease_take(hold, i);
	for (uint64_t i = 1; i <= LEASE_CONNECTIONS_MAX; i++)
		lease_drop(hold, i, 10 * S);
	assert_false(lease_is_over(hold, 3609 * S));
	assert_true(lease_is_over(hold, 3610 * S));
	free(hold);
}
