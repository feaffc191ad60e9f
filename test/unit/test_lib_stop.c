/*
 * test_lib_stop.c - limits and interrupts: what stops a cell, and whether its session survives.
 *
 * Runs in:  the unit suite, against a fake warden and kernel.
 * Reads:    records.
 * Never:    asserts how long anything took.
 */
#include "unit.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "support/lib_fixture.h"

static const struct fake_config plain;

UNIT_TEST(test_time_limit_keeps_the_session)
{
	const reckon_execute_options options = { .size = sizeof(options), .wall_ms = 100 };
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result slow =
			fixture_run(&fixture, "out before\nsleep", &options);
		cleanup_result struct result next = fixture_run(&fixture, "out alive", NULL);

		assert_string_equal(result_status(&slow), "timeout");
		assert_int_equal(reckon_execution_exit_code(slow.execution), 124);
		assert_string_equal(result_text(&slow, "stdout"), "before\n");
		assert_string_equal(result_error(&slow), "TimeLimit");
		assert_non_null(strstr(result_error_value(&slow), "0.100 s"));
		assert_false(result_has_diagnostic(&slow, "kernel_lost"));
		assert_string_equal(result_text(&next, "stdout"), "alive\n");
	}
	fixture_close(&fixture);
}

UNIT_TEST(test_time_limit_ignored)
{
	const reckon_execute_options options = { .size = sizeof(options), .wall_ms = 100 };
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result deaf =
			fixture_run(&fixture, "file kept.txt x\nout before\ndeaf", &options);

		assert_string_equal(result_status(&deaf), "timeout");
		assert_string_equal(result_text(&deaf, "stdout"), "before\n");
		assert_true(result_has_diagnostic(&deaf, "kernel_lost"));
		assert_int_equal(json_read_count(result_member(&deaf, "files")), 1);
	}
	fixture_assert_kernel_lost(&fixture, "ignored interrupts");
	fixture_close(&fixture);
}

UNIT_TEST(test_cpu_limit)
{
	const struct fake_config config = { .cpu_ns_per_usage = 300000000 };
	const reckon_session_options options = { .size = sizeof(options), .limits.cpu_ms = 1000 };
	struct fixture fixture;

	fixture_open(&fixture, &config, &options);
	{
		cleanup_result struct result result = fixture_run(&fixture, "sleep", NULL);

		assert_string_equal(result_status(&result), "timeout");
		assert_string_equal(result_error(&result), "CpuLimit");
		assert_non_null(strstr(result_error_value(&result), "CPU time limit of 1 s"));
	}
	fixture_close(&fixture);
}

static void *interrupt_soon(void *arg)
{
	(void)usleep(50000);
	reckon_interrupt(arg);
	return NULL;
}

UNIT_TEST(test_interrupt_from_a_thread)
{
	struct fixture fixture;
	pthread_t thread;

	fixture_open(&fixture, &plain, NULL);
	/* An interrupt between executions has no effect. */
	reckon_interrupt(fixture.session);
	{
		cleanup_result struct result untouched = fixture_run(&fixture, "out 1", NULL);

		assert_string_equal(result_status(&untouched), "ok");
	}
	assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, fixture.session), 0);
	{
		cleanup_result struct result result = fixture_run(&fixture, "out 1\nsleep", NULL);
		cleanup_result struct result next = fixture_run(&fixture, "out 2", NULL);

		assert_string_equal(result_status(&result), "interrupted");
		assert_string_equal(result_error(&result), "Interrupted");
		assert_string_equal(result_text(&next, "stdout"), "2\n");
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	fixture_close(&fixture);
}

static int stop_at_output(const reckon_event *event, void *arg)
{
	int *count = arg;

	(*count)++;
	return strcmp(event->name, "stream") == 0 ? RECKON_STOP : RECKON_CONTINUE;
}

UNIT_TEST(test_stop_from_the_callback)
{
	int count = 0;
	const reckon_execute_options options = { .size = sizeof(options),
						 .on_event = stop_at_output,
						 .on_event_arg = &count };
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result result = fixture_run(&fixture, "spin", &options);

		assert_string_equal(result_status(&result), "interrupted");
		assert_true(count >= 2);
	}
	fixture_close(&fixture);
}

UNIT_TEST(test_killed_when_it_ignores_an_interrupt)
{
	struct fixture fixture;
	pthread_t thread;

	fixture_open(&fixture, &plain, NULL);
	assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, fixture.session), 0);
	{
		cleanup_result struct result result = fixture_run(&fixture, "deaf", NULL);

		assert_string_equal(result_status(&result), "killed");
		assert_int_equal(reckon_execution_exit_code(result.execution), 137);
	}
	assert_int_equal(pthread_join(thread, NULL), 0);
	fixture_assert_kernel_lost(&fixture, "ignored interrupts");
	fixture_close(&fixture);
}

UNIT_TEST(test_endless_output)
{
	/* A slow host may take long to print so much. */
	const reckon_execute_options options = { .size = sizeof(options), .wall_ms = 600000 };
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result result =
			fixture_run(&fixture, "flood 1000000000", &options);

		assert_string_equal(result_status(&result), "output_limit");
		assert_string_equal(result_error(&result), "OutputLimit");
		assert_non_null(json_read_member(
			json_read_member(result_member(&result, "truncated"), "stdout"), "handle"));
	}
	fixture_close(&fixture);
}

static int call_back_in(const reckon_event *event, void *arg)
{
	reckon_execution *execution;
	reckon_error err;

	(void)event;
	assert_int_equal(reckon_execute(arg, "out x", 5, NULL, &execution, &err), RECKON_EINVALID);
	/* The close is ignored: the running execution needs the session. */
	reckon_session_close(arg);
	return RECKON_CONTINUE;
}

UNIT_TEST(test_no_call_from_a_callback)
{
	struct fixture fixture;
	reckon_execute_options options = { .size = sizeof(options), .on_event = call_back_in };

	fixture_open(&fixture, &plain, NULL);
	options.on_event_arg = fixture.session;
	{
		cleanup_result struct result result = fixture_run(&fixture, "out 1", &options);

		assert_string_equal(result_status(&result), "ok");
	}
	fixture_close(&fixture);
}
