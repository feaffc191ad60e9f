/*
 * client.c - accepts, reads and closes the connections of clients, and sends them replies and
 * events.
 *
 * Runs in:  the warden.
 * Reads:    fixed-size requests of processes of the same user.
 * Never:    waits long for a client that does not read.
 */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file/fd.h"
#include "base/log.h"
#include "box/clients/client.h"
#include "box/module.h"
#include "box/state.h"

#define SEND_TIMEOUT_MS 500 /* all other clients wait meanwhile, once */

void client_send(const struct conn *conn, const struct warden_reply *reply, const int *fds,
		 size_t nfds)
{
	struct err err;

	/* BEGIN has no answer, which would wake the client in the middle of its cell. */
	if (reply->type == WARDEN_BEGIN)
		return;
	/*
	 * A client that is gone is noticed when its connection is read. One that has not read for
	 * SEND_TIMEOUT_MS has missed an answer, so its connection is useless: shut it down, and the
	 * loop will drop it.
	 */
	if (fd_send_msg(conn->watch.fd, reply, sizeof(*reply), fds, nfds, &err) < 0) {
		log_line(LOG_DEBUG, "cannot answer a client", "why=\"%s\"", err.text);
		(void)shutdown(conn->watch.fd, SHUT_RDWR);
	}
}

void client_drop(struct warden *warden, struct conn *conn)
{
	const bool is_member = conn->is_member;

	watch_remove(warden, &conn->watch);
	(void)close(conn->watch.fd);
	if (conn->pending)
		fd_close_all(conn->pending_fds, conn->pending_nfds);
	MODULE_EACH(warden, conn_gone, warden, conn);
	if (conn->member_of != NULL)
		conn->member_of->member_count--;
	memset(conn, 0, sizeof(*conn));
	conn->next_free = warden->free_conns;
	warden->free_conns = conn;
	warden->conn_count--;
	warden->idle_since = clock_mono_ns();
	if (warden->single_client && !is_member)
		warden->stopping = true;
}

/* 0, or ERR_TIMEOUT when the client's socket is full. */
static int tell_ended(const struct conn *conn, const struct box_kernel *kernel)
{
	const struct warden_reply event = { .magic = WARDEN_MAGIC,
					    .version = WARDEN_VERSION,
					    .type = WARDEN_EVENT_ENDED,
					    .session = kernel->session->id,
					    .kernel = kernel->id,
					    .ended = kernel->end.ended };
	const ssize_t n = send(conn->watch.fd, &event, sizeof(event), MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? ERR_TIMEOUT : 0;
}

static void watch_room(struct warden *warden, struct conn *conn, bool on)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLRDHUP | (on ? EPOLLOUT : 0u),
				     .data.ptr = &conn->watch };

	conn->has_unreported = on;
	(void)epoll_ctl(warden->epoll_fd, EPOLL_CTL_MOD, conn->watch.fd, &event);
}

/* False if there is no room for all of them. */
static bool tell_rest_of(const struct conn *conn, struct session *session)
{
	for (size_t k = 0; k < WARDEN_KERNELS_MAX; k++) {
		struct box_kernel *at = session->kernels[k];

		if (at == NULL || at->conn != conn || !at->end.is_unreported)
			continue;
		if (tell_ended(conn, at) < 0)
			return false;
		at->end.is_unreported = false;
	}
	return true;
}

/* Sends the events for which the client's socket had no room; it has room now. */
static void tell_rest(struct warden *warden, struct conn *conn)
{
	for (size_t i = 0; i < warden->slot_count; i++)
		if (warden->sessions[i] != NULL && !tell_rest_of(conn, warden->sessions[i]))
			return;
	watch_room(warden, conn, false);
}

static bool is_sound(const struct conn *conn, const struct warden_request *request, ssize_t len)
{
	return len == (ssize_t)sizeof(*request) && request->magic == WARDEN_MAGIC &&
	       request->version == WARDEN_VERSION &&
	       (conn->greeted || request->type == WARDEN_HELLO);
}

