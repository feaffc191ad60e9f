/*
 * test_host_scope.c - each call that needs a key has a scope in the field table.
 *
 * Runs in:  the unit suite.
 * Reads:    the field table.
 * Never:    skips a call.
 */
#include "unit.h"

#include "host/calls/answer.h"
#include "host/tenants/tenant.h"
#include "wire/front.h"

/* Calls without a key: some are public, the others need a ticket, a token or a signature. */
static bool is_open(size_t call)
{
	static const enum api_id open[] = { API_HEALTH,	  API_READY,	   API_OPENAPI,
					    API_LINK_GET, API_FILE_COMMIT, API_ARCHIVE_COMMIT,
					    API_STORED_COMMIT, API_VOLUME_COMMIT,
					    API_PORT_LINK_CONNECT,
					    API_SESSION_SIGNED };

	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++)
		if (open[i] == call)
			return true;
	return false;
}

/* A call needs at most one scope. Only read calls accept another one for the key's own objects. */
UNIT_TEST(each_call_has_a_scope)
{
	for (size_t i = 1; i < API_CALL_COUNT; i++) {
		const unsigned scope = api_calls[i].scope, own = api_calls[i].own_scope;

		assert_true((scope & (scope - 1)) == 0 &&
			    (scope < 1u << FRONT_SCOPES || scope == API_SCOPE_ANY));
		assert_true(own == 0 || (scope == API_SCOPE_READ && own != scope));
		if (scope == API_SCOPE_NONE)
			assert_true(is_open(i));
		assert_int_equal(scope == API_SCOPE_ANY, i == API_KEY_CHECK);
	}
	assert_int_equal(API_SCOPE_ADMIN, FRONT_SCOPE_ADMIN);
	assert_int_equal(API_SCOPE_SESSIONS, FRONT_SCOPE_SESSIONS);
	assert_int_equal(API_SCOPE_EXECUTE, FRONT_SCOPE_EXECUTE);
	assert_int_equal(API_SCOPE_FILES, FRONT_SCOPE_FILES);
	assert_int_equal(API_SCOPE_READ, FRONT_SCOPE_READ);
	assert_int_equal(API_SCOPE_AGENT, FRONT_SCOPE_AGENT);
}
