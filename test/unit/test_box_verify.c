/*
 * test_box_verify.c - what is said of a kernel that lacks a wall.
 *
 * Runs in:  the unit suite, whose own process has no wall at all.
 * Reads:    /proc of this process.
 * Never:    makes a box: test/attack does.
 */
#include "unit.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "box/walls/verify.h"

UNIT_TEST(a_process_without_walls_is_no_kernel)
{
	struct err err;

	assert_err(&err, ERR_DENIED, verify_kernel(getpid(), false, &err));
	assert_err(&err, ERR_DENIED, verify_kernel(getpid(), true, &err));
}

/* A box without rules passes where the system has no Landlock, and nowhere else. */
UNIT_TEST(a_box_needs_rules_where_there_is_landlock)
{
	const long abi = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1);
	struct err err;

	err_clear(&err);
	assert_int_equal(verify_landlock(-1, &err), abi >= 1 ? ERR_DENIED : 0);
	assert_int_equal(verify_landlock(0, &err), 0);
}
