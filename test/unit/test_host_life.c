/*
 * test_host_life.c - a session's states: each pair of states is an allowed move or is refused.
 *
 * Runs in:  the unit suite.
 * Reads:    its own standard error, through a memory file.
 * Never:    has a session.
 */
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/sessions/state/life.h"

/* A row for each state, a column for each next state, in the order of the enum; x: allowed. */
static const char *const moves[SESSION_LIFE_COUNT_] = {
	[SESSION_OPENING] = ".x..x.x.x.",	  [SESSION_LIVE] = "..x...x.x.",
	[SESSION_PAUSE_REQUESTED] = ".x.xx.x.x.", [SESSION_PAUSING] = ".x..x.x.x.",
	[SESSION_PAUSED] = ".x...xx.x.",	  [SESSION_RESUMING] = ".x..x.x.x.",
	[SESSION_ENDING] = ".......x..",	  [SESSION_ENDED] = "..........",
	[SESSION_LEAVING] = ".........x",	  [SESSION_LEFT] = "..........",
};

static void only_the_listed_moves_are_allowed(void **state)
{
	(void)state;
	for (unsigned from = 0; from < SESSION_LIFE_COUNT_; from++) {
		assert_int_equal(strlen(moves[from]), SESSION_LIFE_COUNT_);
		for (unsigned to = 0; to < SESSION_LIFE_COUNT_; to++) {
			enum session_life life = (enum session_life)from;
			const bool is_move = moves[from][to] == 'x';

			assert_int_equal(life_allows(life, (enum session_life)to), is_move);
			assert_int_equal(life_move(&life, (enum session_life)to, "se_test"),
					 is_move);
			assert_int_equal(life, is_move ? to : from);
		}
	}
}

/* Stores in `ret` what the move logs. */
static void catch_move(enum session_life *life, enum session_life to, char *ret, size_t size)
{
	const int saved = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	const int caught = memfd_create("unit", MFD_CLOEXEC);
	ssize_t len;

	assert_int_equal(dup2(caught, STDERR_FILENO), STDERR_FILENO);
	(void)life_move(life, to, "se_test");
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	len = pread(caught, ret, size - 1, 0);
	assert_true(len >= 0);
	ret[len] = '\0';
	(void)close(saved);
	(void)close(caught);
}

static void a_refused_move_is_logged(void **state)
{
	enum session_life life = SESSION_ENDING;
	char text[512];

	(void)state;
	catch_move(&life, SESSION_LIVE, text, sizeof(text));
	assert_non_null(strstr(text, "level=error"));
	assert_non_null(strstr(text, "session=se_test from=ending to=live"));
	life = SESSION_OPENING;
	catch_move(&life, SESSION_LIVE, text, sizeof(text));
	assert_string_equal(text, "");
}

static void an_unknown_state_is_refused(void **state)
{
	enum session_life life = SESSION_LIVE;

	(void)state;
	assert_false(life_allows(SESSION_LIFE_COUNT_, SESSION_LIVE));
	assert_false(life_move(&life, SESSION_LIFE_COUNT_, "se_test"));
	assert_int_equal(life, SESSION_LIVE);
	assert_string_equal(life_name(SESSION_LIFE_COUNT_), "unknown");
}

static void state_names_are_unique(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SESSION_LIFE_COUNT_; i++)
		for (unsigned other = 0; other < i; other++)
			assert_string_not_equal(life_name((enum session_life)i),
						life_name((enum session_life)other));
}

/* For each predicate the states, in the order of the enum, for which it is true. */
static void each_state_is_opening_live_or_closing(void **state)
{
	static const char live[] = ".xxxxx....", closing[] = "......xxxx";
	static const char paused[] = "..xxxx....", still[] = "...xxx....";
	static const char ended[] = "......xx..", leaving[] = "........xx", closed[] = ".......x.x";

	(void)state;
	for (unsigned i = 0; i < SESSION_LIFE_COUNT_; i++) {
		const enum session_life life = (enum session_life)i;

		assert_int_equal(life_is_live(life), live[i] == 'x');
		assert_int_equal(life_is_closing(life), closing[i] == 'x');
		assert_int_equal(life_is_paused(life), paused[i] == 'x');
		assert_int_equal(life_stands_still(life), still[i] == 'x');
		assert_int_equal(life_has_ended(life), ended[i] == 'x');
		assert_int_equal(life_is_leaving(life), leaving[i] == 'x');
		assert_int_equal(life_is_closed(life), closed[i] == 'x');
		assert_int_equal((life == SESSION_OPENING) + life_is_live(life) +
					 life_is_closing(life),
				 1);
	}
}

/* In any state that is not closing, a session can end and the daemon can stop. */
static void each_state_that_is_not_closing_can_end_and_leave(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SESSION_LIFE_COUNT_; i++) {
		const enum session_life life = (enum session_life)i;

		assert_int_equal(life_allows(life, SESSION_ENDING), !life_is_closing(life));
		assert_int_equal(life_allows(life, SESSION_LEAVING), !life_is_closing(life));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_listed_moves_are_allowed),
		cmocka_unit_test(a_refused_move_is_logged),
		cmocka_unit_test(an_unknown_state_is_refused),
		cmocka_unit_test(state_names_are_unique),
		cmocka_unit_test(each_state_is_opening_live_or_closing),
		cmocka_unit_test(each_state_that_is_not_closing_can_end_and_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
