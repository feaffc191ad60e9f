/*
 * relay.h - parallel messages to a path of the daemon outside its API, each with its whole reply.
 *
 * Each message is a POST; the reply is one JSON message, or a stream of events that hold one each
 * (MCP's Streamable HTTP). The relay repeats nothing: the caller decides after a broken connection.
 *
 *   client_relay_open(client, "/mcp", on_message, on_end, arg, &relay, &err)
 *   client_relay_post(relay, id, headers, json, len, &err)
 *   client_relay_wait(relay, fd, &err)     until a reply arrives or `fd` is readable
 */
#pragma once

#include "client/client.h"

#define RELAY_HEADERS_MAX 6

struct client_relay;

/* A message for the exchange `id`. A negative result ends client_relay_wait(). */
typedef int relay_message_fn(unsigned long id, const char *json, size_t len, void *arg,
			     struct err *err);
/* The exchange is over. `status`: HTTP status, 0 without a reply; `body`: of an unsuccessful reply;
 * `session`: the reply's Mcp-Session-Id, or "". */
typedef int relay_end_fn(unsigned long id, unsigned status, const struct buf *body,
			 const char *session, void *arg, struct err *err);

int client_relay_open(struct client *client, const char *path, relay_message_fn *on_message,
		      relay_end_fn *on_end, void *arg, struct client_relay **ret, struct err *err);
/* `headers`: lines, ended by NULL or after RELAY_HEADERS_MAX. The text is copied. */
int client_relay_post(struct client_relay *relay, unsigned long id, const char *const *headers,
		      const char *json, size_t len, struct err *err);
/* Aborts an exchange, without a call of on_end; ignores an unknown id. */
void client_relay_drop(struct client_relay *relay, unsigned long id);
size_t client_relay_count(const struct client_relay *relay); /* running exchanges */
/* Advances all exchanges. *ret_readable: `fd` (-1: none) is readable. */
int client_relay_wait(struct client_relay *relay, int fd, bool *ret_readable, struct err *err);
void client_relay_close(struct client_relay *relay); /* NULL is fine */
