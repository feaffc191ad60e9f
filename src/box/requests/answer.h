/* answer.h - answers to the requests of clients. */
#pragma once

#include "box/state.h"

/* server.c: answers one request; takes the descriptors. */
void server_answer(struct warden *warden, struct conn *conn, const struct warden_request *request,
		   const int *fds, size_t nfds);

/* ---- give.c ---- */
struct warden_reply answer_to(const struct warden_request *request);
bool group_is_sound(const struct warden_group *group);
void answer_open(struct warden *warden, struct conn *conn,
			const struct warden_request *request, const int *fds, size_t nfds);
void answer_context(struct warden *warden, struct conn *conn, struct session *session,
			   const struct warden_request *request, struct warden_reply *reply);
/* Gives a context that lost its client to the client that has the session now. */
void answer_adopt_kernel(struct warden *warden, struct conn *conn, struct session *session,
			 const struct warden_request *request, struct warden_reply *reply);
void answer_restart(struct warden *warden, struct conn *conn, struct box_kernel *kernel,
			   const struct warden_request *request, struct warden_reply *reply);
void answer_door(struct warden *warden, struct conn *conn, struct session *session,
			struct warden_reply *reply);
void answer_branch(struct warden *warden, struct conn *conn, struct box_kernel *parent,
			  struct warden_reply *reply);
void answer_adopt(struct warden *warden, struct conn *conn,
			 const struct warden_request *request);
