/*
 * test_base_rt_boost.c - a job starts at real-time priority and loses it when it computes.
 *
 * Runs in:  the unit suite; in threads of its own, which may have real-time priority briefly.
 * Reads:    the policies of those threads.
 * Never:    needs the right to real-time priority: without it the tests expect SCHED_OTHER.
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

struct policies {
	int may;		   /* the policy that this host lets a thread have */
	int at_start[JOBS], at_end[JOBS];
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

static void compute_until_demoted(void)
{
	const uint64_t end = clock_mono_ns() + PATIENCE_NS;

	while (policy() != SCHED_OTHER && clock_mono_ns() < end)
		;
}

static void *probe(void *arg)
{
	struct policies *policies = arg;
	const struct sched_param least = { .sched_priority = 1 };

	policies->may = sched_setscheduler(0, SCHED_RR, &least) == 0 ? SCHED_RR : SCHED_OTHER;
	return NULL;
}

static void *work(void *arg)
{
	struct policies *policies = arg;

	rt_boost_begin();
	for (int i = 0; i < JOBS; i++) {
		rt_boost_job(true);
		policies->at_start[i] = policy();
		if (i == 0)
			policies->child = policy_of_child();
		compute_until_demoted();
		policies->at_end[i] = policy();
	}
	rt_boost_job(true);
	rt_boost_job(false);
	policies->alone = policy();
	rt_boost_job(true);
	rt_boost_end();
	policies->after = policy();
	return NULL;
}

static void in_a_thread(void *(*what)(void *), struct policies *policies)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, what, policies), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

UNIT_TEST(a_job_starts_at_real_time_priority_and_loses_it_when_it_computes)
{
	struct policies policies = { 0 };

	in_a_thread(probe, &policies);
	in_a_thread(work, &policies);
	for (int i = 0; i < JOBS; i++) {
		assert_int_equal(policies.at_start[i], policies.may);
		assert_int_equal(policies.at_end[i], SCHED_OTHER);
	}
	assert_int_equal(policies.child, SCHED_OTHER);
	assert_int_equal(policies.alone, SCHED_OTHER);
	assert_int_equal(policies.after, SCHED_OTHER);
}

UNIT_TEST(without_the_right_a_job_has_normal_priority)
{
	const struct rlimit none = { 0, 0 };
	struct policies policies = { 0 };
	int status;
	pid_t pid;

	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (setrlimit(RLIMIT_RTPRIO, &none) < 0 || (geteuid() == 0 && setuid(65534) < 0))
			_exit(1);
		in_a_thread(work, &policies);
		_exit(policies.at_start[0] == SCHED_OTHER && policies.after == SCHED_OTHER ? 0 : 2);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
