/*
 * test_lib_limits.c - limits of a caller's options: each maximum is accepted, one more is refused.
 *
 * Runs in:  the unit suite, against a fake warden and kernel.
 * Reads:    its own temporary directories.
 * Never:    needs a box.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "support/lib_fixture.h"
#include "wire/kernel.h"

#define CODE_MAX (32u << 20)
#define ENV_MAX (256u << 10)
#define ENV_COUNT_MAX 4096u
#define OUTPUT_MAX (64ull << 20)
#define TEXT_MAX (1u << 20)
#define MOUNTS_MAX 8u

static const struct fake_config plain;

static void opens(struct fixture *fixture, const reckon_session_options *options, bool is_accepted)
{
	reckon_session *session = NULL;
	reckon_error err;
	const int code = reckon_session_open(fixture->engine, options, &session, &err);

	if ((code == 0) != is_accepted)
		fail_msg("%d: %s", code, code != 0 ? err.message : "it was opened");
	if (code == 0)
		reckon_session_close(session);
}

UNIT_TEST(limits_of_a_session_are_exact)
{
	struct fixture fixture;
	reckon_mount mounts[MOUNTS_MAX + 1];
	char targets[MOUNTS_MAX + 1][16];

	fixture_open_engine(&fixture, &plain);
	for (size_t i = 0; i < MOUNTS_MAX + 1; i++) {
		(void)snprintf(targets[i], sizeof(targets[i]), "/mnt/m%zu", i);
		mounts[i] = (reckon_mount){ "/tmp", targets[i], 0 };
	}
	for (unsigned over = 0; over < 2; over++) {
		const reckon_session_options mounted = { .size = sizeof(mounted),
							 .mounts = mounts,
							 .mount_count = MOUNTS_MAX + over };
		const reckon_session_options prints = { .size = sizeof(prints),
						       .limits.output_bytes = OUTPUT_MAX + over };

		opens(&fixture, &mounted, over == 0);
		opens(&fixture, &prints, over == 0);
	}
	fixture_close(&fixture);
}

static void runs(struct fixture *fixture, const char *code, size_t len,
		 const reckon_execute_options *options, bool is_accepted)
{
	reckon_execution *execution = NULL;
	reckon_error err;
	const int rc = reckon_execute(fixture->session, code, len, options, &execution, &err);

	if ((rc == 0) != is_accepted)
		fail_msg("%d: %s", rc, rc != 0 ? err.message : "it was run");
	reckon_execution_free(execution);
}

UNIT_TEST(limits_of_a_call_are_exact)
{
	struct fixture fixture;

	fixture_open(&fixture, &plain, NULL);
	for (unsigned over = 0; over < 2; over++) {
		reckon_execute_options options = { .size = sizeof(options),
						   .text_bytes = TEXT_MAX + over };
		cleanup_free char *code = mem_new0(CODE_MAX + over + 1, 1);
		cleanup_free const char **env = mem_new0(ENV_COUNT_MAX + over + 1, sizeof(*env));
		char *long_env = mem_new0(ENV_MAX + 1, 1);

		runs(&fixture, "ok", 2, &options, over == 0);
		options.text_bytes = 0;
		memset(code, ' ', CODE_MAX + over);
		runs(&fixture, code, CODE_MAX + over, &options, over == 0);
		for (size_t i = 0; i < ENV_COUNT_MAX + over; i++)
			env[i] = "A=";
		options.env = env;
		runs(&fixture, "ok", 2, &options, over == 0);
		/* A field head precedes each variable in the packet. */
		memset(long_env, 'x', ENV_MAX - sizeof(struct kernel_field) + over);
		memcpy(long_env, "A=", 2);
		options.env = (const char *const[]){ long_env, NULL };
		runs(&fixture, "ok", 2, &options, over == 0);
		free(long_env);
	}
	fixture_close(&fixture);
}
