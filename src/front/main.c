/*
 * main.c - reckon-front: speaks HTTP with anybody, and asks reckond for everything.
 *
 * Runs in:  reckon-front, started by reckond: descriptor 3 is the socket to it, 4 the listener, 5 a
 *           page of numbers.
 * Reads:    the network; before that one number and the page that it shares with reckond.
 * Never:    opens, connects, executes, or holds a secret longer than a request.
 */
#include <errno.h>
#include <fcntl.h>
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
#include "base/priority.h"
#include "front/fence.h"
#include "front/front.h"

#define ACCEPT_IN_A_ROW 64
#define ACCEPT_PAUSE_MS 100u
#define OWN_DESCRIPTORS 64u

/* One more than may be: told so, as far as that goes without waiting. */
static void turn_away(int fd)
{
	static const char full[] =
		"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
		"Content-Length: 110\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
		"{\"error\":{\"code\":\"unavailable\",\"message\":\"too many connections\","
		"\"cause\":null,\"remedy\":\"ask again in a while\"}}";

	(void)send(fd, full, sizeof(full) - 1, MSG_NOSIGNAL);
	(void)close(fd);
}

/* On a socket of one user whoever connects must be that user. */
static bool is_stranger(const struct front *front, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (!front->is_local)
		return false;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ||
	       peer.uid != front->local_uid;
}

static void on_listen(unsigned ready, void *arg)
{
	struct front *front = arg;

	(void)ready;
	for (int i = 0; i < ACCEPT_IN_A_ROW; i++) {
		struct sockaddr_storage from;
		struct guess_peer peer;
		socklen_t len = sizeof(from);
		const int fd = accept4(FRONT_LISTEN_FD, (struct sockaddr *)&from, &len,
				       SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			/* Out of descriptors or memory: some of both come back when others end. */
			if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			    errno == ENOMEM) {
				loop_io_want(front->listen_io, 0);
				loop_timer_set(front->accept_timer, ACCEPT_PAUSE_MS);
			}
			return;
		}
		guess_peer_of((const struct sockaddr *)&from, len, &peer);
		if (is_stranger(front, fd)) {
			(void)close(fd);
		} else if (front->conn_count >= front->conn_max) {
			page_add(front->page->turned_away, 1);
			turn_away(fd);
		} else {
			conn_new(front, fd, &peer);
		}
	}
}

static void on_accept_again(void *arg)
{
	struct front *front = arg;

	if (front->listen_io != NULL)
		loop_io_want(front->listen_io, LOOP_READ);
}

static int start(struct front *front, struct err *err)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	/* Now, before the fence: afterwards we are somebody else. */
	front->local_uid = geteuid();
	if (getsockname(FRONT_LISTEN_FD, (struct sockaddr *)&address, &len) < 0)
		return err_sys(err, "getsockname");
	front->is_local = address.ss_family == AF_UNIX;
	/* reckond may start another one of us on the same socket: it must not make us wait. */
	if (loop_new(&front->loop, err) < 0 || upstream_open(front, err) < 0 ||
	    loop_timer_new(front->loop, on_accept_again, front, &front->accept_timer, err) < 0 ||
	    loop_io_new(front->loop, FRONT_LISTEN_FD, on_listen, front, &front->listen_io, err) < 0)
		return (int)err->code;
	front->chunk = mem_new0(CONN_AHEAD_MAX, 1);
	front->guess = guess_new();
	return 0;
}

int main(int argc, char **argv)
{
	struct front *front = mem_new0(1, sizeof(*front));
	struct rlimit files = { 1024, 1024 };
	struct err err;

	log_init("front");
	if (argc != 2 || fcntl(FRONT_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(FRONT_LISTEN_FD, F_SETFD, FD_CLOEXEC) < 0 ||
	    (front->page = mmap(NULL, sizeof(*front->page), PROT_READ | PROT_WRITE, MAP_SHARED,
				FRONT_PAGE_FD, 0)) == MAP_FAILED) {
		log_line(LOG_ERROR, "reckond starts this program", NULL);
		return 2;
	}
	front->conn_max = (unsigned)strtoul(argv[1], NULL, 10);
	(void)close(FRONT_PAGE_FD);
	trail_settings(front->page);
	/* Two for each connection: itself, and a file on its way. */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	    files.rlim_max < 2ull * front->conn_max + OWN_DESCRIPTORS) {
		front->conn_max = (unsigned)(files.rlim_max - OWN_DESCRIPTORS) / 2;
		log_line(LOG_WARN, "fewer connections than asked for: the limit of open files",
			 "connections=%u", front->conn_max);
	}
	priority_raise();
	tzset(); /* reads a file, once */
	if (start(front, &err) < 0 ||
	    fence_enter(2ull * front->conn_max + OWN_DESCRIPTORS, &err) < 0) {
		log_line(LOG_ERROR, "cannot start", "why=\"%s\"", err.text);
		return 125;
	}
	loop_io_want(front->listen_io, LOOP_READ);
	upstream_ready(front);
	if (loop_run(front->loop, &err) < 0) {
		log_line(LOG_ERROR, "the loop failed", "why=\"%s\"", err.text);
		return 125;
	}
	return 0;
}
