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
				      .session = request->session };
}

static void fill_opened(const struct warden *warden, const struct session *session,
			enum warden_warmth warmth, struct warden_opened *ret)
{
	*ret = (struct warden_opened){ .session = session->id,
				       .host_uid = session->shell.host_uid,
				       .host_gid = session->shell.host_gid,
				       .kernel_pid = session->kernel.kernel,
				       .has_twin = session->kernel.traced,
				       .warmth = warmth,
				       .unheld = session->unheld,
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
	session->conn = conn;
	session->next_of_conn = conn->sessions;
	conn->sessions = session;
	reply->session = session->id;
	fill_opened(warden, session, warmth, &reply->opened);
	fds[0] = session->control_host;
	fds[1] = workspace;
	send_reply(conn, reply, fds, 2);
	(void)close(session->control_host);
	session->control_host = -1;
	warden->open_sessions++;
}

static bool text_is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static int check_open(const struct warden_open *open, size_t nfds, struct err *err)
{
	bool ok = text_is_terminated(open->template_name, sizeof(open->template_name)) &&
		  text_is_terminated(open->language, sizeof(open->language)) &&
		  open->mount_count <= WARDEN_MOUNTS_MAX && open->mount_count == nfds;

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
		warden->pending_count += !conn->pending;
		conn->pending = true;
		conn->pending_request = *request;
		memcpy(conn->pending_fds, fds, nfds * sizeof(*fds));
		conn->pending_nfds = nfds;
		return;
	}
	warden->pending_count -= conn->pending;
	conn->pending = false;
	close_fds(fds, nfds);
	if (code < 0 || session == NULL)
		send_reply(conn, &reply, NULL, 0);
	else
		give(warden, conn, session, warmth, &reply);
}

void server_retry_pending(struct warden *warden)
{
	for (size_t i = 0; i < warden->conn_top && warden->pending_count > 0; i++) {
		struct conn *conn = &warden->conns[i];
		struct warden_request request;
		int fds[WARDEN_MOUNTS_MAX];
		size_t nfds;

		if (!conn->used || !conn->pending)
			continue;
		request = conn->pending_request;
		nfds = conn->pending_nfds;
		memcpy(fds, conn->pending_fds, sizeof(fds));
		answer_open(warden, conn, &request, fds, nfds);
	}
}

static void answer_branch(struct warden *warden, struct conn *conn, struct session *parent,
			  struct warden_reply *reply)
{
	struct session *session;

	if (session_branch(warden, parent, &session, &reply->err) < 0)
		send_reply(conn, reply, NULL, 0);
	else
		give(warden, conn, session, WARDEN_PARKED, reply);
}

/* Requests about one session of this connection. */
static void answer_session(struct warden *warden, struct conn *conn,
			   const struct warden_request *request)
{
	struct warden_reply reply = reply_to(request);
	struct session *session = session_find(warden, conn, request->session);

	if (session == NULL) {
		(void)err_set(&reply.err, ERR_NOT_FOUND, "no session %u on this connection",
			      request->session);
		send_reply(conn, &reply, NULL, 0);
		return;
	}
	switch ((enum warden_type)request->type) {
	case WARDEN_BEGIN:
		usage_begin(warden, session);
		break;
	case WARDEN_USAGE:
		if (session->state == SESSION_ENDED)
			reply.usage = session->ended.usage;
		else
			usage_read(warden, session, &reply.usage);
		break;
	case WARDEN_INTERRUPT:
		if (session->state == SESSION_OPEN)
			(void)sys_pidfd_signal(session->kernel.kernel_pidfd, 2 /* SIGINT */);
		break;
	case WARDEN_CLOSE:
		session_end(warden, session);
		warden->open_sessions--;
		break;
	case WARDEN_BRANCH:
		answer_branch(warden, conn, session, &reply);
		return;
	case WARDEN_HELLO:
	case WARDEN_OPEN:
	case WARDEN_PROBE:
	case WARDEN_EVENT_ENDED:
		(void)err_set(&reply.err, ERR_PROTOCOL, "request %u names a session", request->type);
		break;
	}
	send_reply(conn, &reply, NULL, 0);
}

static void drop_conn(struct warden *warden, struct conn *conn)
{
	watch_remove(warden, &conn->watch);
	(void)close(conn->watch.fd);
	if (conn->pending)
		close_fds(conn->pending_fds, conn->pending_nfds);
	warden->pending_count -= conn->pending;
	while (conn->sessions != NULL) {
		session_end(warden, conn->sessions);
		warden->open_sessions--;
	}
	memset(conn, 0, sizeof(*conn));
	conn->next_free = warden->free_conns;
	warden->free_conns = conn;
	warden->conn_count--;
	warden->idle_since = clock_mono_ns();
	if (warden->single_client)
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
		answer_open(warden, conn, request, fds, nfds);
		return;
	case WARDEN_BEGIN:
	case WARDEN_USAGE:
	case WARDEN_INTERRUPT:
	case WARDEN_CLOSE:
	case WARDEN_BRANCH:
		answer_session(warden, conn, request);
		return;
	case WARDEN_EVENT_ENDED:
		break;
	}
	log_line(LOG_WARN, "unknown request", "type=%u", request->type);
	drop_conn(warden, conn);
}

/* 0, or ERR_TIMEOUT when the client's socket is full. */
static int tell_ended(const struct conn *conn, const struct session *session)
{
	const struct warden_reply event = { .magic = WARDEN_MAGIC,
					    .version = WARDEN_VERSION,
					    .type = WARDEN_EVENT_ENDED,
					    .session = session->id,
					    .ended = session->ended };
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

/* Ends that a client could not be told of because it did not read; now it did. */
static void tell_rest(struct warden *warden, struct conn *conn)
{
	for (struct session *at = conn->sessions; at != NULL; at = at->next_of_conn) {
		if (!at->is_untold)
			continue;
		if (tell_ended(conn, at) < 0)
			return;
		at->is_untold = false;
	}
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

/* The first of the free ones; NULL when there is none. */
static struct conn *free_conn(struct warden *warden)
{
	if (warden->free_conns == NULL && warden->conn_top < STATE_CONNS_MAX)
		warden->free_conns = &warden->conns[warden->conn_top++];
	return warden->free_conns;
}

int server_adopt(struct warden *warden, int sock, struct err *err)
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
	return 0;
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

void server_session_ended(struct warden *warden, struct session *session)
{
	struct conn *conn = session->conn;

	if (conn == NULL || tell_ended(conn, session) == 0)
		return;
	/* Sessions may end by the hundred while their owner does something else. */
	session->is_untold = true;
	if (!conn->has_untold)
		watch_room(warden, conn, true);
}
