/*
 * test_base_child.c - a child resets its signals to what a new program expects.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    changes the signals of the suite: only its children do.
 */
#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/child.h"

static void on_signal(int signo)
{
	(void)signo;
}

/* The wait status of a child that blocks all signals, raises `signo` and then resets signals. */
static int end_of(int ignored, int signo)
{
	const pid_t child = fork();
	sigset_t all;
	int status;

	if (child == 0) {
		(void)signal(SIGUSR1, on_signal);
		(void)signal(SIGPIPE, SIG_IGN);
		(void)sigfillset(&all);
		(void)sigprocmask(SIG_SETMASK, &all, NULL);
		(void)raise(signo); /* pending until it is unblocked */
		child_reset_signals(ignored);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

UNIT_TEST(signals_are_unblocked_and_have_their_default_action)
{
	static const int signals[] = { SIGUSR1, SIGTERM, SIGINT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		const int status = end_of(0, signals[i]);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
	}
}

UNIT_TEST(the_signal_to_ignore_has_no_effect)
{
	const int status = end_of(SIGINT, SIGINT);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
