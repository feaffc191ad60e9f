/*
 * test_box_verify.c - a kernel that lacks a wall is refused.
 *
 * Runs in:  the unit suite, whose own process has no walls.
 * Reads:    /proc of this process.
 * Never:    makes a box: test/attack does.
 */
#include "unit.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "box/walls/verify.h"

UNIT_TEST(a_process_without_walls_is_refused)
{
	struct err err;

	assert_err(&err, ERR_DENIED, verify_kernel(getpid(), false, &err));
	assert_err(&err, ERR_DENIED, verify_kernel(getpid(), true, &err));
}

/* A box without Landlock rules is accepted only if the system does not support Landlock. */
UNIT_TEST(a_box_needs_landlock_rules_if_the_system_supports_them)
{
	const long abi = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1);
	struct err err;

	err_clear(&err);
	assert_int_equal(verify_landlock(-1, &err), abi >= 1 ? ERR_DENIED : 0);
	assert_int_equal(verify_landlock(0, &err), 0);
}
