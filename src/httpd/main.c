/*
 * main.c - a process that speaks HTTP with clients, and calls reckond for every action.
 *
 * Runs in:  reckon-front-NAME, one per dialect, started by reckond: descriptor 3 is the socket to
 *           reckond, 4 the listener of the first dialect, 5 the page of front_stats.h.
 * Reads:    the network; before the fence only one number and the page that it shares with reckond.
 * Never:    opens, connects, executes, or holds a secret longer than a request.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process/priority.h"
#include "httpd/guard/fence.h"
#include "httpd/server.h"

#define ACCEPT_IN_A_ROW 64
#define ACCEPT_PAUSE_MS 100u
#define OWN_DESCRIPTORS 64u
#define END_MS 2000u
#define END_STEP_MS 20u

/* Refuses a connection beyond the limit, if that works without waiting. */
static void turn_away(int fd)
{
	static const char full[] =
		"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
		"Content-Length: 109\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
		"{\"error\":{\"code\":\"overloaded\",\"message\":\"too many connections\","
		"\"cause\":null,\"remedy\":\"ask again in a while\"}}";

	(void)send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL);
	(void)close(fd);
}

/* On a single user's socket the peer must be that user. */
static bool is_stranger(const struct server *server, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!server->is_local)
		return false;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	       peer.uid != server->local_uid;
}

static void on_listen(unsigned ready, void *arg)
{
	struct server *server = arg;

	(void)ready;
	for (int i = 0; i < ACCEPT_IN_A_ROW; i++) {
		struct sockaddr_storage from;
		struct auth_peer peer;
		socklen_t len = sizeof(from);
		const int fd = accept4(FRONT_LISTEN_FD, (struct sockaddr *)&from, &len,
				       SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			/* Out of descriptors or memory: try again after other connections have
			 * ended. */
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM) {
				loop_io_want(server->listen_io, 0);
				loop_timer_set(server->accept_timer, ACCEPT_PAUSE_MS);
			}
			return;
		}
		auth_peer_of((const struct sockaddr *)&from, len, &peer);
		if (is_stranger(server, fd)) {
			(void)close(fd);
		} else if (server->conn_count >= server->conn_max) {
			page_add(server->page->turned_away, 1);
			turn_away(fd);
		} else {
			page_add(server->page->accepted, 1);
			(void)conn_new(server, fd, &peer, NULL, 0, 0);
		}
	}
}

static void on_accept_again(void *arg)
{
	struct server *server = arg;

	if (server->listen_io != NULL)
		loop_io_want(server->listen_io, LOOP_READ);
}

/* Only the first dialect accepts: it passes connections on to the others. */
static bool accepts(const struct server *server)
{
	return server->number == 0;
}

static void stop_listening(struct server *server)
{
	loop_io_free(server->listen_io);
	server->listen_io = NULL;
}

/* ---- frames of reckond
 * ------------------------------------------------------------------------- */

/* A connection from another dialect's process, with the bytes it read in server->payload. */
static void on_connection(struct server *server, int fd)
{
	struct front_handoff handoff;
	struct sockaddr_storage from;
	struct auth_peer peer;
	socklen_t len = sizeof(from);
	struct conn *conn;

	if (fd < 0)
		return;
	if (server->payload.len < sizeof(handoff) || server->conn_count >= server->conn_max ||
	    server->is_ending ||
	    getpeername(fd, (struct sockaddr *)&from, &len) < 0) {
		page_add(server->page->turned_away, 1);
		(void)close(fd);
		return;
	}
	auth_peer_of((const struct sockaddr *)&from, len, &peer);
	memcpy(&handoff, server->payload.data, sizeof(handoff));
	conn = conn_new(server, fd, &peer, server->payload.data + sizeof(handoff),
			server->payload.len - sizeof(handoff), handoff.hops);
	if (conn != NULL)
		conn_settle(conn);
}

/* Whether the client's system has acknowledged the answer and our FIN; then do not wait for the
 * client to close its side. A Unix socket delivers its bytes when they are sent. */
static bool has_arrived(const struct conn *conn)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return conn->state == CONN_CLOSING &&
	       (getsockopt(conn->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
		info.tcpi_state == TCP_FIN_WAIT2);
}

