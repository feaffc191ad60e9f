/*
 * test_lib_hostile.c - kernels that lie, break the protocol or die; a warden that dies.
 *
 * Runs in:  the unit suite, against a fake warden and kernel.
 * Reads:    records.
 * Never:    accepts that the host hangs, crashes or trusts them.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/engine.h"
#include "support/lib_fixture.h"

static const struct fake_config plain;

static void check_violation(const char *what)
{
	struct fixture fixture;
	char code[64];

	(void)snprintf(code, sizeof(code), "out before\nviolate %s", what);
	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result result = fixture_run(&fixture, code, NULL);

		assert_string_equal(result_status(&result), "kernel_died");
		assert_true(result_has_diagnostic(&result, "protocol_violation"));
		assert_string_equal(result_text(&result, "stdout"), "before\n");
	}
	fixture_assert_kernel_lost(&fixture, "protocol");
	fixture_close(&fixture);
}

UNIT_TEST(test_violations)
{
	static const char *const what[] = { "id",	"turn",	      "host",	  "status",
					    "garbage",	"fields",     "unsealed", "descriptor",
					    "sync-flood" };

	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		check_violation(what[i]);
}

/* The next execution finds a message after DONE and ends the kernel. */
UNIT_TEST(test_two_dones)
{
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result first = fixture_run(&fixture, "violate two-dones", NULL);
		cleanup_result struct result second = fixture_run(&fixture, "out 2", NULL);

		assert_string_equal(result_status(&first), "ok");
		assert_string_equal(result_status(&second), "kernel_died");
		assert_true(result_has_diagnostic(&second, "protocol_violation"));
	}
	fixture_assert_kernel_lost(&fixture, "protocol");
	fixture_close(&fixture);
}

UNIT_TEST(test_deaths_of_the_kernel)
{
	static const struct {
		const char *code;
		const char *how;
	} deaths[] = {
		{ "out before\nexit 3", "exit status 3" },
		{ "out before\nkill 11", "signal 11" },
	};

	for (size_t i = 0; i < 2; i++) {
		struct fixture fixture;

		fixture_open(&fixture, &plain, NULL);
		{
			cleanup_result struct result result =
				fixture_run(&fixture, deaths[i].code, NULL);

			assert_string_equal(result_status(&result), "kernel_died");
			assert_int_equal(reckon_execution_exit_code(result.execution), 1);
			assert_string_equal(result_error(&result), "KernelDied");
			assert_non_null(strstr(result_error_value(&result), deaths[i].how));
			assert_string_equal(result_text(&result, "stdout"), "before\n");
		}
		fixture_assert_kernel_lost(&fixture, deaths[i].how);
		fixture_close(&fixture);
	}
}

UNIT_TEST(test_out_of_memory)
{
	const struct fake_config config = { .ends_are_oom = true };
	const reckon_session_options options = { .size = sizeof(options),
						 .limits.memory_bytes = 256 << 20 };
	struct fixture fixture;

	fixture_open(&fixture, &config, &options);
	{
		cleanup_result struct result result = fixture_run(&fixture, "kill 9", NULL);

		assert_string_equal(result_status(&result), "out_of_memory");
		assert_string_equal(result_error(&result), "OutOfMemory");
		assert_non_null(strstr(result_error_value(&result), "256 MiB"));
	}
	fixture_assert_kernel_lost(&fixture, "out of memory");
	fixture_close(&fixture);
}

/* Without its box a session cannot start another kernel, so the session is lost. */
UNIT_TEST(test_no_fresh_kernel_without_a_box)
{
	const struct fake_config config = { .restarts_fail = true };
	struct fixture fixture;

	fixture_open(&fixture, &config, NULL);
	{
		cleanup_result struct result result = fixture_run(&fixture, "exit 3", NULL);

		assert_string_equal(result_status(&result), "kernel_died");
	}
	fixture_assert_lost(&fixture, "box is gone");
	fixture_close(&fixture);
}

