/*
 * give.c - answers that hand out a box or a kernel.
 *
 * Runs in:  the warden.
 * Reads:    fixed-size requests of processes of the same user (clients/client.c).
 * Never:    gives a strict client a box that lacks a wall.
 */
#include "box/requests/answer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "box/clients/client.h"
#include "box/sessions/lease.h"
#include "box/sessions/session.h"
#include "box/walls/guard.h"
#include "box/walls/probe.h"

struct warden_reply answer_to(const struct warden_request *request)
{
	return (struct warden_reply){ .magic = WARDEN_MAGIC,
				      .version = WARDEN_VERSION,
				      .type = request->type,
				      .seq = request->seq,
				      .session = request->session,
				      .kernel = request->kernel };
}

static void fill_opened(const struct warden *warden, const struct box_kernel *kernel,
			enum warden_warmth warmth, struct warden_opened *ret)
{
	const struct session *session = kernel->session;

	*ret = (struct warden_opened){ .session = session->id,
				       .host_uid = session->shell.host_uid,
				       .host_gid = session->shell.host_gid,
				       .kernel_pid = kernel->made.kernel,
				       .has_twin = kernel->made.traced,
				       .warmth = warmth,
				       .shell_us = session->shell_us,
				       .spawn_us = session->spawn_us,
				       .unheld = session->unheld,
				       .kernel = kernel->id,
				       .limits = session->limits };
	if (!cgroup_has(&warden->cgroups, CG_MEMORY))
		ret->unheld |= WARDEN_UNHELD_MEMORY;
	if (!cgroup_has(&warden->cgroups, CG_CPU))
		ret->unheld |= WARDEN_UNHELD_CPU;
}

/* Gives a session to the client of an OPEN, a BRANCH or an ADOPT, which owns it from now on. */
static void give(struct warden *warden, struct conn *conn, struct session *session,
		 enum warden_warmth warmth, struct warden_reply *reply)
{
	struct box_kernel *kernel = session->kernels[0];
	char path[64];
	cleanup_fd int workspace = -1;
	int fds[2];

	(void)snprintf(path, sizeof(path), "/proc/%d/root/mnt/data", (int)session->shell.init);
	workspace = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (workspace < 0) {
		(void)err_sys(&reply->err, "open the workspace");
		session_end(warden, session);
		client_send(conn, reply, NULL, 0);
		return;
	}
	session->conn = kernel->conn = conn;
	session->next_of_conn = conn->sessions;
	conn->sessions = session;
	reply->session = session->id;
	reply->kernel = kernel->id;
	fill_opened(warden, kernel, warmth, &reply->opened);
	fds[0] = kernel->control_host;
	fds[1] = workspace;
	client_send(conn, reply, fds, 2);
	warden->open_sessions++;
}

static bool text_is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

bool group_is_sound(const struct warden_group *group)
{
	return text_is_terminated(group->name, sizeof(group->name)) &&
	       group->weight <= WARDEN_GROUP_WEIGHT_MAX;
}

static int check_open(const struct warden_open *open, size_t nfds, struct err *err)
{
	bool ok = text_is_terminated(open->template_name, sizeof(open->template_name)) &&
		  text_is_terminated(open->language, sizeof(open->language)) &&
		  open->mount_count <= WARDEN_MOUNTS_MAX && open->mount_count == nfds &&
		  group_is_sound(&open->group);

	for (uint32_t i = 0; ok && i < open->mount_count; i++)
		ok = text_is_terminated(open->mounts[i].target, sizeof(open->mounts[i].target));
	return ok ? 0 : err_set(err, ERR_PROTOCOL, "malformed OPEN request");
}

void answer_open(struct warden *warden, struct conn *conn,
			const struct warden_request *request, const int *fds, size_t nfds)
{
	struct warden_reply reply = answer_to(request);
	enum warden_warmth warmth = WARDEN_COLD;
	struct session *session = NULL;
	int code = check_open(&request->open, nfds, &reply.err);

	if (code == 0 && warden->broken.code != ERR_OK) {
		reply.err = warden->broken;
		code = (int)reply.err.code;
	}
	if (code == 0 && conn->strict)
		code = probe_strict(warden, &reply.err);
	if (code == 0 && conn->strict)
		code = guard_require(request->open.flags, &reply.err);
	if (code == 0)
		code = session_open(warden, &request->open, fds, &session, &warmth, &reply.err);
	if (code >= 0 && session == NULL) {
		/* A zygote is warming up: the request waits, and its connection is not read
		 * meanwhile. */
		conn->pending = true;
		conn->pending_request = *request;
		memcpy(conn->pending_fds, fds, nfds * sizeof(*fds));
		conn->pending_nfds = nfds;
		return;
	}
	conn->pending = false;
	fd_close_all(fds, nfds);
	if (code < 0 || session == NULL)
		client_send(conn, &reply, NULL, 0);
	else
		give(warden, conn, session, warmth, &reply);
}

