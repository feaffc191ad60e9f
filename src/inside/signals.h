/* signals.h - what a program of ours does first, before a language sets up its handlers. */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * A shell starts background jobs with SIGINT ignored, nohup adds SIGHUP, and all of it survives
 * exec: a kernel that inherited that could never be interrupted. Everything to its default,
 * nothing blocked. Asked of Linux itself: the C library refuses to touch its own two signals, which
 * may be ignored as well.
 */
static inline void signals_forget_inherited(void)
{
	static const uint64_t by_default[4]; /* Linux's struct sigaction: handler, flags, …, mask */
	sigset_t none;

	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)syscall(SYS_rt_sigaction, sig, by_default, NULL, sizeof(uint64_t));
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}
