/*
 * test_host_lifecycle.c - reckond's states: each pair of states is an allowed move or is refused.
 *
 * Runs in:  the unit suite.
 * Reads:    its own standard error, through a memory file.
 * Never:    has a loop or a session.
 */
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/operations/lifecycle.h"

/* A row for each state, a column for each next state, in the order of the enum; x: allowed. */
static const char *const moves[LIFECYCLE_COUNT_] = {
	[LIFECYCLE_STARTING] = ".x......",
	[LIFECYCLE_SERVING] = "..xxxxxx",
	[LIFECYCLE_DRAINING] = ".x.xxxxx",
	[LIFECYCLE_FAILED] = "........",
	[LIFECYCLE_STOP_GRACE] = ".....x..",
	[LIFECYCLE_STOPPING] = "........",
	[LIFECYCLE_UPGRADE_GRACE] = ".......x",
	[LIFECYCLE_UPGRADING] = "........",
};

static void only_the_listed_moves_are_allowed(void **state)
{
	(void)state;
	for (unsigned from = 0; from < LIFECYCLE_COUNT_; from++) {
		assert_int_equal(strlen(moves[from]), LIFECYCLE_COUNT_);
		for (unsigned to = 0; to < LIFECYCLE_COUNT_; to++) {
			struct lifecycle life = { .state = (enum lifecycle_state)from };
			const bool is_move = moves[from][to] == 'x';

			assert_int_equal(lifecycle_allows((enum lifecycle_state)from,
							  (enum lifecycle_state)to),
					 is_move);
			assert_int_equal(lifecycle_move(&life, (enum lifecycle_state)to), is_move);
			assert_int_equal(life.state, is_move ? to : from);
		}
	}
}

/* Stores in `ret` what the move logs. */
static void catch_move(struct lifecycle *life, enum lifecycle_state to, char *ret, size_t size)
{
	const int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	const int caught = memfd_create("unit", MFD_CLOEXEC);
	ssize_t len;

	assert_int_equal(dup2(caught, STDERR_FILENO), STDERR_FILENO);
	(void)lifecycle_move(life, to);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	len = pread(caught, ret, size - 1, 0);
	assert_true(len >= 0);
	ret[len] = '\0';
	(void)close(saved);
	(void)close(caught);
}

static void a_refused_move_is_logged(void **state)
{
	struct lifecycle life = { .state = LIFECYCLE_STOPPING };
	char text[512];

	(void)state;
	catch_move(&life, LIFECYCLE_SERVING, text, sizeof(text));
	assert_non_null(strstr(text, "level=error"));
	assert_non_null(strstr(text, "from=stopping to=serving"));
	life.state = LIFECYCLE_SERVING;
	catch_move(&life, LIFECYCLE_DRAINING, text, sizeof(text));
	assert_string_equal(text, "");
}

static void an_unknown_state_is_refused(void **state)
{
	struct lifecycle life = { .state = LIFECYCLE_SERVING };

	(void)state;
	assert_false(lifecycle_allows(LIFECYCLE_COUNT_, LIFECYCLE_SERVING));
	assert_false(lifecycle_move(&life, LIFECYCLE_COUNT_));
	assert_int_equal(life.state, LIFECYCLE_SERVING);
	assert_string_equal(lifecycle_name(LIFECYCLE_COUNT_), "unknown");
}

static void state_names_are_unique(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIFECYCLE_COUNT_; i++)
		for (unsigned other = 0; other < i; other++)
			assert_string_not_equal(lifecycle_name((enum lifecycle_state)i),
						lifecycle_name((enum lifecycle_state)other));
}

static void an_upgrade_remembers_the_drain(void **state)
{
	struct lifecycle life = { .state = LIFECYCLE_STARTING };

	(void)state;
	assert_true(lifecycle_move(&life, LIFECYCLE_SERVING));
	assert_false(lifecycle_is_drained(&life));
	assert_true(lifecycle_move(&life, LIFECYCLE_DRAINING));
	assert_true(lifecycle_is_drained(&life) && !lifecycle_is_ending(&life));
	assert_true(lifecycle_move(&life, LIFECYCLE_UPGRADE_GRACE));
	assert_true(lifecycle_is_drained(&life) && lifecycle_is_ending(&life));
	assert_true(lifecycle_is_in_grace(&life) && lifecycle_is_upgrade(&life));
	assert_true(lifecycle_move(&life, LIFECYCLE_UPGRADING));
	assert_true(lifecycle_is_drained(&life) && lifecycle_is_ending(&life));
	assert_true(!lifecycle_is_in_grace(&life) && lifecycle_is_upgrade(&life));
}

static void a_stop_is_not_an_upgrade(void **state)
{
	struct lifecycle life = { .state = LIFECYCLE_SERVING };

	(void)state;
	assert_true(lifecycle_move(&life, LIFECYCLE_STOP_GRACE));
	assert_true(lifecycle_is_in_grace(&life) && lifecycle_is_ending(&life));
	assert_false(lifecycle_is_upgrade(&life) || lifecycle_is_drained(&life));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_listed_moves_are_allowed),
		cmocka_unit_test(a_refused_move_is_logged),
		cmocka_unit_test(an_unknown_state_is_refused),
		cmocka_unit_test(state_names_are_unique),
		cmocka_unit_test(an_upgrade_remembers_the_drain),
		cmocka_unit_test(a_stop_is_not_an_upgrade),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