static void drop_finished(struct server *server)
{
	struct conn *next;

	for (struct conn *at = server->conns; at != NULL; at = next) {
		next = at->next;
		if ((at->state != CONN_SEND && at->state != CONN_CLOSING) || has_arrived(at))
			conn_free(at);
	}
}

static void on_end_timer(void *arg)
{
	struct server *server = arg;

	drop_finished(server);
	if (server->conns == NULL || ++server->end_steps >= END_MS / END_STEP_MS)
		loop_stop(server->loop);
	else
		loop_timer_set(server->end_timer, END_STEP_MS);
}

/* reckond stops or is gone: answers under way may still finish. */
static void on_end(struct server *server)
{
	struct err err;

	server->is_ending = true;
	stop_listening(server);
	drop_finished(server);
	if (server->conns == NULL ||
	    loop_timer_new(server->loop, on_end_timer, server, &server->end_timer, &err) < 0)
		loop_stop(server->loop);
	else
		loop_timer_set(server->end_timer, END_STEP_MS);
}

static int start(struct server *server, struct err *err)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	if (loop_new(&server->loop, err) < 0 || upstream_open(server, err) < 0 ||
	    note_open(server, err) < 0)
		return (int)err->code;
	server->chunk = mem_new0(HTTPD_AHEAD_MAX, 1);
	server->throttle = auth_throttle_new();
	if (!accepts(server))
		return 0;
	/* Before the fence, which may change the uid. */
	server->local_uid = geteuid();
	if (getsockname(FRONT_LISTEN_FD, (struct sockaddr *)&address, &len) < 0)
		return err_sys(err, "getsockname");
	server->is_local = address.ss_family == AF_UNIX;
	/* Another front may share the listener: if it accepts first, accept() must not block. */
	if (loop_timer_new(server->loop, on_accept_again, server, &server->accept_timer, err) < 0 ||
	    loop_io_new(server->loop, FRONT_LISTEN_FD, on_listen, server, &server->listen_io, err) <
		    0)
		return (int)err->code;
	loop_io_want(server->listen_io, LOOP_READ);
	return 0;
}

int httpd_main(int argc, char **argv, const struct dialect *dialect, unsigned number,
	       unsigned (*recognise)(const struct http *http))
{
	struct server *server = mem_new0(1, sizeof(*server));
	struct rlimit files = { 1024, 1024 };
	struct err err;

	server->dialect = dialect;
	server->number = number;
	server->recognise = recognise;
	server->calls = (struct server_calls){ conn_settle, on_connection, on_end };
	log_init(dialect->name);
	if (argc != 3 || fcntl(FRONT_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    (accepts(server) && fcntl(FRONT_LISTEN_FD, F_SETFD, FD_CLOEXEC) < 0) ||
	    (server->page = mmap(NULL, sizeof(*server->page), PROT_READ | PROT_WRITE, MAP_SHARED,
				FRONT_PAGE_FD, 0)) == MAP_FAILED) {
		log_line(LOG_ERROR, "reckond starts this program", NULL);
		return 2;
	}
	server->conn_max = (unsigned)strtoul(argv[1], NULL, 10);
	server->allowed_hosts = argv[2];
	(void)close(FRONT_PAGE_FD);
	access_settings(server->page);
	/* Two per connection: its socket, and a file that it sends or receives. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	    files.rlim_max < 2ull * server->conn_max + OWN_DESCRIPTORS) {
		server->conn_max = (unsigned)(files.rlim_max - OWN_DESCRIPTORS) / 2;
		log_line(LOG_WARN, "fewer connections than asked for: the limit of open files",
			 "connections=%u", server->conn_max);
	}
	priority_raise();
	tzset(); /* reads its file now, once */
	if (start(server, &err) < 0 ||
	    httpd_fence(2ull * server->conn_max + OWN_DESCRIPTORS, &err) < 0) {
		log_line(LOG_ERROR, "cannot start", "why=\"%s\"", err.text);
		return 125;
	}
	upstream_ready(server);
	if (loop_run(server->loop, &err) < 0) {
		log_line(LOG_ERROR, "the loop failed", "why=\"%s\"", err.text);
		return 125;
	}
	return 0;
}
