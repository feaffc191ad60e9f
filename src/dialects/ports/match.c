/* match.c - ports have their own host names, and paths below a session's. */
#include "dialects/match.h"
#include "dialects/ports/ports.h"

extern const struct dialect_match dialect_match_ports;

static bool is_ours(const struct http *http)
{
	struct ports_address ignored;

	return ports_address(http, &ignored);
}

const struct dialect_match dialect_match_ports = { .name = "ports", .is_ours = is_ours };
