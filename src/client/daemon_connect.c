/*
 * daemon_connect.c - connects to the private daemon's socket.
 *
 * Runs in:  clients that name no address.
 * Reads:    the uid and pid of the peer, from the kernel.
 * Never:    starts a daemon.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "client/inner.h"

int daemon_connect(const struct url *url, struct ucred *ret_peer, struct err *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	cleanup_fd int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*ret_peer);
	int n;

	if (sock < 0)
		return err_sys(err, "socket");
	_Static_assert(sizeof(url->socket) <= sizeof(address.sun_path), "a path fits");
	memcpy(address.sun_path, url->socket, sizeof(url->socket));
	do
		n = connect(sock, (const struct sockaddr *)&address, sizeof(address));
	while (n < 0 && errno == EINTR);
	/* For a socket, the peer is the process that called listen(). */
	if (n == 0 && (ret_peer == NULL ||
		       getsockopt(sock, SOL_SOCKET, SO_PEERCRED, ret_peer, &len) == 0))
		return 1;
	if (n < 0 && (errno == ECONNREFUSED || errno == ENOENT))
		return 0;
	return err_sys(err, "connect to your private daemon");
}
