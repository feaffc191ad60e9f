/*
 * server.c - dispatches the requests of clients; it rejects any that is not in its table.
 *
 * Runs in:  the warden.
 * Reads:    fixed-size requests of processes of the same user (clients/client.c).
 * Never:    lets a client reach a session or kernel that is not its own.
 */
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/log.h"
#include "box/clients/client.h"
#include "box/module.h"
#include "box/processes/port.h"
#include "box/processes/process.h"
#include "box/requests/answer.h"
#include "box/resources/resource.h"
#include "box/sessions/freeze.h"
#include "box/sessions/lease.h"
#include "box/sessions/session.h"
#include "box/state.h"
#include "box/sys.h"
#include "box/walls/guard.h"
#include "box/walls/probe.h"

static void answer_usage(struct warden *warden, struct box_kernel *kernel, bool is_last,
			 struct warden_usage *ret)
{
	if (kernel->is_up)
		usage_read(warden, kernel, ret);
	else
		*ret = kernel->end.ended.usage;
	if (is_last)
		usage_end(warden, kernel);
}

static void answer_group(struct warden *warden, struct conn *conn,
			 const struct warden_request *request)
{
	struct warden_reply reply = answer_to(request);

	if (!group_is_sound(&request->group) || conn->is_member)
		(void)err_set(&reply.err, ERR_PROTOCOL, "malformed GROUP request");
	else
		(void)group_change(warden, &request->group, &reply.err);
	client_send(conn, &reply, NULL, 0);
}

static void begin(struct warden *warden, struct box_kernel *kernel,
		  const struct warden_request *request)
{
	usage_begin(warden, kernel);
	memcpy(kernel->execution, request->execution, sizeof(kernel->execution));
	kernel->execution[sizeof(kernel->execution) - 1] = '\0';
}

/* Requests about one kernel of this connection. */
static void answer_kernel(struct warden *warden, struct conn *conn, struct session *session,
			  const struct warden_request *request, struct warden_reply *reply)
{
	struct box_kernel *kernel = context_find(session, conn, request->kernel);

	if (kernel == NULL) {
		(void)err_set(&reply->err, ERR_NOT_FOUND, "no kernel %u on this connection",
			      request->kernel);
		client_send(conn, reply, NULL, 0);
		return;
	}
	if (request->type == WARDEN_RESTART) {
		answer_restart(warden, conn, kernel, request, reply);
		return;
	}
	if (request->type == WARDEN_BRANCH) {
		answer_branch(warden, conn, kernel, reply);
		return;
	}
	if (request->type == WARDEN_BEGIN)
		begin(warden, kernel, request);
	else if (request->type == WARDEN_USAGE)
		answer_usage(warden, kernel, request->is_last != 0, &reply->usage);
	else if (request->type == WARDEN_END)
		context_stop(warden, kernel);
	else if (kernel->is_up) /* INTERRUPT */
		(void)sys_pidfd_signal(kernel->made.kernel_pidfd, 2 /* SIGINT */);
	client_send(conn, reply, NULL, 0);
}

/* Requests about the processes of one session. True: the answer follows later. */
static bool answer_process(struct warden *warden, struct conn *conn, struct session *session,
			   const struct warden_request *request, const int *fds, size_t nfds,
			   struct warden_reply *reply)
{
	struct box_process *process = NULL;

	if (request->type == WARDEN_START)
		return process_start(warden, session, conn, request, fds, nfds, &reply->err) == 0;
	if (request->type == WARDEN_LIST) {
		process_list(session, &reply->list);
		return false;
	}
	process = process_find(session, request->kernel);
	if (process == NULL)
		(void)err_set(&reply->err, ERR_NOT_FOUND, "no process %u in this session",
			      request->kernel);
	else if (request->type == WARDEN_SIGNAL)
		(void)process_signal(process, &request->signal, &reply->err);
	else if (request->type == WARDEN_STATUS)
		process_status(warden, process, &reply->status);
	else
		process_release(warden, process);
	return false;
}

static void answer_port(struct conn *conn, struct session *session,
			const struct warden_request *request, struct warden_reply *reply)
{
	cleanup_fd int fd = -1;

	if (request->type == WARDEN_PORTS)
		port_list(&session->shell, &reply->ports);
	else
		(void)port_connect(&session->shell, &request->port, &fd, &reply->err);
	client_send(conn, reply, &fd, fd >= 0 ? 1 : 0);
}

static void answer_freeze(struct warden *warden, struct conn *conn, struct session *session,
			  const struct warden_request *request, struct warden_reply *reply)
{
	const bool was_frozen = session->frozen != NULL;

	if (request->type == WARDEN_FREEZE) {
		(void)freeze_begin(warden, session, &reply->err);
	} else if (was_frozen) {
		freeze_end(session);
		process_go_on(session, clock_mono_ns() - session->frozen_ns);
	}
	client_send(conn, reply, NULL, 0);
}

static void answer_lease(struct warden *warden, struct conn *conn, struct session *session,
			 const struct warden_request *request, struct warden_reply *reply)
{
	struct box_kernel *kernel =
		conn->is_member ? context_find(session, conn, request->kernel) : NULL;

	if (request->type == WARDEN_BUSY)
		(void)lease_busy(session, request->is_busy != 0, &reply->err);
	else if (kernel != NULL)
		(void)lease_set_kernel(kernel, &request->lease, &reply->err);
	else if (conn->is_member)
		(void)err_set(&reply->err, ERR_INVALID, "only who opened a session leases it");
	else
		(void)lease_set(warden, session, &request->lease, &reply->err);
	client_send(conn, reply, NULL, 0);
}

