/*
 * ports.c - access to the ports on which programs of a session serve, by five ways.
 *
 *   PORT-ID.localhost                          a separate origin: key, link or cookie
 *   /reckon/v1/sessions/ID/ports/PORT/…        a key; the answer is sandboxed
 *   /reckon/v1/sessions/ID/ports/PORT          with Upgrade: tcp: raw bytes in both directions
 *   /reckon/v1/ports/PORT-ID/TOKEN/…           a link, which redirects to the first way
 *   E2b-Sandbox-Id and E2b-Sandbox-Port        a key, for clients that cannot use host names
 *
 * Runs in:  reckon-front-ports.
 * Reads:    heads of anybody.
 * Never:    accepts a cookie for more than one port of one session: it is a link's token.
 */
#include "dialects/ports/ports.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

#define KEY_SIZE 129

extern const struct dialect dialect_ports;

static void refuse_no_port(struct request *request)
{
	answer_refuse_simple(request, 400, "invalid", "a port is a number from 1 to 65535",
			     "name the one on which the program listens");
}

/* A throttled address may use only keys that were good a moment ago. */
static bool may_present_key(struct request *request)
{
	char key[KEY_SIZE];

	request_key(request, key, sizeof(key));
	if (key[0] == '\0' || request_may_present(request, key))
		return true;
	answer_refuse_simple(request, 429, "too_many_attempts",
			     "too many unknown keys came from this address",
			     "use a key that is known, or wait");
	return false;
}

/* Returns a socket that is connecting to the port; negative if a refusal was sent. */
static int connect_with_key(struct request *request, const struct ports_address *address)
{
	cleanup_call struct call call = CALL_INIT;

	if (!may_present_key(request) ||
	    call_or_refuse(request, API_PORT_CONNECT,
			   &(struct api_port_connect_in){ .session = address->session,
							  .port = address->port },
			   NULL, &call) < 0)
		return -1;
	return TAKE_FD(call.reply.fd);
}

static int connect_with_token(struct request *request, const struct ports_address *address,
			      const char *token)
{
	cleanup_call struct call call = CALL_INIT;

	if (call_or_refuse(request, API_PORT_LINK_CONNECT,
			   &(struct api_port_link_connect_in){ .session = address->session,
							       .port = address->port,
							       .token = token },
			   NULL, &call) < 0)
		return -1;
	return TAKE_FD(call.reply.fd);
}

/* Whether the head has a Reckon key, apart from Authorization, which belongs to the program. */
static bool has_key(const struct http *http)
{
	return http_header(http, "x-reckon-key") != NULL ||
	       http_header(http, "e2b-traffic-access-token") != NULL;
}

static void serve_by_header(struct request *request, const struct ports_address *address)
{
	const struct http *http = request_head(request);
	const char *token = http_header(http, "x-access-token");
	int fd;

	request_note(request, "E2b-Sandbox-Port", address->session, NULL);
	if (!has_key(http) && token != NULL && strlen(token) < KEY_SIZE)
		request_use_key(request, token);
	else if (!has_key(http)) {
		answer_refuse_simple(request, 401, "unauthorized",
				     "this port is not open for everybody",
				     "send the sandbox's trafficAccessToken as "
				     "E2b-Traffic-Access-Token");
		return;
	}
	fd = connect_with_key(request, address);
	if (fd >= 0)
		ports_proxy(request, address, fd);
}

static void serve_by_host(struct request *request, const struct ports_address *address)
{
	const struct http *http = request_head(request);
	char token[PORTS_TOKEN_MAX + 2];
	int fd;

	request_note(request, "PORT-ID.localhost", address->session, NULL);
	if (ports_take_link(request, address))
		return;
	/* Here Authorization belongs to the program. */
	if (has_key(http)) {
		fd = connect_with_key(request, address);
	} else if (!http_cookie(http, PORTS_COOKIE, token, sizeof(token)) || !ports_is_token(token)) {
		answer_refuse_simple(request, 401, "unauthorized",
				     "this port is not open for everybody",
				     "follow a link to it (POST /reckon/v1/sessions/ID/links), or "
				     "send X-Reckon-Key");
		return;
	} else if (!request_may_use_cookie(request)) {
		answer_refuse_simple(request, 403, "denied",
				     "a page of another origin asked for this", NULL);
		return;
	} else {
		fd = connect_with_token(request, address, token);
	}
	if (fd >= 0)
		ports_proxy(request, address, fd);
}

static void serve_by_path(struct request *request, const struct ports_address *address)
{
	int fd;

	request_note(request, "/reckon/v1/sessions/{session}/ports/{port}/{path}",
		     address->session, NULL);
	fd = connect_with_key(request, address);
	if (fd >= 0)
		ports_proxy(request, address, fd);
}

static void serve_tunnel(struct request *request, const struct ports_address *address)
{
	const struct http *http = request_head(request);
	const char *upgrade = http_header(http, "upgrade");
	int fd;

	request_note(request, "/reckon/v1/sessions/{session}/ports/{port}", address->session, NULL);
	if (!ports_wants_upgrade(http) || strcasecmp(upgrade, "tcp") != 0) {
		answer_refuse_simple(request, 404, "not_found", "there is nothing without a path",
				     "add a slash for what the program serves over HTTP, or send "
				     "Connection: Upgrade and Upgrade: tcp for bytes");
		return;
	}
	fd = connect_with_key(request, address);
	if (fd >= 0)
		ports_tunnel(request, fd);
}

static void handle(struct request *request)
{
	struct ports_address address;

	(void)ports_address(request_head(request), &address);
	if (address.road == PORTS_BY_LINK)
		ports_follow_link(request, &address);
	else if (address.port == 0)
		refuse_no_port(request);
	else if (address.road == PORTS_BY_HOST)
		serve_by_host(request, &address);
	else if (address.road == PORTS_BY_HEADER)
		serve_by_header(request, &address);
	else if (address.road == PORTS_BY_PATH)
		serve_by_path(request, &address);
	else
		serve_tunnel(request, &address);
}

static const struct key_place keys[] = { { KEY_HEADER, "x-reckon-key" },
					 { KEY_HEADER, "e2b-traffic-access-token" },
					 { KEY_BEARER, NULL },
					 { KEY_NONE, NULL } };

const struct dialect dialect_ports = {
	.name = "ports",
	.keys = keys,
	.handle = handle,
	.refuse = ports_refuse,
};
