/*
 * rt_boost.c - runs the beginning of a thread's jobs at real-time priority.
 *
 * Runs in:  threads of reckond's pools; a signal handler in them.
 * Reads:    nothing.
 * Never:    fails, or leaves a computing job at real-time priority.
 *
 * A timer on the thread's processor time sends it a signal, whose handler ends the real-time
 * priority. Only this thread has the signal unblocked.
 */
#include "base/process/rt_boost.h"

#include <errno.h>
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPENT_SIGNAL (SIGRTMIN + 3)
#define TURN_NS 200000u /* shorter than for a cell that begins (sched_slice.c) */

static _Thread_local timer_t budget;
static _Thread_local bool has_budget, is_urgent;
static _Thread_local int usual_nice;
static _Thread_local volatile sig_atomic_t is_spent;

static bool set(bool urgent)
{
	struct sched_attr attr = { .size = sizeof(attr), .sched_flags = SCHED_FLAG_RESET_ON_FORK };

	if (urgent) {
		attr.sched_policy = SCHED_RR;
		attr.sched_priority = 1; /* the lowest real-time priority */
	} else {
		attr.sched_policy = SCHED_NORMAL;
		attr.sched_nice = usual_nice;
		attr.sched_runtime = TURN_NS;
	}
	return syscall(SYS_sched_setattr, 0, &attr, 0) == 0;
}

static void on_spent(int sig)
{
	const int saved_errno = errno;

	(void)sig;
	is_spent = 1;
	(void)set(false);
	errno = saved_errno;
}

void rt_boost_begin(void)
{
	const struct sigaction action = { .sa_handler = on_spent, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SPENT_SIGNAL };
	sigset_t spent;

	usual_nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	(void)set(false);
	event._sigev_un._tid = gettid();
	(void)sigemptyset(&spent);
	(void)sigaddset(&spent, SPENT_SIGNAL);
	if (sigaction(SPENT_SIGNAL, &action, NULL) < 0 ||
	    pthread_sigmask(SIG_UNBLOCK, &spent, NULL) != 0 ||
	    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &budget) < 0)
		return;
	has_budget = true;
}

void rt_boost_job(bool is_crowded)
{
	const struct itimerspec whole = { .it_value.tv_nsec = BOOST_NS };

	if (!has_budget || (!is_crowded && !is_urgent))
		return;
	if (!is_crowded || timer_settime(budget, 0, &whole, NULL) < 0) { /* never without a limit */
		is_urgent = false;
		(void)set(false);
		return;
	}
	if (is_urgent && is_spent == 0)
		return;
	is_spent = 0;
	is_urgent = set(true);
	if (!is_urgent)
		rt_boost_end(); /* it lacks the privilege */
}

void rt_boost_end(void)
{
	if (!has_budget)
		return;
	has_budget = is_urgent = false;
	(void)timer_delete(budget);
	(void)set(false);
}
