/*
 * test_base_rt_boost.c - a job begins in real time, and does not stay so when it computes.
 *
 * Runs in:  the unit suite; in threads of its own, of which two may be in real time a moment.
 * Reads:    the policies of those threads.
 * Never:    needs the right to real time: without it nothing is in it, and the rest holds.
 */
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/rt_boost.h"
#include "base/clock.h"

#define JOBS 3
#define PATIENCE_NS (30ull * 1000000000u)

struct seen {
	int may;		   /* the policy that this host lets a thread have */
	int at_first[JOBS], behind[JOBS];
	int child, alone, after;
};

static int policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

static int policy_of_child(void)
{
	const pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(policy());
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void compute_until_it_is_noticed(void)
{
	const uint64_t end = clock_mono_ns() + PATIENCE_NS;

	while (policy() != SCHED_OTHER && clock_mono_ns() < end)
		;
}

static void *probe(void *arg)
{
	struct seen *seen = arg;
	const struct sched_param least = { .sched_priority = 1 };

	seen->may = sched_setscheduler(0, SCHED_RR, &least) == 0 ? SCHED_RR : SCHED_OTHER;
	return NULL;
}

static void *work(void *arg)
{
	struct seen *seen = arg;

	rt_boost_begin();
	for (int i = 0; i < JOBS; i++) {
		rt_boost_job(true);
		seen->at_first[i] = policy();
		if (i == 0)
			seen->child = policy_of_child();
		compute_until_it_is_noticed();
		seen->behind[i] = policy();
	}
	rt_boost_job(true);
	rt_boost_job(false);
	seen->alone = policy();
	rt_boost_job(true);
	rt_boost_end();
	seen->after = policy();
	return NULL;
}

static void in_a_thread(void *(*what)(void *), struct seen *seen)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, what, seen), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

UNIT_TEST(a_job_begins_in_real_time_and_goes_on_as_anybodys)
{
	struct seen seen = { 0 };

	in_a_thread(probe, &seen);
	in_a_thread(work, &seen);
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(seen.at_first[i], seen.may);
		assert_int_equal(seen.behind[i], SCHED_OTHER);
	}
	assert_int_equal(seen.child, SCHED_OTHER);
	assert_int_equal(seen.alone, SCHED_OTHER);
	assert_int_equal(seen.after, SCHED_OTHER);
}

UNIT_TEST(without_the_right_nothing_is_in_real_time)
{
	const struct rlimit none = { 0, 0 };
	struct seen seen = { 0 };
	int status;
	pid_t pid;

	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setrlimit(RLIMIT_RTPRIO, &none) < 0 || (geteuid() == 0 && setuid(65534) < 0))
			_exit(1);
		in_a_thread(work, &seen);
		_exit(seen.at_first[0] == SCHED_OTHER && seen.after == SCHED_OTHER ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
