/*
 * ids.c - a kernel's UUID is a session's id in another spelling: 128 bits, in hexadecimal digits.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    ids of anybody.
 * Never:    says that something with an id is there.
 */
#include <stdio.h>
#include <string.h>

#include "dialects/jupyter/server.h"

__extension__ typedef unsigned __int128 wide;

#define SESSION_CHARS 26u

static const char crockford[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
static const char hexadecimal[] = "0123456789abcdef";

bool server_uuid_of(const char *session, char ret[UUID_SIZE])
{
	wide value = 0;

	if (strncmp(session, "se_", 3) != 0 || strlen(session) != 3 + SESSION_CHARS ||
	    session[3] > '7')
		return false;
	for (const char *at = session + 3; *at != '\0'; at++) {
		const char *digit = strchr(crockford, *at);

		if (digit == NULL)
			return false;
		value = value << 5 | (wide)(size_t)(digit - crockford);
	}
	for (int i = UUID_SIZE - 2; i >= 0; i--) {
		if (i == 8 || i == 13 || i == 18 || i == 23) {
			ret[i] = '-';
			continue;
		}
		ret[i] = hexadecimal[(unsigned)value & 15u];
		value >>= 4;
	}
	ret[UUID_SIZE - 1] = '\0';
	return true;
}

bool server_session_of(const char *uuid, char ret[SESSION_ID_SIZE])
{
	wide value = 0;

	if (strlen(uuid) != UUID_SIZE - 1)
		return false;
	for (int i = 0; i < UUID_SIZE - 1; i++) {
		const bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
		const char *digit = is_dash ? NULL : strchr(hexadecimal, uuid[i]);

		if (is_dash != (uuid[i] == '-') || (!is_dash && digit == NULL))
			return false;
		if (!is_dash)
			value = value << 4 | (wide)(size_t)(digit - hexadecimal);
	}
	(void)snprintf(ret, SESSION_ID_SIZE, "se_");
	ret[3 + SESSION_CHARS] = '\0';
	for (unsigned i = SESSION_CHARS; i > 0; i--) {
		ret[2 + i] = crockford[(unsigned)value & 31u];
		value >>= 5;
	}
	return true;
}
