/*
 * test_box_guard.c - core scheduling cookies of boxes, and speculation states in /proc.
 *
 * Runs in:  the unit suite.
 * Reads:    a fake scheduler, in memory that the helper process shares.
 * Never:    needs core scheduling: test/attack/test_side_channels.py tests real hosts.
 */
#include "unit.h"

#include <errno.h>
#include <linux/prctl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/walls/guard.h"
#include "wire/warden.h"

#define TASKS 64

/* pid -> cookie, as in the scheduler; `next` is the newest cookie. */
static struct scheduler {
	pid_t pid[TASKS];
	uint64_t cookie[TASKS];
	uint64_t next;
	pid_t refusing; /* the task whose cookie PR_SCHED_CORE_SHARE_TO does not change */
	int broken; /* the errno of every call, or 0 */
} *scheduler;

static uint64_t *cookie_of(pid_t pid)
{
	size_t i = 0;

	pid = pid != 0 ? pid : getpid();
	while (scheduler->pid[i] != 0 && scheduler->pid[i] != pid)
		i++;
	assert_true(i < TASKS);
	scheduler->pid[i] = pid;
	return &scheduler->cookie[i];
}

static int fake_call(unsigned command, pid_t pid, unsigned scope, uint64_t *cookie)
{
	if (scheduler->broken != 0)
		return -scheduler->broken;
	switch (command) {
	case PR_SCHED_CORE_GET:
		/* Linux returns the cookie of one task only. */
		if (scope != PR_SCHED_CORE_SCOPE_THREAD)
			return -EINVAL;
		*cookie = *cookie_of(pid);
		return 0;
	case PR_SCHED_CORE_CREATE:
		*cookie_of(pid) = ++scheduler->next;
		return 0;
	case PR_SCHED_CORE_SHARE_TO:
		if (pid != scheduler->refusing)
			*cookie_of(pid) = *cookie_of(0);
		return 0;
	default:
		return -EINVAL;
	}
}

static int set_up(void **state)
{
	(void)state;
	scheduler = mmap(NULL, sizeof(*scheduler), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	guard_core_call = fake_call;
	return scheduler == MAP_FAILED;
}

static int tear_down(void **state)
{
	(void)state;
	return munmap(scheduler, sizeof(*scheduler));
}

static const pid_t one[3] = { 11, 12, 13 }, two[3] = { 21, 22, 23 };

UNIT_TEST_WITH(a_box_has_one_cookie_of_its_own, set_up, tear_down)
{
	struct err err;

	assert_int_equal(guard_core_own(one, ARRAY_LEN(one), &err), 0);
	assert_int_equal(guard_core_own(two, ARRAY_LEN(two), &err), 0);
	assert_int_not_equal(*cookie_of(one[0]), 0);
	assert_int_not_equal(*cookie_of(two[0]), 0);
	assert_int_not_equal(*cookie_of(one[0]), *cookie_of(two[0]));
	for (size_t i = 1; i < ARRAY_LEN(one); i++) {
		assert_int_equal(*cookie_of(one[i]), *cookie_of(one[0]));
		assert_int_equal(*cookie_of(two[i]), *cookie_of(two[0]));
	}
}

UNIT_TEST_WITH(the_warden_gets_no_cookie, set_up, tear_down)
{
	struct err err;

	assert_int_equal(guard_core_own(one, ARRAY_LEN(one), &err), 0);
	assert_int_equal(*cookie_of(0), 0);
}

UNIT_TEST_WITH(a_branch_gets_another_cookie_than_its_parent, set_up, tear_down)
{
	struct err err;
	uint64_t parents;

	assert_int_equal(guard_core_own(one, ARRAY_LEN(one), &err), 0);
	parents = *cookie_of(one[0]);
	for (size_t i = 0; i < ARRAY_LEN(two); i++)
		*cookie_of(two[i]) = parents; /* inherited */
	assert_int_equal(guard_core_own(two, ARRAY_LEN(two), &err), 0);
	assert_int_not_equal(*cookie_of(two[0]), parents);
	assert_int_equal(*cookie_of(one[0]), parents);
}

UNIT_TEST_WITH(a_task_without_the_cookie_is_an_error, set_up, tear_down)
{
	struct err err;

	scheduler->refusing = one[1];
	assert_int_equal(guard_core_own(one, ARRAY_LEN(one), &err), ERR_DENIED);
	*cookie_of(one[1]) = 99; /* the cookie of another box */
	assert_int_equal(guard_core_own(one, ARRAY_LEN(one), &err), ERR_DENIED);
}

UNIT_TEST_WITH(a_host_without_core_scheduling_is_reported, set_up, tear_down)
{
	static const int lacking[] = { EINVAL, ENODEV, ENOSYS };
	uint32_t unheld = 0;
	struct err err;

	for (size_t i = 0; i < ARRAY_LEN(lacking); i++) {
		scheduler->broken = lacking[i];
		err_clear(&err);
		assert_int_equal(guard_core_own(one, ARRAY_LEN(one), &err), ERR_UNAVAILABLE);
		assert_int_equal(guard_require(WARDEN_OPEN_CORE_SCHEDULING, &err), ERR_UNAVAILABLE);
		assert_non_null(strstr(err.text, "core scheduling"));
		err_clear(&err);
		assert_int_equal(guard_raise(WARDEN_OPEN_CORE_SCHEDULING, one, ARRAY_LEN(one),
					     getpid(), &unheld, &err),
				 0);
		assert_int_equal(unheld, WARDEN_UNHELD_CORE);
		assert_int_equal(err.code, ERR_OK);
		assert_int_equal(guard_require(0, &err), 0);
	}
}

UNIT_TEST(speculation_states_of_proc_are_classified)
{
	static const struct {
		const char *store, *branch;
		enum guard_speculation want;
	} cases[] = {
		{ "thread force mitigated", "conditional force disabled", GUARD_HELD },
		{ "not vulnerable", "not affected", GUARD_HELD },
		{ "globally mitigated", "always disabled", GUARD_HELD },
		{ "thread vulnerable", "conditional force disabled", GUARD_LOOSE },
		{ "thread force mitigated", "conditional enabled", GUARD_LOOSE },
		{ "thread mitigated", "conditional force disabled", GUARD_LOOSE },
		{ "thread force mitigated", "conditional disabled", GUARD_LOOSE },
		{ "vulnerable", "conditional force disabled", GUARD_UNKNOWN },
		{ "thread force mitigated", "always enabled", GUARD_UNKNOWN },
		{ "unknown", "unsupported", GUARD_UNKNOWN },
		{ "vulnerable", "conditional enabled", GUARD_LOOSE },
		{ "not vulnerable at all", "not affected", GUARD_UNKNOWN },
	};
	char text[256];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		(void)snprintf(text, sizeof(text),
			       "Name:\tx\nSpeculation_Store_Bypass:\t%s\n"
			       "SpeculationIndirectBranch:\t%s\nCpus_allowed:\t3\n",
			       cases[i].store, cases[i].branch);
		assert_int_equal(guard_speculation_of(text), cases[i].want);
	}
	assert_int_equal(guard_speculation_of(""), GUARD_UNKNOWN);
	/* A process may choose its name. */
	assert_int_equal(guard_speculation_of("Name:\tSpeculation_Store_Bypass: not vulnerable\n"
					      "SpeculationIndirectBranch:\tnot affected\n"),
			 GUARD_UNKNOWN);
}
