/*
 * target.c - which sandbox and port a head names, and the forms of ids and keys.
 *
 * Runs in:  reckon-front-e2b.
 * Reads:    heads from clients.
 * Never:    trusts an id: a malformed one becomes "-", which no session has.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "codec/base64.h"
#include "dialects/e2b/e2b.h"

#define NAME_LEN 26u /* of a session's id, after "se_" */
#define KEY_BYTES 32u
#define KEY_PREFIX "e2b_"
#define TOKEN_PREFIX "st_"
#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyz0123456789"
#define HOST_CHARACTERS ID_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

void e2b_sandbox_id(const char *session, char ret[E2B_ID_SIZE])
{
	size_t at = 0;

	if (strlen(session) > 3)
		for (session += 3; *session != '\0' && at + 1 < E2B_ID_SIZE; session++)
			ret[at++] = (char)tolower((unsigned char)*session);
	ret[at] = '\0';
}

void e2b_session_id(const char *sandbox, char ret[E2B_ID_SIZE])
{
	if (strlen(sandbox) != NAME_LEN || strspn(sandbox, ID_CHARACTERS) != NAME_LEN) {
		(void)snprintf(ret, E2B_ID_SIZE, "-");
		return;
	}
	(void)snprintf(ret, E2B_ID_SIZE, "se_%s", sandbox);
	for (char *at = ret + 3; *at != '\0'; at++)
		*at = (char)toupper((unsigned char)*at);
}

void e2b_key_of(const char *presented, char *ret, size_t size)
{
	const char *digits = presented + strlen(KEY_PREFIX);
	cleanup_buf struct buf text = BUF_INIT(64);
	unsigned char bits[KEY_BYTES];
	struct err err;

	(void)snprintf(ret, size, "%s", presented);
	if (strncmp(presented, KEY_PREFIX, strlen(KEY_PREFIX)) != 0 ||
	    strlen(digits) != (size_t)2 * KEY_BYTES)
		return;
	for (size_t i = 0; i < KEY_BYTES; i++) {
		const int high = text_hex_digit(digits[2 * i]),
			  low = text_hex_digit(digits[2 * i + 1]);

		if (high < 0 || low < 0)
			return;
		bits[i] = (unsigned char)(high * 16 + low);
	}
	if (base64_encode(bits, sizeof(bits), &text, &err) < 0)
		return;
	for (size_t i = 0; i < text.len; i++)
		text.data[i] = text.data[i] == '+'   ? '-'
			       : text.data[i] == '/' ? '_'
						     : text.data[i];
	(void)snprintf(ret, size, "rk_%.43s", text.data);
}

static unsigned port_of(const char *text)
{
	const size_t len = strspn(text, "0123456789");
	const unsigned long port = len > 0 && len <= 5 ? strtoul(text, NULL, 10) : 0;

	return port <= 65535 ? (unsigned)port : 0;
}

/* PORT-ID.anything; host names ignore case. */
static void take_host(const char *host, struct e2b_target *ret)
{
	const size_t digits = strspn(host, "0123456789");
	const size_t len = host[digits] == '-' ? strspn(host + digits + 1, HOST_CHARACTERS) : 0;

	if (digits == 0 || len == 0 || len >= sizeof(ret->sandbox) ||
	    host[digits + 1 + len] != '.')
		return;
	ret->port = port_of(host);
	for (size_t i = 0; i < len; i++)
		ret->sandbox[i] = (char)tolower((unsigned char)host[digits + 1 + i]);
	ret->sandbox[len] = '\0';
}

/* Older SDKs send the headers of a sandbox's envd with requests to the control plane, too. */
static bool is_control(const char *path)
{
	static const char *const firsts[] = { "sandboxes", "templates", "snapshots", "volumes",
					      E2B_VOLUME_CONTENT, "secrets", "teams" };

	if (strncmp(path, "/v2/", 4) == 0 || strncmp(path, "/v3/", 4) == 0)
		path += 3;
	for (size_t i = 0; i < ARRAY_LEN(firsts); i++) {
		const size_t len = strlen(firsts[i]);

		if (strncmp(path + 1, firsts[i], len) == 0 &&
		    (path[1 + len] == '\0' || path[1 + len] == '/'))
			return true;
	}
	return false;
}

/* Paths of a sandbox's files and processes. */
static bool is_of_envd(const char *path)
{
	return strcmp(path, "/health") == 0 || strcmp(path, "/files") == 0 ||
	       strncmp(path, "/filesystem.Filesystem/", 23) == 0 ||
	       strncmp(path, "/process.Process/", 17) == 0;
}

/*
 * A sandbox's token begins with its name. For a sandbox that they connected to, SDKs of 2025 send
 * nothing else that names it.
 */
static bool take_token(const char *token, char ret[E2B_ID_SIZE])
{
	if (token == NULL || strncmp(token, TOKEN_PREFIX, strlen(TOKEN_PREFIX)) != 0 ||
	    strlen(token) < strlen(TOKEN_PREFIX) + NAME_LEN)
		return false;
	token += strlen(TOKEN_PREFIX);
	for (size_t i = 0; i < NAME_LEN; i++)
		ret[i] = (char)tolower((unsigned char)token[i]);
	ret[NAME_LEN] = '\0';
	return true;
}

bool e2b_session_of_token(const char *token, char ret[E2B_ID_SIZE])
{
	char sandbox[E2B_ID_SIZE];

	if (!take_token(token, sandbox))
		return false;
	e2b_session_id(sandbox, ret);
	return true;
}

void e2b_target_of(const struct http *http, struct e2b_target *ret)
{
	const char *id = http_header(http, "e2b-sandbox-id");
	const char *port = http_header(http, "e2b-sandbox-port");
	const char *host = http_header(http, "host");

	*ret = (struct e2b_target){ .side = E2B_CONTROL };
	ret->is_half = (id == NULL) != (port == NULL);
	if (id != NULL && port != NULL) {
		(void)snprintf(ret->sandbox, sizeof(ret->sandbox), "%s",
			       strlen(id) < sizeof(ret->sandbox) ? id : "-");
		ret->port = port_of(port);
	} else if (host != NULL) {
		take_host(host, ret);
	}
	e2b_session_id(ret->sandbox, ret->session);
	if (ret->sandbox[0] == '\0' && is_of_envd(http->path) &&
	    take_token(http_header(http, "x-access-token"), ret->sandbox)) {
		ret->port = E2B_ENVD_PORT;
		e2b_session_id(ret->sandbox, ret->session);
	}
	if (ret->sandbox[0] != '\0')
		ret->side = id != NULL && is_control(http->path) &&
					    (ret->port == E2B_ENVD_PORT ||
					     ret->port == E2B_INTERPRETER_PORT)
				    ? E2B_CONTROL
			    : ret->port == E2B_ENVD_PORT	       ? E2B_ENVD
			    : ret->port == E2B_INTERPRETER_PORT ? E2B_INTERPRETER
								: E2B_PORT;
	else if (strcmp(http->path, "/files") == 0)
		ret->side = E2B_ENVD; /* the signature names the sandbox */
}
