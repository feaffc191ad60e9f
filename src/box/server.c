/*
 * server.c - clients and the closed table of what they may ask.
 *
 * Runs in:  the warden.
 * Reads:    fixed-size requests of processes of the same user.
 * Never:    keeps a session whose client is gone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "box/guard.h"
#include "box/state.h"
#include "box/sys.h"

#define SEND_TIMEOUT_MS 500 /* everybody else waits for so long, once */

static void send_reply(const struct conn *conn, const struct warden_reply *reply, const int *fds,
		       size_t nfds)
{
	struct err err;

	/* It is told, not asked: an answer would wake the client in the middle of its cell. */
	if (reply->type == WARDEN_BEGIN)
		return;
	/*
	 * A client that is gone is noticed when its connection is read. One that does not read what
	 * it is told (SEND_TIMEOUT_MS) has missed an answer, so its connection is worth nothing:
	 * shut, it is found gone in its turn.
	 */
	if (fd_send_msg(conn->watch.fd, reply, sizeof(*reply), fds, nfds, &err) < 0) {
		log_line(LOG_DEBUG, "cannot answer a client", "why=\"%s\"", err.text);
		(void)shutdown(conn->watch.fd, SHUT_RDWR);
	}
}

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

/* Hands the control socket and the workspace over; from now on the session is the client's. */
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
		send_reply(conn, reply, NULL, 0);
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
	send_reply(conn, reply, fds, 2);
	(void)close(TAKE_FD(kernel->control_host));
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

static void close_fds(const int *fds, size_t nfds)
{
	for (size_t i = 0; i < nfds; i++)
		(void)close(fds[i]);
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
	close_fds(fds, nfds);
	if (code < 0 || session == NULL)
		send_reply(conn, &reply, NULL, 0);
	else
		give(warden, conn, session, warmth, &reply);
}

static void conn_ready(struct warden *warden, struct watch *watch, uint32_t events);

/* The first of the free ones; NULL when there is none. */
static struct conn *free_conn(struct warden *warden)
{
	if (warden->free_conns == NULL && warden->conn_top < STATE_CONNS_MAX)
		warden->free_conns = &warden->conns[warden->conn_top++];
	return warden->free_conns;
}

static int adopt(struct warden *warden, int sock, struct conn **ret, struct err *err)
{
	const struct timeval patience = { .tv_usec = SEND_TIMEOUT_MS * 1000 };
	struct ucred peer;
	socklen_t len = sizeof(peer);
	struct conn *conn;

	if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return err_sys(err, "identify a client");
	if (setsockopt(sock, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return err_sys(err, "bound the time that answers take");
	/* Inside our user namespace our own uid is 0, and other users have no number. */
	if (peer.uid != geteuid())
		return err_set(err, ERR_DENIED, "a client of another user (%u)", peer.uid);
	conn = free_conn(warden);
	if (conn == NULL)
		return err_set(err, ERR_LIMIT, "%d clients are connected", STATE_CONNS_MAX);
	conn->watch = (struct watch){ .ready = conn_ready, .arg = conn, .fd = sock };
	if (watch_add(warden, &conn->watch, EPOLLIN | EPOLLRDHUP, err) < 0)
		return (int)err->code;
	warden->free_conns = conn->next_free;
	conn->next_free = NULL;
	conn->used = true;
	warden->conn_count++;
	*ret = conn;
	return 0;
}

/* A connection of its own for a kernel or a thread, made here and handed over. */
static int add_member(struct warden *warden, struct session *session, struct conn **ret,
		      int *ret_theirs, struct err *err)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	if (adopt(warden, pair[0], ret, err) < 0) {
		(void)close(pair[0]);
		(void)close(pair[1]);
		return (int)err->code;
	}
	(*ret)->greeted = (*ret)->is_member = true;
	(*ret)->member_of = session;
	session->member_count++;
	*ret_theirs = pair[1];
	return 0;
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
	if (code >= 0 && add_member(warden, session, &member, &fds[1], &reply->err) < 0) {
		context_remove(warden, kernel);
		code = (int)reply->err.code;
	}
	if (code < 0) {
		send_reply(conn, reply, NULL, 0);
		return;
	}
	kernel->conn = member;
	reply->kernel = kernel->id;
	fill_opened(warden, kernel, warmth, &reply->opened);
	fds[0] = kernel->control_host;
	send_reply(conn, reply, fds, 2);
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
		send_reply(conn, reply, NULL, 0);
		return;
	}
	reply->kernel = kernel->id;
	fill_opened(warden, kernel, warmth, &reply->opened);
	send_reply(conn, reply, &kernel->control_host, 1);
	(void)close(TAKE_FD(kernel->control_host));
}

static void answer_door(struct warden *warden, struct conn *conn, struct session *session,
			struct warden_reply *reply)
{
	struct conn *member;
	int theirs = -1;