UNIT_TEST(test_restart_on_request)
{
	struct fixture fixture;
	reckon_error err;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result first = fixture_run(&fixture, "file a.txt x", NULL);

		assert_string_equal(result_status(&first), "ok");
	}
	assert_int_equal(reckon_session_restart(fixture.session, &err), RECKON_OK);
	{
		cleanup_result struct result second = fixture_run(&fixture, "out again", NULL);
		int64_t sequence = 0;

		assert_string_equal(result_status(&second), "ok");
		assert_false(result_has_diagnostic(&second, "kernel_lost"));
		assert_true(json_read_int(result_member(&second, "sequence"), &sequence));
		assert_int_equal(sequence, 2);
		/* Files from before the restart are not reported again. */
		assert_int_equal(json_read_count(result_member(&second, "files")), 0);
	}
	assert_null(reckon_context_id(fixture.session));
	fixture_close(&fixture);
}

UNIT_TEST(test_hang_up)
{
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	{
		cleanup_result struct result result = fixture_run(&fixture, "hangup", NULL);

		assert_string_equal(result_status(&result), "kernel_died");
	}
	fixture_assert_kernel_lost(&fixture, "closed its connection");
	fixture_close(&fixture);
}

UNIT_TEST(test_the_warden_dies)
{
	const struct fake_config config = { .dies_at_begin = true };
	struct fixture fixture;

	fixture_open(&fixture, &config, NULL);
	{
		cleanup_result struct result result = fixture_run(&fixture, "deaf", NULL);

		assert_string_equal(result_status(&result), "infra_error");
		assert_int_equal(reckon_execution_exit_code(result.execution), 125);
		assert_non_null(strstr(result_error_value(&result), "warden ended"));
	}
	fixture_assert_lost(&fixture, "warden ended");
	fixture_close(&fixture);
}

static void check_open_fails(const struct fake_config *config, int code, const char *why)
{
	struct fixture fixture;
	reckon_error err;

	fixture_open_engine(&fixture, config);
	assert_int_equal(reckon_session_open(fixture.engine, NULL, &fixture.session, &err), code);
	if (strstr(err.message, why) == NULL)
		fail_msg("\"%s\" does not say \"%s\"", err.message, why);
	assert_null(fixture.session);
	fixture_close(&fixture);
}

UNIT_TEST(test_kernels_that_never_start)
{
	const struct fake_config dead = { .kernel_never_ready = true };
	const struct fake_config wrong = { .kernel_wrong_first = true };

	check_open_fails(&dead, RECKON_ELOST, "exit status 7");
	check_open_fails(&wrong, RECKON_EPROTOCOL, "READY");
}

static void check_other_version(const struct fake_config *config, const char *text,
				const char *remedy)
{
	struct fake_warden fake;
	reckon_engine_options options = { .size = sizeof(options) };
	reckon_engine *engine;
	char dir[64];
	struct err err;

	fake_warden_start(&fake, config);
	(void)close(unit_mkdir(dir));
	options.state_dir = dir;
	assert_err(&err, ERR_UNAVAILABLE, engine_open_on(&options, fake.client_fd, &engine, &err));
	assert_non_null(strstr(err.text, text));
	assert_non_null(strstr(err.remedy, remedy));
	fake_warden_stop(&fake);
	unit_rmdir(dir);
}

/* The messages of all versions begin alike, and may have any length. */
UNIT_TEST(test_another_version)
{
	const size_t lengths[] = { 0, sizeof(struct warden_other), 100, 8192 };

	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		const struct fake_config newer = { .version = 99, .reply_len = lengths[i] };
		const struct fake_config older = { .version = 1, .reply_len = lengths[i] };

		check_other_version(&newer, "it speaks 99", "upgraded while this program ran");
		check_other_version(&older, "it speaks 1,", "install the same version");
	}
}
