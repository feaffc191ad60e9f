/*
 * client.h - one connection to reckon-warden: requests, replies in order, ended sessions.
 *
 * Nothing here blocks except client_wait(), which has a timeout. The engine and its sessions share
 * a connection, so it has a reference count: a session keeps the connection on which it was opened
 * even if the engine has made a new one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/warden.h"

struct client;

/* A request whose answer the caller wants. The caller owns it and must forget it before freeing
 * it. */
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

/* Takes `sock`. `pid` is a private warden, which ends with the connection, or -1. */
int client_new(int sock, pid_t pid, client_ended_fn *on_ended, void *arg, struct client **ret,
	       struct err *err);
/* For a connection that the warden itself made: needs no HELLO. `on_ended` may be NULL. */
int client_new_greeted(int sock, client_ended_fn *on_ended, void *arg, struct client **ret,
		       struct err *err);
struct client *client_ref(struct client *client);
void client_unref(struct client *client); /* the last reference closes it; NULL is fine */

/* Stops calling on_ended: its owner is about to be freed. */
void client_silence(struct client *client);

int client_sock(const struct client *client);

/* Whether the connection to the warden is lost; then *ret (may be NULL) has the reason, as
 * ERR_LOST. */
bool client_is_dead(const struct client *client, struct err *ret);

/* Sends HELLO; ERR_PROTOCOL if the warden has another version. */
int client_hello(struct client *client, bool strict, struct err *err);

/*
 * Sends a request; fills in `magic`, `version` and `seq`. The answer is stored in the call, or
 * dropped if there is no call.
 */
int client_send(struct client *client, struct warden_request *request, const int *fds, size_t nfds,
		struct client_call *call, struct err *err);

/* Handles messages that have arrived. Call it when client_sock() is readable. */
void client_dispatch(struct client *client);

/* Waits for a call; returns the warden's result. ERR_TIMEOUT leaves the call registered. */
int client_wait(struct client *client, struct client_call *call, int timeout_ms, struct err *err);

/* Unregisters a call, answered or not, and closes descriptors that were not taken from it. */
void client_forget(struct client *client, struct client_call *call);

/* Unregisters an answered call, but keeps its descriptors. */
void client_detach(struct client *client, struct client_call *call);

/* Sends a request and waits for its answer. */
int client_ask(struct client *client, struct warden_request *request, const int *fds, size_t nfds,
	       struct client_call *call, int timeout_ms, struct err *err);