	if (add_member(warden, session, &member, &theirs, &reply->err) < 0) {
		send_reply(conn, reply, NULL, 0);
		return;
	}
	send_reply(conn, reply, &theirs, 1);
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
		send_reply(conn, reply, NULL, 0);
	else
		give(warden, conn, session, WARDEN_PARKED, reply);
}

static void answer_usage(struct warden *warden, struct box_kernel *kernel, bool is_last,
			 struct warden_usage *ret)
{
	if (kernel->is_up)
		usage_read(warden, kernel, ret);
	else
		*ret = kernel->ended.usage;
	if (is_last)
		usage_end(kernel);
}

static void answer_group(struct warden *warden, struct conn *conn,
			 const struct warden_request *request)
{
	struct warden_reply reply = reply_to(request);

	if (!group_is_sound(&request->group) || conn->is_member)
		(void)err_set(&reply.err, ERR_PROTOCOL, "malformed GROUP request");
	else
		(void)group_change(warden, &request->group, &reply.err);
	send_reply(conn, &reply, NULL, 0);
}

/* Requests about one kernel of this connection. */
static void answer_kernel(struct warden *warden, struct conn *conn, struct session *session,
			  const struct warden_request *request, struct warden_reply *reply)
{
	struct box_kernel *kernel = context_find(session, conn, request->kernel);

	if (kernel == NULL) {
		(void)err_set(&reply->err, ERR_NOT_FOUND, "no kernel %u on this connection",
			      request->kernel);
		send_reply(conn, reply, NULL, 0);
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
		usage_begin(warden, kernel);
	else if (request->type == WARDEN_USAGE)
		answer_usage(warden, kernel, request->is_last != 0, &reply->usage);
	else if (request->type == WARDEN_END)
		context_stop(warden, kernel);
	else if (kernel->is_up) /* INTERRUPT */
		(void)sys_pidfd_signal(kernel->made.kernel_pidfd, 2 /* SIGINT */);
	send_reply(conn, reply, NULL, 0);
}

/* Requests about one session of this connection. */
static void answer_session(struct warden *warden, struct conn *conn,
			   const struct warden_request *request)
{
	struct warden_reply reply = reply_to(request);
	struct session *session = session_find(conn, request->session);

	if (session == NULL) {
		(void)err_set(&reply.err, ERR_NOT_FOUND, "no session %u on this connection",
			      request->session);
		send_reply(conn, &reply, NULL, 0);
		return;
	}
	if (request->type == WARDEN_CONTEXT) {
		answer_context(warden, conn, session, request, &reply);
	} else if (request->type == WARDEN_DOOR) {
		answer_door(warden, conn, session, &reply);
	} else if (request->type != WARDEN_CLOSE) {
		answer_kernel(warden, conn, session, request, &reply);
	} else if (conn->is_member) {
		(void)err_set(&reply.err, ERR_INVALID, "only who opened a session closes it");
		send_reply(conn, &reply, NULL, 0);
	} else {
		session_end(warden, session);
		warden->open_sessions--;
		send_reply(conn, &reply, NULL, 0);
	}
}

/* What its client had in this session, but not the session. */
static void drop_kernels(struct warden *warden, const struct conn *conn, struct session *session)
{
	for (size_t i = 0; i < WARDEN_KERNELS_MAX; i++)
		if (session->kernels[i] != NULL && session->kernels[i]->conn == conn)
			context_remove(warden, session->kernels[i]);
}

static void drop_conn(struct warden *warden, struct conn *conn)
{
	const bool is_member = conn->is_member;

	watch_remove(warden, &conn->watch);
	(void)close(conn->watch.fd);
	if (conn->pending)
		close_fds(conn->pending_fds, conn->pending_nfds);
	if (conn->member_of != NULL) {
		drop_kernels(warden, conn, conn->member_of);
		conn->member_of->member_count--;
	}
	while (conn->sessions != NULL) {
		session_end(warden, conn->sessions);
		warden->open_sessions--;
	}
	memset(conn, 0, sizeof(*conn));
	conn->next_free = warden->free_conns;
	warden->free_conns = conn;
	warden->conn_count--;
	warden->idle_since = clock_mono_ns();
	if (warden->single_client && !is_member)
		warden->stopping = true;
}

static void answer(struct warden *warden, struct conn *conn, const struct warden_request *request,
		   const int *fds, size_t nfds)
{
	struct warden_reply reply = reply_to(request);

	switch ((enum warden_type)request->type) {
	case WARDEN_HELLO:
		conn->greeted = true;
		conn->strict = request->strict != 0;
		send_reply(conn, &reply, NULL, 0);
		return;
	case WARDEN_PROBE:
		probe_walls(warden, &reply.walls);
		send_reply(conn, &reply, NULL, 0);
		return;
	case WARDEN_OPEN:
		if (conn->is_member)
			break;
		answer_open(warden, conn, request, fds, nfds);
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
		answer_session(warden, conn, request);
		return;
	case WARDEN_EVENT_ENDED:
		break;
	}
	close_fds(fds, nfds);
	log_line(LOG_WARN, "unknown request", "type=%u", request->type);
	drop_conn(warden, conn);
}

void server_retry_pending(struct warden *warden)
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
		answer(warden, conn, &request, fds, nfds);
	}
}

