/*
 * port.c - connects to TCP ports in a session's box, and lists listeners.
 *
 * Runs in:  libreckon.
 * Reads:    replies of the warden; never data from a port, which only the caller reads.
 * Never:    uses the connection on which an execution waits.
 */
#include "reckon_port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "lib/api.h"
#include "lib/session/session.h"

#define ASK_TIMEOUT_MS 10000

static int begin(struct reckon_session *session, unsigned port, bool is_v6, int *ret_fd,
		 struct err *err)
{
	struct warden_request request = {
		.type = WARDEN_PORT,
		.session = session->warden.number,
		.port = { .number = (uint16_t)port, .is_v6 = is_v6 },
	};
	struct client_call call = { 0 };

	if (shared_ask(session->shared, session->client, session->warden.number, &request, &call,
		       ASK_TIMEOUT_MS, err) < 0)
		return (int)err->code;
	if (call.nfds != 1)
		return err_set(err, ERR_PROTOCOL, "the warden gave no socket");
	*ret_fd = call.fds[0];
	return 0;
}

/* Returns 0 without waiting if the caller does not want to wait: a closed port fails at once. */
static int wait_connected(int fd, unsigned port, bool waits, uint64_t end_ns, struct err *err)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	int ready, error = 0;
	socklen_t len = sizeof(error);

	do {
		const uint64_t now = clock_mono_ns();
		const uint64_t left = end_ns > now ? (end_ns - now + 999999u) / 1000000u : 0;

		ready = poll(&wait, 1, (int)left);
	} while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return err_sys(err, "wait for port %u", port);
	if (ready == 0 && !waits)
		return 0;
	if (ready == 0) {
		(void)err_set(err, ERR_TIMEOUT, "port %u does not accept connections", port);
		return err_remedy(err, "see whether the program that listens there is busy");
	}
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return err_sys(err, "wait for port %u", port);
	if (error == 0)
		return 0;
	errno = error;
	if (error != ECONNREFUSED && error != EADDRNOTAVAIL)
		return err_sys(err, "connect to port %u", port);
	return err_set(err, ERR_NOT_FOUND, "nothing listens on port %u", port);
}

static int try_connect(struct reckon_session *session, unsigned port, bool is_v6, int timeout_ms,
		       int *ret_fd, struct err *err)
{
	const uint64_t end = clock_mono_ns() + (uint64_t)timeout_ms * 1000000u;
	cleanup_fd int fd = -1;

	if (begin(session, port, is_v6, &fd, err) < 0 ||
	    wait_connected(fd, port, timeout_ms > 0, end, err) < 0)
		return (int)err->code;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int port_connect(struct reckon_session *session, unsigned port, int timeout_ms,
			int *ret_fd, struct err *err)
{
	struct err closed;

	if (port == 0 || port > UINT16_MAX)
		return err_set(err, ERR_INVALID, "a port is from 1 to 65535");
	if (timeout_ms < 0)
		return err_set(err, ERR_INVALID, "a negative time to wait");
	if (shared_check(session->shared, err) < 0)
		return (int)err->code;
	if (try_connect(session, port, false, timeout_ms, ret_fd, err) == 0)
		return 0;
	if (err->code != ERR_NOT_FOUND)
		return (int)err->code;
	closed = *err;
	if (try_connect(session, port, true, timeout_ms, ret_fd, err) == 0)
		return 0;
	if (err->code == ERR_NOT_FOUND)
		(void)err_remedy(&closed,
				 "start a server in the session that listens on 127.0.0.1, "
				 "::1 or 0.0.0.0");
	*err = err->code == ERR_NOT_FOUND || err->code == ERR_SYSTEM ? closed : *err;
	return (int)err->code;
}

int reckon_port_connect(reckon_session *session, unsigned port, int timeout_ms, int *ret,
			reckon_error *err)
{
	struct err inner;

	*ret = -1;
	if (port_connect(session, port, timeout_ms, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

/* Whether reckon_port_connect() can reach the listener's address. */
static bool is_reached(const struct warden_listener *listener)
{
	static const uint8_t zeros[16], loopback[16] = { [15] = 1 };
	static const uint8_t mapped[16] = { [10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1 };
	static const uint8_t loopback4[4] = { 127, 0, 0, 1 };

	if (listener->is_v6 == 0)
		return memcmp(listener->address, zeros, 4) == 0 ||
		       memcmp(listener->address, loopback4, 4) == 0;
	return memcmp(listener->address, zeros, 16) == 0 ||
	       memcmp(listener->address, loopback, 16) == 0 ||
	       memcmp(listener->address, mapped, 16) == 0;
}

int reckon_port_list(reckon_session *session, reckon_port_entry *ret, size_t max,
		     reckon_error *err)
{
	struct warden_request request = { .type = WARDEN_PORTS, .session = session->warden.number };
	struct client_call call = { 0 };
	const struct warden_ports *ports = &call.reply.ports;
	struct err inner;
	size_t count;

	if (shared_check(session->shared, &inner) < 0 ||
	    shared_ask(session->shared, session->client, session->warden.number, &request, &call,
		       ASK_TIMEOUT_MS, &inner) < 0)
		return api_fail(err, &inner);
	count = ports->count < WARDEN_PORTS_MAX ? ports->count : WARDEN_PORTS_MAX;
	for (size_t i = 0; i < count && i < max; i++) {
		const struct warden_listener *listener = &ports->listener[i];

		ret[i] = (reckon_port_entry){ .port = listener->port,
					      .is_loopback = is_reached(listener) };
		(void)inet_ntop(listener->is_v6 != 0 ? AF_INET6 : AF_INET, listener->address,
				ret[i].address, sizeof(ret[i].address));
	}
	(void)api_ok(err);
	return (int)count;
}
