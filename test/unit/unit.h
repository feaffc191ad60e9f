/*
 * unit.h - the first header of every unit test: cmocka, and the headers that it needs.
 *
 * No test here calls skip(): what a host may lack belongs to test/e2e, where a skip is counted.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/err.h"

/* A call that must succeed; shows the error text when it does not. */
#define assert_ok(err, call)                                                \
	do {                                                                \
		if ((call) < 0)                                             \
			fail_msg("%s: %s", #call, (err)->text);             \
	} while (0)

/* A call that must fail with this code, both as its result and in *err. */
#define assert_err(err, expected, call)                                     \
	do {                                                                \
		err_clear(err);                                             \
		assert_int_equal((call), (expected));                       \
		assert_int_equal((err)->code, (expected));                  \
		assert_int_not_equal((err)->text[0], '\0');                 \
	} while (0)

/*
 * Defines and registers a test; tests run in the order of the file. A file without a main() uses
 * the one of unit.c. UNIT_TEST_WITH() also takes functions to call before and after the test, each
 * of which may be NULL.
 */
#define UNIT_TEST(name) UNIT_TEST_WITH(name, NULL, NULL)
#define UNIT_TEST_WITH(name, set_up, tear_down)                                              \
	static void name(void **state);                                                      \
	static void __attribute__((constructor)) unit_add_##name(void)                       \
	{                                                                                    \
		unit_add(__LINE__, &(struct CMUnitTest){ #name, name, set_up, tear_down, NULL }); \
	}                                                                                    \
	static void name(void **state __attribute__((unused)))
void unit_add(int line, const struct CMUnitTest *test);
/* Runs all tests; set_up is called before the first one, tear_down after the last one. */
int unit_run(CMFixtureFunction set_up, CMFixtureFunction tear_down);

/* Number of open descriptors of this process, to show that none leaks. */
int unit_open_fds(void);

/* A new directory below $TMPDIR or /tmp; unit_rmdir() removes it with its contents. */
int unit_mkdir(char path[64]);
void unit_rmdir(const char *path);

/* The same as fixtures of cmocka: *state is a struct unit_dir. */
struct unit_dir {
	char path[64];
	int dir_fd;
};
int unit_dir_make(void **state);
int unit_dir_drop(void **state);
