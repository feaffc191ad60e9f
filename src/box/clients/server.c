/*
 * server.c - the closed table of what clients may ask, and the answers.
 *
 * Runs in:  the warden.
 * Reads:    fixed-size requests of processes of the same user (client.c).
 * Never:    takes a request for what is not this client's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/log.h"
#include "box/sessions/freeze.h"
#include "box/walls/guard.h"
#include "box/processes/port.h"
#include "box/processes/process.h"
#include "box/state.h"
#include "box/sys.h"

static struct warden_reply reply_to(const struct warden_request *request)
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

/* To the client of an OPEN, a BRANCH or an ADOPT; from now on the session is the client's. */
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

static bool group_is_sound(const struct warden_group *group)
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

static void answer_open(struct warden *warden, struct conn *conn,
			const struct warden_request *request, const int *fds, size_t nfds)
{
	struct warden_reply reply = reply_to(request);
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
		/* A zygote is warming up: this connection waits, and is not read meanwhile. */
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

/* Something has to warm up first: this connection waits, and is not read meanwhile. */
static void postpone(struct conn *conn, const struct warden_request *request)
{
	conn->pending = true;
	conn->pending_request = *request;
	conn->pending_nfds = 0;
}

static void answer_context(struct warden *warden, struct conn *conn, struct session *session,
			   const struct warden_request *request, struct warden_reply *reply)
{
	enum warden_warmth warmth = WARDEN_COLD;
	struct box_kernel *kernel = NULL;
	struct conn *member;
	int fds[2] = { -1, -1 };
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
	if (code >= 0 && client_add_member(warden, session, &member, &fds[1], &reply->err) < 0) {
		context_remove(warden, kernel);
		code = (int)reply->err.code;
	}
	if (code < 0) {
		client_send(conn, reply, NULL, 0);
		return;
	}
	kernel->conn = member;
	reply->kernel = kernel->id;
	fill_opened(warden, kernel, warmth, &reply->opened);
	fds[0] = kernel->control_host;
	client_send(conn, reply, fds, 2);
	(void)close(TAKE_FD(kernel->control_host));
	(void)close(fds[1]);
}

static void answer_restart(struct warden *warden, struct conn *conn, struct box_kernel *kernel,
			   const struct warden_request *request, struct warden_reply *reply)
{
	enum warden_warmth warmth = WARDEN_COLD;
	const int code = context_restart(warden, kernel, request->context.flags, &warmth,
					 &reply->err);

	if (code == 0) {
		postpone(conn, request);
		/* By then it has another number, or none. */
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
	if (kernel->place > 0)
		(void)close(TAKE_FD(kernel->control_host));
}

static void answer_door(struct warden *warden, struct conn *conn, struct session *session,
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

static void answer_branch(struct warden *warden, struct conn *conn, struct box_kernel *parent,
			  struct warden_reply *reply)
{
	struct session *session;

	/* The copy is a session, and would have no connection that may end it. */
	if (conn->is_member)
		(void)err_set(&reply->err, ERR_INVALID,
			      "a context cannot be branched; branch its session");
	if (conn->is_member || session_branch(warden, parent, &session, &reply->err) < 0)
		client_send(conn, reply, NULL, 0);
	else
		give(warden, conn, session, WARDEN_PARKED, reply);
}

static void answer_adopt(struct warden *warden, struct conn *conn,
			 const struct warden_request *request)
{
	struct warden_reply reply = reply_to(request);
	struct session *session = NULL;

	if (lease_adopt(warden, conn, &request->lease, &session, &reply.err) < 0 ||
	    session == NULL) {
		client_send(conn, &reply, NULL, 0);
		return;
	}
	lease_fill(session, &reply.adopted);
	give(warden, conn, session, WARDEN_PARKED, &reply);
}

static void answer_usage(struct warden *warden, struct box_kernel *kernel, bool is_last,
			 struct warden_usage *ret)
{
	if (kernel->is_up)
		usage_read(warden, kernel, ret);
	else
		*ret = kernel->ended.usage;
	if (is_last)
		usage_end(warden, kernel);
}

static void answer_group(struct warden *warden, struct conn *conn,
			 const struct warden_request *request)
{
	struct warden_reply reply = reply_to(request);

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

/* Requests about the processes of one session. True: it is answered later. */
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
	if (request->type == WARDEN_BUSY)
		(void)lease_busy(session, request->is_busy != 0, &reply->err);
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
	struct warden_reply reply = reply_to(request);
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
	struct warden_reply reply = reply_to(request);

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
		if (conn->is_member)
			break;
		answer_adopt(warden, conn, request);
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
