/*
 * test_base_child.c - signals of a child, as a new program expects them.
 *
 * Runs in:  the unit suite.
 * Reads:    nothing.
 * Never:    changes the signals of the suite: all is done in children.
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

/* How a child with signals caught, ignored and blocked ends that sends itself `signo`. */
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
		(void)raise(signo); /* waits; it comes when it is let through */
		child_reset_signals(ignored);
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

UNIT_TEST(nothing_is_caught_ignored_or_blocked)
{
	static const int signals[] = { SIGUSR1, SIGTERM, SIGINT };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		const int status = end_of(0, signals[i]);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), signals[i]);
	}
}

UNIT_TEST(what_is_ignored_never_gets_through)
{
	const int status = end_of(SIGINT, SIGINT);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
