/*
 * interrupt.c - interrupts the running cell after Ctrl-C, which it counts, or after a time.
 *
 * Runs in:  reckon, reckon-client.
 * Reads:    nothing.
 * Never:    calls a function that is not async-signal-safe in a handler.
 */
#include "cli/session/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"

static atomic_int interrupts;
static _Atomic(reckon_session *) lent;
static atomic_int wake_fd = -1;
static atomic_bool is_timed, is_late;
static struct interrupt_options wanted; /* set before the handler is installed */

static void pass_on(void)
{
	reckon_session *session = atomic_load(&lent);

	if (session != NULL)
		reckon_interrupt(session);
	if (atomic_load(&wake_fd) >= 0)
		(void)!write(atomic_load(&wake_fd), "", 1);
}

static void on_interrupt(int signo)
{
	const int saved = errno;
	const int count = atomic_fetch_add(&interrupts, 1) + 1;

	if (wanted.exits && count >= 3)
		_exit(EXIT_CODE_INTERRUPTED);
	pass_on();
	if (wanted.also != NULL)
		wanted.also(signo);
	errno = saved;
}

static void on_alarm(int signo)
{
	const int saved = errno;

	(void)signo;
	if (atomic_load(&is_timed)) {
		atomic_store(&is_late, true);
		pass_on();
	}
	errno = saved;
}

static void on_pipe(int signo)
{
	(void)signo;
}

/* A handler instead of SIG_IGN: exec resets a handler to the default, but keeps SIG_IGN. */
void interrupt_ignore_pipes(void)
{
	struct sigaction gone = { .sa_handler = on_pipe, .sa_flags = SA_RESTART };

	(void)sigaction(SIGPIPE, &gone, NULL);
}

void interrupt_catch(const struct interrupt_options *options)
{
	struct sigaction interrupt = {
		.sa_handler = on_interrupt,
		.sa_flags = options->ends_reads ? 0 : SA_RESTART,
	};

	wanted = *options;
	(void)sigaction(SIGINT, &interrupt, NULL);
}

void interrupt_after(uint64_t ms)
{
	const struct sigaction alarm = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	const struct itimerval timer = {
		/* Repeats, because the cell may not have begun when the first alarm comes. */
		.it_interval = { .tv_sec = 1 },
		.it_value = { .tv_sec = (time_t)(ms / 1000),
			      .tv_usec = (suseconds_t)(ms % 1000 * 1000) },
	};

	atomic_store(&is_late, false);
	atomic_store(&is_timed, ms > 0);
	if (ms == 0)
		return;
	(void)sigaction(SIGALRM, &alarm, NULL);
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

void interrupt_settle(void)
{
	const struct itimerval none = { 0 };

	if (atomic_exchange(&is_timed, false))
		(void)setitimer(ITIMER_REAL, &none, NULL);
}

bool interrupt_is_late(void)
{
	return atomic_load(&is_late);
}

int interrupt_count(void)
{
	return atomic_load(&interrupts);
}

bool interrupt_wait_for_line(int tty)
{
	struct pollfd wait = { .fd = tty, .events = POLLIN };
	sigset_t interrupt, before;
	int ready = 0;

	(void)sigemptyset(&interrupt);
	(void)sigaddset(&interrupt, SIGINT);
	(void)sigprocmask(SIG_BLOCK, &interrupt, &before);
	while (interrupt_count() == 0 && ready == 0) {
		ready = ppoll(&wait, 1, NULL, &before);
		if (ready < 0 && errno == EINTR)
			ready = 0;
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return ready > 0;
}

void interrupt_clear(void)
{
	atomic_store(&interrupts, 0);
}

void interrupt_lend(reckon_session *session)
{
	atomic_store(&lent, session);
}

void interrupt_wake(int fd)
{
	atomic_store(&wake_fd, fd);
}