static bool is_of_process(uint16_t type)
{
	return type == WARDEN_START || type == WARDEN_SIGNAL || type == WARDEN_STATUS ||
	       type == WARDEN_RELEASE || type == WARDEN_LIST;
}

/* Requests about one session of this connection. */
static void answer_session(struct warden *warden, struct conn *conn,
			   const struct warden_request *request, const int *fds, size_t nfds)
{
	struct warden_reply reply = answer_to(request);
	struct session *session = session_find(conn, request->session);

	if (session == NULL) {
		(void)err_set(&reply.err, ERR_NOT_FOUND, "no session %u on this connection",
			      request->session);
		client_send(conn, &reply, NULL, 0);
		return;
	}
	if (!freeze_allows(session, request->type)) {
		(void)err_set(&reply.err, ERR_UNAVAILABLE, "the session is frozen");
		client_send(conn, &reply, NULL, 0);
		return;
	}
	if (is_of_process(request->type)) {
		if (!answer_process(warden, conn, session, request, fds, nfds, &reply))
			client_send(conn, &reply, NULL, 0);
	} else if (request->type == WARDEN_PORT || request->type == WARDEN_PORTS) {
		answer_port(conn, session, request, &reply);
	} else if (request->type == WARDEN_FREEZE || request->type == WARDEN_THAW) {
		answer_freeze(warden, conn, session, request, &reply);
	} else if (request->type == WARDEN_CONTEXT) {
		answer_context(warden, conn, session, request, &reply);
	} else if (request->type == WARDEN_ADOPT) {
		answer_adopt_kernel(warden, conn, session, request, &reply);
	} else if (request->type == WARDEN_DOOR) {
		answer_door(warden, conn, session, &reply);
	} else if (request->type == WARDEN_LEASE || request->type == WARDEN_BUSY) {
		answer_lease(warden, conn, session, request, &reply);
	} else if (request->type != WARDEN_CLOSE) {
		answer_kernel(warden, conn, session, request, &reply);
	} else if (conn->is_member) {
		(void)err_set(&reply.err, ERR_INVALID, "only who opened a session closes it");
		client_send(conn, &reply, NULL, 0);
	} else {
		session_end(warden, session);
		warden->open_sessions--;
		client_send(conn, &reply, NULL, 0);
	}
}

void server_answer(struct warden *warden, struct conn *conn, const struct warden_request *request,
		   const int *fds, size_t nfds)
{
	struct warden_reply reply = answer_to(request);

	switch ((enum warden_type)request->type) {
	case WARDEN_HELLO:
		conn->greeted = true;
		conn->strict = request->strict != 0;
		client_send(conn, &reply, NULL, 0);
		return;
	case WARDEN_PROBE:
		probe_walls(warden, &reply.walls);
		client_send(conn, &reply, NULL, 0);
		return;
	case WARDEN_OPEN:
		if (conn->is_member)
			break;
		answer_open(warden, conn, request, fds, nfds);
		return;
	case WARDEN_ADOPT:
		if (request->session != 0)
			answer_session(warden, conn, request, fds, nfds);
		else if (!conn->is_member)
			answer_adopt(warden, conn, request);
		else
			break;
		return;
	case WARDEN_GROUP:
		answer_group(warden, conn, request);
		return;
	case WARDEN_BEGIN:
	case WARDEN_USAGE:
	case WARDEN_INTERRUPT:
	case WARDEN_CLOSE:
	case WARDEN_BRANCH:
	case WARDEN_CONTEXT:
	case WARDEN_RESTART:
	case WARDEN_END:
	case WARDEN_DOOR:
	case WARDEN_START:
	case WARDEN_SIGNAL:
	case WARDEN_STATUS:
	case WARDEN_RELEASE:
	case WARDEN_LIST:
	case WARDEN_PORT:
	case WARDEN_PORTS:
	case WARDEN_FREEZE:
	case WARDEN_THAW:
	case WARDEN_LEASE:
	case WARDEN_BUSY:
		answer_session(warden, conn, request, fds, nfds);
		fd_close_all(fds, nfds);
		return;
	case WARDEN_EVENT_ENDED:
	case WARDEN_EVENT_REFUSED:
		break;
	}
	fd_close_all(fds, nfds);
	log_line(LOG_WARN, "unknown request", "type=%u", request->type);
	client_drop(warden, conn);
}

/* Retries the requests that waited for a zygote. */
static void retry_pending(struct warden *warden)
{
	for (size_t i = 0; i < warden->conn_top; i++) {
		struct conn *conn = &warden->conns[i];
		struct warden_request request;
		int fds[WARDEN_MOUNTS_MAX];
		size_t nfds;

		if (!conn->used || !conn->pending)
			continue;
		conn->pending = false;
		request = conn->pending_request;
		nfds = conn->pending_nfds;
		memcpy(fds, conn->pending_fds, sizeof(fds));
		server_answer(warden, conn, &request, fds, nfds);
	}
}

const struct module requests_module = {
	.zygote_settled = retry_pending,
};
