/*
 * scope.c - what a key must be allowed for each request.
 *
 * Runs in:  reckond's loop.
 * Reads:    nothing.
 * Never:    lets through what the table forgot: that needs admin.
 */
#include "host/tenant.h"
#include "wire/front.h"

#define ANY_KEY 0x80u

static const uint8_t scopes[FRONT_REQUEST_COUNT] = {
	[FRONT_AUTH] = ANY_KEY,
	[FRONT_EVENTS] = FRONT_SCOPE_READ,
	[FRONT_FILE_LIST] = FRONT_SCOPE_FILES,
	[FRONT_FILE_GET] = FRONT_SCOPE_FILES,
	[FRONT_FILE_PUT] = FRONT_SCOPE_FILES,
	[FRONT_FILE_DELETE] = FRONT_SCOPE_FILES,
	[FRONT_ARTIFACT_GET] = FRONT_SCOPE_READ,
	[FRONT_ARCHIVE_GET] = FRONT_SCOPE_FILES,
	[FRONT_ARCHIVE_PUT] = FRONT_SCOPE_FILES,
	[FRONT_FILE_MOVE] = FRONT_SCOPE_FILES,
	[FRONT_FILE_MKDIR] = FRONT_SCOPE_FILES,
	[FRONT_VERSION_LIST] = FRONT_SCOPE_READ,
	[FRONT_LINK_CREATE] = FRONT_SCOPE_FILES,
	[FRONT_LINK_DELETE] = FRONT_SCOPE_FILES,
	[FRONT_KEPT_LIST] = FRONT_SCOPE_READ,
	[FRONT_RUN_CREATE] = FRONT_SCOPE_AGENT,
	[FRONT_RUN_SHOW] = FRONT_SCOPE_READ,
	[FRONT_RUN_EVENTS] = FRONT_SCOPE_READ,
	[FRONT_RUN_INTERRUPT] = FRONT_SCOPE_AGENT,
};

/* What is enough for that which this very key started: whoever began it gets its answer. */
static const uint8_t own_scopes[FRONT_REQUEST_COUNT] = {
	[FRONT_EVENTS] = FRONT_SCOPE_EXECUTE,
	[FRONT_RUN_SHOW] = FRONT_SCOPE_AGENT,
	[FRONT_RUN_EVENTS] = FRONT_SCOPE_AGENT,
};

bool scope_is_named(uint16_t type)
{
	return type < FRONT_REQUEST_COUNT && scopes[type] != 0;
}

uint32_t scope_of(uint16_t type)
{
	const uint8_t scope = type < FRONT_REQUEST_COUNT ? scopes[type] : 0;

	if (scope == ANY_KEY)
		return 0;
	return scope != 0 ? scope : FRONT_SCOPE_ADMIN;
}

uint32_t scope_of_own(uint16_t type)
{
	return type < FRONT_REQUEST_COUNT ? own_scopes[type] : 0;
}