/*
 * Tells the client why its connection ends, if there is room. A request of another version has
 * another length and may have been cut, but all versions begin alike.
 */
static void refuse(const struct conn *conn, const struct warden_request *request,
		   const struct err *why)
{
	const struct warden_other other = { .magic = WARDEN_MAGIC, .version = WARDEN_VERSION };
	struct warden_reply reply = { .magic = WARDEN_MAGIC,
				      .version = WARDEN_VERSION,
				      .type = WARDEN_EVENT_REFUSED,
				      .err = *why };
	const bool is_other = request->magic == WARDEN_MAGIC && request->version != WARDEN_VERSION;

	log_line(LOG_WARN, "a client is refused", "why=\"%s\" version=%u", why->text,
		 request->version);
	if (is_other)
		(void)send(conn->watch.fd, &other, sizeof(other), MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		(void)send(conn->watch.fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void on_ready(struct warden *warden, struct watch *watch, uint32_t events)
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
	memset(&request, 0, sizeof(request));
	n = fd_recv_msg(watch->fd, &request, sizeof(request), fds, WARDEN_MOUNTS_MAX, &nfds, &err);
	if (n < 0 && err.code == ERR_TIMEOUT)
		return;
	if (n > 0 && !is_sound(conn, &request, n))
		n = err_set(&err, ERR_PROTOCOL, "a request that is not understood");
	if (n <= 0) {
		fd_close_all(fds, nfds);
		if (n < 0)
			refuse(conn, &request, &err);
		client_drop(warden, conn);
		return;
	}
	if (request.type != WARDEN_OPEN && request.type != WARDEN_START) {
		fd_close_all(fds, nfds);
		nfds = 0;
	}
	warden->on_request(warden, conn, &request, fds, nfds);
}

/* Finds a free connection; NULL if all are in use. */
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
	/* In our user namespace our own uid is 0, and the uids of other users are not mapped. */
	if (peer.uid != geteuid())
		return err_set(err, ERR_DENIED, "a client of another user (%u)", peer.uid);
	conn = free_conn(warden);
	if (conn == NULL)
		return err_set(err, ERR_LIMIT, "%d clients are connected", STATE_CONNS_MAX);
	conn->watch = (struct watch){ .ready = on_ready, .arg = conn, .fd = sock };
	if (watch_add(warden, &conn->watch, EPOLLIN | EPOLLRDHUP, err) < 0)
		return (int)err->code;
	warden->free_conns = conn->next_free;
	conn->next_free = NULL;
	conn->used = true;
	warden->conn_count++;
	*ret = conn;
	return 0;
}

int client_add_member(struct warden *warden, struct session *session, struct conn **ret,
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

int client_adopt(struct warden *warden, int sock, struct err *err)
{
	struct conn *conn;

	return adopt(warden, sock, &conn, err);
}

void client_accept(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct err err;
	int sock = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	if (sock < 0)
		return;
	if (client_adopt(warden, sock, &err) < 0) {
		log_line(LOG_WARN, "client refused", "why=\"%s\"", err.text);
		(void)close(sock);
	}
}

void client_kernel_ended(struct warden *warden, struct box_kernel *kernel)
{
	struct conn *conn = kernel->conn;

	if (conn == NULL || tell_ended(conn, kernel) == 0)
		return;
	/* Hundreds of kernels may end while their client does something else. */
	kernel->end.is_unreported = true;
	if (!conn->has_unreported)
		watch_room(warden, conn, true);
}

void client_forget_session(struct warden *warden, struct session *session)
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
		at->end.ended.cause = WARDEN_END_CLOSED;
		/* If there is no room, the client learns it from ERR_NOT_FOUND for its next
		 * request. */
		(void)tell_ended(at->conn, at);
		at->conn = NULL;
	}
}
