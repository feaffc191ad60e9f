/* client.h - the connections of clients. */
#pragma once

#include "box/state.h"

int client_adopt(struct warden *warden, int sock, struct err *err);
void client_accept(struct warden *warden, struct watch *watch, uint32_t events);
/* Makes a connection for a further kernel or thread of a session; *ret_theirs is the client's
 * end. */
int client_add_member(struct warden *warden, struct session *session, struct conn **ret,
		      int *ret_theirs, struct err *err);
void client_send(const struct conn *conn, const struct warden_reply *reply, const int *fds,
		 size_t nfds);
void client_drop(struct warden *warden, struct conn *conn); /* its sessions end, or freeze */
void client_kernel_ended(struct warden *warden, struct box_kernel *kernel);
/* For a session that ends: its member connections belong to no session any longer. */
void client_forget_session(struct warden *warden, struct session *session);
