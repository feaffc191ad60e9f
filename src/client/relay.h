/*
 * relay.h - messages to a path of the daemon outside its API, many at once; what comes back, whole.
 *
 * Each message is a POST; its answer is one JSON message, or events of which each is one (MCP's
 * Streamable HTTP). Nothing is asked again: what a broken connection means the caller knows.
 *
 *   client_relay_open(client, "/mcp", on_message, on_end, arg, &relay, &err)
 *   client_relay_post(relay, id, headers, json, len, &err)
 *   client_relay_wait(relay, fd, &err)     until something came, or `fd` is readable
 */
#pragma once

#include "client/client.h"

#define RELAY_HEADERS_MAX 6

struct client_relay;

/* A message that came for the exchange `id`. A negative result ends client_relay_wait(). */
typedef int relay_message_fn(unsigned long id, const char *json, size_t len, void *arg,
			     struct err *err);
/* The exchange is over. `status`: of HTTP, 0 when nobody answered; `body`: of an answer that is no
 * success; `session`: Mcp-Session-Id of its head, or "". */
typedef int relay_end_fn(unsigned long id, unsigned status, const struct buf *body,
			 const char *session, void *arg, struct err *err);

int client_relay_open(struct client *client, const char *path, relay_message_fn *on_message,
		      relay_end_fn *on_end, void *arg, struct client_relay **ret, struct err *err);
/* `headers`: lines, NULL at the end or RELAY_HEADERS_MAX of them. The text is copied. */
int client_relay_post(struct client_relay *relay, unsigned long id, const char *const *headers,
		      const char *json, size_t len, struct err *err);
/* Breaks one off, which has no end then; an id that is unknown is none. */
void client_relay_drop(struct client_relay *relay, unsigned long id);
size_t client_relay_count(const struct client_relay *relay); /* exchanges that go on */
/* Moves what there is to move. *ret_readable: something can be read from `fd` (-1: none). */
int client_relay_wait(struct client_relay *relay, int fd, bool *ret_readable, struct err *err);
void client_relay_close(struct client_relay *relay); /* NULL is fine */
