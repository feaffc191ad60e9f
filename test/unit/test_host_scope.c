/*
 * test_host_scope.c - each request that brings a key has a scope of its own in the table.
 *
 * Runs in:  the unit suite.
 * Reads:    both tables.
 * Never:    lets a request be forgotten.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "host/answer.h"
#include "host/tenant.h"
#include "wire/front.h"

/* Whether a request of this type may hold a key: then it is not a breach of the form alone. */
static bool takes_key(uint16_t type)
{
	const struct kernel_item key = { FRONT_TAG_KEY, 1, "k" };
	struct err err = { 0 };

	(void)front_check(type, &key, 1, &err);
	return err.code == ERR_OK || strstr(err.text, "lacks a field") != NULL;
}

static void each_request_is_named(void **state)
{
	(void)state;
	for (uint16_t type = 0; type < FRONT_REQUEST_COUNT; type++) {
		if (!front_may_send(FRONT_STATE_SERVING, type) || !takes_key(type))
			continue;
		if (!scope_is_named(type))
			print_message("request %u is in no row of scope.c\n", type);
		assert_true(scope_is_named(type));
	}
}

static void each_request_is_answered(void **state)
{
	(void)state;
	/* CANCEL and HANDOFF come before the others, and have no answer. */
	for (uint16_t type = FRONT_HANDOFF + 1; type < FRONT_REQUEST_COUNT; type++) {
		if (!front_may_send(FRONT_STATE_SERVING, type))
			continue;
		if (!answer_knows(type))
			print_message("request %u is in no row of answer.c\n", type);
		assert_true(answer_knows(type));
	}
	assert_false(answer_knows(UINT16_MAX));
}

static void what_is_not_named_needs_admin(void **state)
{
	(void)state;
	assert_int_equal(scope_of(0), FRONT_SCOPE_ADMIN);
	assert_int_equal(scope_of(UINT16_MAX), FRONT_SCOPE_ADMIN);
	assert_int_equal(scope_of(FRONT_AUTH), 0);
	assert_int_equal(scope_of(FRONT_RUN_CREATE), FRONT_SCOPE_AGENT);
}

/* Only what answers for something that a request of the named scope began. */
static void what_is_ones_own_needs_less(void **state)
{
	(void)state;
	for (uint16_t type = 0; type < FRONT_REQUEST_COUNT; type++) {
		const uint32_t own = scope_of_own(type);

		if (type == FRONT_EVENTS)
			assert_int_equal(own, FRONT_SCOPE_EXECUTE);
		else if (type == FRONT_RUN_EVENTS || type == FRONT_RUN_SHOW)
			assert_int_equal(own, scope_of(FRONT_RUN_CREATE));
		else
			assert_int_equal(own, 0);
		assert_true(own == 0 || scope_of(type) == FRONT_SCOPE_READ);
	}
	assert_int_equal(scope_of_own(UINT16_MAX), 0);
}

/* The same of the field table: what it says a key needs is one scope, and that its own needs less. */
static void each_call_has_a_scope(void **state)
{
	(void)state;
	for (size_t i = 1; i < API_CALL_COUNT; i++) {
		const unsigned scope = api_calls[i].scope, own = api_calls[i].own_scope;

		assert_true((scope & (scope - 1)) == 0 && scope < 1u << FRONT_SCOPES);
		assert_true(own == 0 || (scope == API_SCOPE_READ && own != scope));
		if (scope == API_SCOPE_NONE)
			assert_true(i == API_HEALTH || i == API_READY);
	}
	assert_int_equal(API_SCOPE_ADMIN, FRONT_SCOPE_ADMIN);
	assert_int_equal(API_SCOPE_SESSIONS, FRONT_SCOPE_SESSIONS);
	assert_int_equal(API_SCOPE_EXECUTE, FRONT_SCOPE_EXECUTE);
	assert_int_equal(API_SCOPE_FILES, FRONT_SCOPE_FILES);
	assert_int_equal(API_SCOPE_READ, FRONT_SCOPE_READ);
	assert_int_equal(API_SCOPE_AGENT, FRONT_SCOPE_AGENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_request_is_named),
		cmocka_unit_test(each_request_is_answered),
		cmocka_unit_test(what_is_not_named_needs_admin),
		cmocka_unit_test(what_is_ones_own_needs_less),
		cmocka_unit_test(each_call_has_a_scope),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
