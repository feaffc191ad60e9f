/* client.h - the connections of clients. */
#pragma once

#include "box/state.h"

int client_adopt(struct warden *warden, int sock, struct err *err);
void client_accept(struct warden *warden, struct watch *watch, uint32_t events);
/* A connection of its own for a kernel or a thread, made here and handed over. */
int client_add_member(struct warden *warden, struct session *session, struct conn **ret,
		      int *ret_theirs, struct err *err);
void client_send(const struct conn *conn, const struct warden_reply *reply, const int *fds,
		 size_t nfds);
void client_drop(struct warden *warden, struct conn *conn); /* and the sessions it opened */
void client_kernel_ended(struct warden *warden, struct box_kernel *kernel);
/* The session ends: the connections that were given to it belong to no session any more. */
void client_forget_session(struct warden *warden, struct session *session);
