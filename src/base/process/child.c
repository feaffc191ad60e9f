/*
 * child.c - what a child process does between fork and exec.
 *
 * Runs in:  children of any process.
 * Reads:    nothing.
 * Never:    calls a function that is not async-signal-safe.
 */
#include "base/process/child.h"

#include <signal.h>
#include <stddef.h>

void child_reset_signals(int ignored)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, sig == ignored ? SIG_IGN : SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
