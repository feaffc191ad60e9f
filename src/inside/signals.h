/* signals.h - what a program of ours does first, before a language sets up its handlers. */
#pragma once

#include <signal.h>

/*
 * A shell starts background jobs with SIGINT ignored, nohup adds SIGHUP, and all of it survives
 * exec: a kernel that inherited that could never be interrupted. Everything to its default,
 * nothing blocked.
 */
static inline void signals_forget_inherited(void)
{
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)signal(sig, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
