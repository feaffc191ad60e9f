/*
 * listen.c - the socket that clients connect to.
 *
 * Runs in:  reckond, at its start.
 * Reads:    the address of the configuration.
 * Never:    accepts, or listens where others can reach it unless that was said.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "host/host.h"

#define BACKLOG 1024

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* "127.0.0.1:7263" or "[::1]:7263": addresses only, nothing is asked of a resolver. */
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
	(void)err_set(err, ERR_INVALID, "--listen: %.60s is no address", host);
	return err_remedy(err, "names are not looked up; use 127.0.0.1 or [::1]");
}

static bool is_loopback(const union address *address)
{
	if (address->any.sa_family == AF_INET)
		return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

/* Port 0 is whatever is free: what it came to stands in the line that says we are ready. */
static void name_socket(struct host *host)
{
	union address address;
	socklen_t len = sizeof(address);
	char text[64] = "";

	(void)snprintf(host->listening, sizeof(host->listening), "http://%s", host->config.address);
	if (getsockname(host->listen_fd, &address.any, &len) < 0)
		return;
	if (address.any.sa_family == AF_INET &&
	    inet_ntop(AF_INET, &address.v4.sin_addr, text, sizeof(text)) != NULL)
		(void)snprintf(host->listening, sizeof(host->listening), "http://%s:%u", text,
			       ntohs(address.v4.sin_port));
	else if (inet_ntop(AF_INET6, &address.v6.sin6_addr, text, sizeof(text)) != NULL)
		(void)snprintf(host->listening, sizeof(host->listening), "http://[%s]:%u", text,
			       ntohs(address.v6.sin6_port));
}

int listen_open(struct host *host, struct err *err)
{
	const int one = 1;
	union address address;
	socklen_t len = 0;

	if (parse_address(host->config.address, &address, &len, err) < 0)
		return (int)err->code;
	if (!is_loopback(&address) && !host->config.public_ok) {
		(void)err_set(err, ERR_DENIED, "%s can be reached from other machines, and this is "
			      "HTTP without TLS", host->config.address);
		return err_remedy(err, "put a proxy with TLS in front of 127.0.0.1, or say "
				       "--public if the network is trusted");
	}
	host->listen_fd = socket(address.any.sa_family,
				 SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (host->listen_fd < 0)
		return err_sys(err, "socket");
	(void)setsockopt(host->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(host->listen_fd, &address.any, len) < 0 || listen(host->listen_fd, BACKLOG) < 0) {
		(void)err_sys(err, "listen on %s", host->config.address);
		return err_remedy(err, "stop what listens there, or choose another --listen");
	}
	name_socket(host);
	return 0;
}
