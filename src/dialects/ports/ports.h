/*
 * ports.h - what programs of a session serve on TCP ports, for browsers and other clients.
 *
 *   match.c     which requests are for ports
 *   address.c   names of hosts and paths: which session, which port
 *   ports.c     who may, and by which road
 *   refuse.c    how an error looks, by road
 *   link.c      links: a page of the API's leads to the port's own host name, and a cookie there
 *   head.c      heads of requests and answers: what is passed on, and what is not
 *   proxy.c     one request and its answer, both as streams; or a tunnel
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
	PORTS_BY_HOST, /* PORT-ID.anything: the port has an origin of its own */
	PORTS_BY_PATH, /* /reckon/v1/sessions/ID/ports/PORT/…: on the API's origin */
	PORTS_BY_LINK, /* /reckon/v1/ports/PORT-ID/TOKEN/…: leads to the first */
	PORTS_BY_HEADER, /* E2b-Sandbox-Id and E2b-Sandbox-Port, as E2B's proxy takes them */
	PORTS_TUNNEL,  /* /reckon/v1/sessions/ID/ports/PORT with Upgrade: tcp */
};

struct ports_address {
	enum ports_road road;
	char session[ID_SIZE];
	unsigned port;	  /* 0: what stands there is none */
	const char *path; /* as sent, for the program: "/…" */
	char base[80];	  /* of the request's path, before that; "": it is all of it */
	char label[48];	  /* of a link: PORT-ID */
	char token[PORTS_TOKEN_MAX + 1];
};

bool ports_address(const struct http *http, struct ports_address *ret);
void ports_refuse(struct request *request, const struct refusal *refusal);

void ports_proxy(struct request *request, const struct ports_address *address, int fd);
/* Bytes of the client's connection as they are, to the port and back. */
void ports_tunnel(struct request *request, int fd);
/* Waits until the socket is connected; NULL when it was answered that it is not. */
struct channel *ports_connected(struct request *request, const struct ports_address *address,
				int fd);

/* The head of the request for the program. `keeps_authorization`: it is the program's, not ours. */
int ports_request_head(struct request *request, const struct ports_address *address,
		       bool keeps_authorization, struct buf *ret, struct err *err);
/* Lines of the answer's head. */
int ports_answer_head(const struct http_answer *answer, const struct ports_address *address,
		      struct buf *ret, struct err *err);
bool ports_wants_upgrade(const struct http *http);
/* The value of `name` in a list of `name=value; …`; false when there is none. */
bool ports_cookie(const struct http *http, char *ret, size_t size);

/* Leads a browser on; false: there is nothing to lead to. */
void ports_follow_link(struct request *request, const struct ports_address *address);
/* Whether the query had a link, which was answered. */
bool ports_take_link(struct request *request, const struct ports_address *address);
bool ports_is_token(const char *text);
