/*
 * ids.c - converts ids of sessions, contexts and documents to UUIDs: both have 128 bits.
 *
 * Runs in:  reckon-front-jupyter.
 * Reads:    ids of any client.
 * Never:    checks whether the object exists.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "dialects/jupyter/server.h"

__extension__ typedef unsigned __int128 wide;

#define SESSION "se_"
#define CONTEXT "ctx_"
#define DOCUMENT "doc_"
#define ID_CHARS 26u

static const char crockford[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
static const char hexadecimal[] = "0123456789abcdef";

bool server_uuid_of(const char *id, char ret[UUID_SIZE])
{
	static const char *const prefixes[] = { SESSION, CONTEXT, DOCUMENT };
	size_t prefix = 0;
	wide value = 0;

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
		if (strncmp(id, prefixes[i], strlen(prefixes[i])) == 0)
			prefix = strlen(prefixes[i]);
	if (prefix == 0 || strlen(id) != prefix + ID_CHARS || id[prefix] > '7')
		return false;
	for (const char *at = id + prefix; *at != '\0'; at++) {
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

static bool id_of(const char *prefix, const char *uuid, char ret[ID_SIZE])
{
	const size_t before = strlen(prefix);
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
	(void)snprintf(ret, ID_SIZE, "%s", prefix);
	ret[before + ID_CHARS] = '\0';
	for (unsigned i = ID_CHARS; i > 0; i--) {
		ret[before + i - 1] = crockford[(unsigned)value & 31u];
		value >>= 5;
	}
	return true;
}

bool server_session_of(const char *uuid, char ret[ID_SIZE])
{
	return id_of(SESSION, uuid, ret);
}

bool server_context_of(const char *uuid, char ret[ID_SIZE])
{
	return id_of(CONTEXT, uuid, ret);
}

bool server_document_of(const char *uuid, char ret[ID_SIZE])
{
	return id_of(DOCUMENT, uuid, ret);
}
