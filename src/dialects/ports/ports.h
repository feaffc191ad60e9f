/*
 * ports.h - proxies TCP ports of a session's programs to browsers and other clients.
 *
 *   match.c     which requests are for ports
 *   address.c   host names and paths: session and port
 *   ports.c     access, by five ways
 *   refuse.c    the error format for each way
 *   link.c      links: redirect from the API to the port's host name, and set a cookie there
 *   head.c      heads of requests and answers: which headers are passed on
 *   proxy.c     one request and its answer, both streamed; or a tunnel
 */
#pragma once

#include "base/id.h"
#include "codec/http_answer.h"
#include "dialects/call.h"

#define PORTS_COOKIE "reckon_port"
#define PORTS_PARAMETER "reckon_link"
#define PORTS_TOKEN_MAX 95u

enum ports_road {
	PORTS_NONE,
	PORTS_BY_HOST, /* PORT-ID.anything: the port has a separate origin */
	PORTS_BY_PATH, /* /reckon/v1/sessions/ID/ports/PORT/…: on the API's origin */
	PORTS_BY_LINK, /* /reckon/v1/ports/PORT-ID/TOKEN/…: redirects to the first */
	PORTS_BY_HEADER, /* E2b-Sandbox-Id and E2b-Sandbox-Port, as for E2B's proxy */
	PORTS_TUNNEL,  /* /reckon/v1/sessions/ID/ports/PORT with Upgrade: tcp */
};

struct ports_address {
	enum ports_road road;
	char session[ID_SIZE];
	unsigned port;	  /* 0: invalid */
	const char *path; /* as sent, for the program: "/…" */
	char base[80];	  /* part of the request's path before that; "": none */
	char label[48];	  /* in a link: PORT-ID */
	char token[PORTS_TOKEN_MAX + 1];
};

bool ports_address(const struct http *http, struct ports_address *ret);
void ports_refuse(struct request *request, const struct refusal *refusal);

void ports_proxy(struct request *request, const struct ports_address *address, int fd);
/* Passes raw bytes of the client's connection to the port and back. */
void ports_tunnel(struct request *request, int fd);
/* Waits until the socket is connected; NULL if a refusal was sent. */
struct channel *ports_connected(struct request *request, const struct ports_address *address,
				int fd);

/* Writes the request's head for the program. `keeps_authorization`: it belongs to the program. */
int ports_request_head(struct request *request, const struct ports_address *address,
		       bool keeps_authorization, struct buf *ret, struct err *err);
/* Writes header lines for the answer's head. */
int ports_answer_head(const struct http_answer *answer, const struct ports_address *address,
		      struct buf *ret, struct err *err);
bool ports_wants_upgrade(const struct http *http);

/* Redirects a browser to the port's host; false: the link is invalid. */
void ports_follow_link(struct request *request, const struct ports_address *address);
/* Whether the query had a link's token, and the redirect was sent. */
bool ports_take_link(struct request *request, const struct ports_address *address);
bool ports_is_token(const char *text);
