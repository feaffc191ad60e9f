/*
 * client.h - one connection to reckon-warden: requests, replies in order, ended sessions.
 *
 * Nothing here blocks except client_wait(), which also says for how long. Shared by the engine
 * and its sessions, hence counted: a session keeps the connection it was opened on although the
 * engine may meanwhile have made a new one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/warden.h"

struct client;

/* A request whose answer somebody wants. Lives with the caller; forget it before it goes. */
struct client_call {
	struct client_call *next;
	uint32_t seq;
	bool done;
	size_t nfds;
	int fds[2];
	struct warden_reply reply;
};

typedef void client_ended_fn(struct client *client, uint32_t kernel,
			     const struct warden_ended *ended, void *arg);

/* Takes `sock`. `pid` is a warden of our own, ended with the connection, or -1. */
int client_new(int sock, pid_t pid, client_ended_fn *on_ended, void *arg, struct client **ret,
	       struct err *err);
/* A connection that the warden itself made: no HELLO is due. `on_ended` may be NULL. */
int client_new_greeted(int sock, client_ended_fn *on_ended, void *arg, struct client **ret,
		       struct err *err);
struct client *client_ref(struct client *client);
void client_unref(struct client *client); /* the last one closes; NULL is fine */

/* No more ended sessions are announced: whoever wanted to know is going away. */
void client_silence(struct client *client);

int client_sock(const struct client *client);

/* Whether the warden is gone; then *ret (may be NULL) says why, as ERR_LOST. */
bool client_is_dead(const struct client *client, struct err *ret);

/* Says who we are; ERR_PROTOCOL when the warden is of another version. */
int client_hello(struct client *client, bool strict, struct err *err);

/*
 * Sends a request; `magic`, `version` and `seq` are filled in. With a call its answer will be
 * kept there; without one it is dropped.
 */
int client_send(struct client *client, struct warden_request *request, const int *fds, size_t nfds,
		struct client_call *call, struct err *err);

/* Takes in what has arrived. Call it when client_sock() is readable. */
void client_dispatch(struct client *client);

/* Waits for a call; returns what the warden said. ERR_TIMEOUT leaves the call registered. */
int client_wait(struct client *client, struct client_call *call, int timeout_ms, struct err *err);

/* Unregisters a call, answered or not, and closes descriptors that nobody took from it. */
void client_forget(struct client *client, struct client_call *call);

/* Unregisters an answered call, and leaves its descriptors with it. */
void client_detach(struct client *client, struct client_call *call);

/* Sends and waits. */
int client_ask(struct client *client, struct warden_request *request, const int *fds, size_t nfds,
	       struct client_call *call, int timeout_ms, struct err *err);