/* 0, or ERR_TIMEOUT when the client's socket is full. */
static int tell_ended(const struct conn *conn, const struct box_kernel *kernel)
{
	const struct warden_reply event = { .magic = WARDEN_MAGIC,
					    .version = WARDEN_VERSION,
					    .type = WARDEN_EVENT_ENDED,
					    .session = kernel->session->id,
					    .kernel = kernel->id,
					    .ended = kernel->ended };
	const ssize_t n = send(conn->watch.fd, &event, sizeof(event), MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? ERR_TIMEOUT : 0;
}

static void watch_room(struct warden *warden, struct conn *conn, bool on)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | (on ? EPOLLOUT : 0u),
				     .data.ptr = &conn->watch };

	conn->has_untold = on;
	(void)epoll_ctl(warden->epoll_fd, EPOLL_CTL_MOD, conn->watch.fd, &event);
}

/* False when there is no room for the rest either. */
static bool tell_rest_of(const struct conn *conn, struct session *session)
{
	for (size_t k = 0; k < WARDEN_KERNELS_MAX; k++) {
		struct box_kernel *at = session->kernels[k];

		if (at == NULL || at->conn != conn || !at->is_untold)
			continue;
		if (tell_ended(conn, at) < 0)
			return false;
		at->is_untold = false;
	}
	return true;
}

/* Ends that a client could not be told of because it did not read; now it did. */
static void tell_rest(struct warden *warden, struct conn *conn)
{
	for (size_t i = 0; i < warden->slot_count; i++)
		if (warden->sessions[i] != NULL && !tell_rest_of(conn, warden->sessions[i]))
			return;
	watch_room(warden, conn, false);
}

static void conn_ready(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct conn *conn = watch->arg;
	struct warden_request request;
	int fds[WARDEN_MOUNTS_MAX];
	size_t nfds;
	struct err err;
	ssize_t n;

	if ((events & EPOLLOUT) != 0)
		tell_rest(warden, conn);
	if ((events & ~(uint32_t)EPOLLOUT) == 0)
		return;
	if (conn->pending && (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) == 0)
		return;
	n = fd_recv_msg(watch->fd, &request, sizeof(request), fds, WARDEN_MOUNTS_MAX, &nfds, &err);
	if (n < 0 && err.code == ERR_TIMEOUT)
		return;
	if (n != (ssize_t)sizeof(request) || request.magic != WARDEN_MAGIC ||
	    request.version != WARDEN_VERSION ||
	    (!conn->greeted && request.type != WARDEN_HELLO)) {
		if (n > 0) {
			log_line(LOG_WARN, "malformed request", NULL);
			close_fds(fds, nfds);
		}
		drop_conn(warden, conn);
		return;
	}
	if (request.type != WARDEN_OPEN) {
		close_fds(fds, nfds);
		nfds = 0;
	}
	answer(warden, conn, &request, fds, nfds);
}

int server_adopt(struct warden *warden, int sock, struct err *err)
{
	struct conn *conn;

	return adopt(warden, sock, &conn, err);
}

void server_accept(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct err err;
	int sock = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	if (sock < 0)
		return;
	if (server_adopt(warden, sock, &err) < 0) {
		log_line(LOG_WARN, "client refused", "why=\"%s\"", err.text);
		(void)close(sock);
	}
}

void server_kernel_ended(struct warden *warden, struct box_kernel *kernel)
{
	struct conn *conn = kernel->conn;

	if (conn == NULL || tell_ended(conn, kernel) == 0)
		return;
	/* Kernels may end by the hundred while their owner does something else. */
	kernel->is_untold = true;
	if (!conn->has_untold)
		watch_room(warden, conn, true);
}

void server_forget_session(struct warden *warden, struct session *session)
{
	for (size_t i = 0; i < warden->conn_top && session->member_count > 0; i++)
		if (warden->conns[i].used && warden->conns[i].member_of == session) {
			warden->conns[i].member_of = NULL;
			session->member_count--;
		}
	for (size_t k = 0; k < WARDEN_KERNELS_MAX; k++) {
		struct box_kernel *at = session->kernels[k];

		if (at == NULL || at->conn == NULL || !at->conn->is_member)
			continue;
		at->ended.cause = WARDEN_END_CLOSED;
		/* Should there be no room, its requests are answered with NOT_FOUND all the same. */
		(void)tell_ended(at->conn, at);
		at->conn = NULL;
	}
}
