/* signals.h - what each program inside does first, before a language installs its handlers. */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Sets all signals to their default and unblocks them. A shell starts background jobs with SIGINT
 * ignored, nohup ignores SIGHUP, and exec preserves both: such a kernel could never be interrupted.
 * Uses the system call: the C library refuses to change its own two signals, which may be ignored
 * as well.
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