/* A zygote has to warm up first: the request waits, and its connection is not read meanwhile. */
static void postpone(struct conn *conn, const struct warden_request *request)
{
	conn->pending = true;
	conn->pending_request = *request;
	conn->pending_nfds = 0;
}

/* Gives a kernel to the client, with a connection of its own. On failure the caller answers. */
static int give_kernel(struct warden *warden, struct conn *conn, struct box_kernel *kernel,
		       enum warden_warmth warmth, struct warden_reply *reply)
{
	struct conn *member = NULL;
	int fds[2] = { kernel->control_host, -1 };

	if (client_add_member(warden, kernel->session, &member, &fds[1], &reply->err) < 0)
		return (int)reply->err.code;
	kernel->conn = member;
	reply->kernel = kernel->id;
	fill_opened(warden, kernel, warmth, &reply->opened);
	client_send(conn, reply, fds, 2);
	(void)close(fds[1]);
	return 0;
}

void answer_context(struct warden *warden, struct conn *conn, struct session *session,
			   const struct warden_request *request, struct warden_reply *reply)
{
	enum warden_warmth warmth = WARDEN_COLD;
	struct box_kernel *kernel = NULL;
	int code = 0;

	if (!text_is_terminated(request->context.language, sizeof(request->context.language)))
		code = err_set(&reply->err, ERR_PROTOCOL, "malformed CONTEXT request");
	if (code == 0)
		code = context_add(warden, session, &request->context, &kernel, &warmth,
				   &reply->err);
	if (code >= 0 && kernel == NULL) {
		postpone(conn, request);
		return;
	}
	if (code >= 0 && give_kernel(warden, conn, kernel, warmth, reply) < 0) {
		context_remove(warden, kernel);
		code = (int)reply->err.code;
	}
	if (code < 0)
		client_send(conn, reply, NULL, 0);
}

void answer_adopt_kernel(struct warden *warden, struct conn *conn, struct session *session,
			 const struct warden_request *request, struct warden_reply *reply)
{
	struct box_kernel *kernel = NULL;

	if (lease_find_kernel(session, &request->lease, &kernel, &reply->err) < 0 ||
	    kernel == NULL || give_kernel(warden, conn, kernel, WARDEN_WARM, reply) < 0)
		client_send(conn, reply, NULL, 0);
}

void answer_restart(struct warden *warden, struct conn *conn, struct box_kernel *kernel,
			   const struct warden_request *request, struct warden_reply *reply)
{
	enum warden_warmth warmth = WARDEN_COLD;
	const int code = context_restart(warden, kernel, request->context.flags, &warmth,
					 &reply->err);

	if (code == 0) {
		postpone(conn, request);
		/* Names the kernel by its number, which it keeps until the next attempt. */
		conn->pending_request.kernel = kernel->id;
		return;
	}
	if (code < 0) {
		client_send(conn, reply, NULL, 0);
		return;
	}
	reply->kernel = kernel->id;
	fill_opened(warden, kernel, warmth, &reply->opened);
	client_send(conn, reply, &kernel->control_host, 1);
}

void answer_door(struct warden *warden, struct conn *conn, struct session *session,
			struct warden_reply *reply)
{
	struct conn *member;
	int theirs = -1;

	if (client_add_member(warden, session, &member, &theirs, &reply->err) < 0) {
		client_send(conn, reply, NULL, 0);
		return;
	}
	client_send(conn, reply, &theirs, 1);
	(void)close(theirs);
}

void answer_branch(struct warden *warden, struct conn *conn, struct box_kernel *parent,
			  struct warden_reply *reply)
{
	struct session *session;

	/* The copy is a session of its own, and a context's connection may not close a session. */
	if (conn->is_member)
		(void)err_set(&reply->err, ERR_INVALID,
			      "a context cannot be branched; branch its session");
	if (conn->is_member || session_branch(warden, parent, &session, &reply->err) < 0)
		client_send(conn, reply, NULL, 0);
	else
		give(warden, conn, session, WARDEN_PARKED, reply);
}

void answer_adopt(struct warden *warden, struct conn *conn,
			 const struct warden_request *request)
{
	struct warden_reply reply = answer_to(request);
	struct session *session = NULL;

	if (lease_adopt(warden, conn, &request->lease, &session, &reply.err) < 0 ||
	    session == NULL) {
		client_send(conn, &reply, NULL, 0);
		return;
	}
	lease_fill(session, &reply.adopted);
	give(warden, conn, session, WARDEN_PARKED, &reply);
}
