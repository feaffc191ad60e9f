/*
 * listen.c - opens the socket that clients connect to.
 *
 * Runs in:  reckond, at its start.
 * Reads:    the address in the configuration.
 * Never:    accepts, or listens where other machines can connect unless that is configured.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "host/host.h"

#define BACKLOG 1024
#define INHERITED_FD 3

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "127.0.0.1:7263" or "[::1]:7263": only addresses, because names are not resolved. */
static int parse_address(const char *text, union address *ret, socklen_t *ret_len, struct err *err)
{
	const char *colon = strrchr(text, ':');
	char host[64];
	char *end;
	unsigned long port;
	size_t len = colon != NULL ? (size_t)(colon - text) : 0;

	memset(ret, 0, sizeof(*ret));
	if (colon == NULL || len == 0 || len >= sizeof(host)) {
		(void)err_set(err, ERR_INVALID, "--listen takes ADDRESS:PORT");
		return err_remedy(err, "for example 127.0.0.1:7263 or [::1]:7263");
	}
	port = strtoul(colon + 1, &end, 10);
	if (colon[1] < '0' || colon[1] > '9' || *end != '\0' || port > 65535)
		return err_set(err, ERR_INVALID, "--listen: the port is a number from 0 to 65535");
	memcpy(host, text, len);
	host[len] = '\0';
	if (host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		ret->v6.sin6_family = AF_INET6;
		ret->v6.sin6_port = htons((uint16_t)port);
		*ret_len = sizeof(ret->v6);
		if (inet_pton(AF_INET6, host + 1, &ret->v6.sin6_addr) == 1)
			return 0;
	} else {
		ret->v4.sin_family = AF_INET;
		ret->v4.sin_port = htons((uint16_t)port);
		*ret_len = sizeof(ret->v4);
		if (inet_pton(AF_INET, host, &ret->v4.sin_addr) == 1)
			return 0;
	}
	(void)err_set(err, ERR_INVALID, "--listen: %.60s is not an address", host);
	return err_remedy(err, "names are not looked up; use 127.0.0.1 or [::1]");
}

static bool is_loopback(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

/* With port 0 the kernel chooses a free port, which the line "listening on" then shows. */
static void name_socket(struct host *host)
{
	union address address;
	socklen_t len = sizeof(address);
	char text[64] = "";

	(void)snprintf(host->door.name, sizeof(host->door.name), "http://%s", host->config.address);
	if (getsockname(host->door.fd, &address.any, &len) < 0)
		return;
	if (address.any.sa_family == AF_INET &&
	    inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text)) != NULL)
		(void)snprintf(host->door.name, sizeof(host->door.name), "http://%s:%u", text,
			       ntohs(address.v4.sin_port));
	else if (inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text)) != NULL)
		(void)snprintf(host->door.name, sizeof(host->door.name), "http://[%s]:%u", text,
			       ntohs(address.v6.sin6_port));
}

static int check_reach(struct host *host, const union address *address, const char *text,
		       struct err *err)
{
	host->door.is_loopback = is_loopback(address);
	if (host->door.is_loopback || host->config.public_ok)
		return 0;
	(void)err_set(err, ERR_DENIED, "%s can be reached from other machines, and this is HTTP "
		      "without TLS", text);
	return err_remedy(err, "put a proxy with TLS in front of 127.0.0.1, or say --public if the "
			       "network is trusted");
}

/*
 * Takes a socket that a service manager, or reckond itself before an upgrade, opened: descriptor 3,
 * if LISTEN_PID is our pid. 1: taken; 0: there is none.
 */
static int take_inherited(struct host *host, struct err *err)
{
	const char *pid = secure_getenv("LISTEN_PID"), *fds = secure_getenv("LISTEN_FDS");
	union address address = { 0 };
	socklen_t len = sizeof(address), size = sizeof(int);
	int listens = 0, type = 0;
	char own[24];

	err_clear(err);
	(void)snprintf(own, sizeof(own), "%d", (int)getpid());
	if (pid == NULL || fds == NULL || strcmp(pid, own) != 0)
		return 0;
	if (strcmp(fds, "1") != 0)
		return err_set(err, ERR_INVALID, "LISTEN_FDS is %.20s: one socket is taken", fds);
	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	if (getsockopt(INHERITED_FD, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 ||
	    getsockopt(INHERITED_FD, SOL_SOCKET, SO_TYPE, &type, &size) < 0 ||
	    getsockname(INHERITED_FD, &address.any, &len) < 0)
		return err_sys(err, "the socket that was passed");
	if (listens == 0 || type != SOCK_STREAM ||
	    (address.any.sa_family != AF_INET && address.any.sa_family != AF_INET6))
		return err_set(err, ERR_INVALID,
			       "the socket that was passed is not a TCP listener");
	if (check_reach(host, &address, "the socket that was passed", err) < 0)
		return (int)err->code;
	/* Moves it away: fronts use descriptor 3 for their socket to reckond. */
	host->door.fd = fcntl(INHERITED_FD, F_DUPFD_CLOEXEC, 10);
	if (host->door.fd < 0 || fd_set_nonblock(host->door.fd, true, err) < 0)
		return err_sys(err, "take the socket that was passed");
	(void)close(INHERITED_FD);
	name_socket(host);
	return 1;
}

int listen_open(struct host *host, struct err *err)
{
	const int one = 1;
	union address address;
	socklen_t len = 0;

	if (take_inherited(host, err) != 0)
		return (int)err->code;
	if (parse_address(host->config.address, &address, &len, err) < 0)
		return (int)err->code;
	if (check_reach(host, &address, host->config.address, err) < 0)
		return (int)err->code;
	host->door.fd = socket(address.any.sa_family,
				 SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (host->door.fd < 0)
		return err_sys(err, "socket");
	(void)setsockopt(host->door.fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(host->door.fd, &address.any, len) < 0 || listen(host->door.fd, BACKLOG) < 0) {
		(void)err_sys(err, "listen on %s", host->config.address);
		return err_remedy(err, "stop what listens there, or choose another --listen");
	}
	name_socket(host);
	return 0;
}
