/*
 * notify.c - tells the service manager the daemon's state: READY, RELOADING, STOPPING (sd_notify).
 *
 * Runs in:  reckond.
 * Reads:    NOTIFY_SOCKET.
 * Never:    waits, or fails because nobody listens.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "host/host.h"

/* Accepts only a path, or the name of an abstract socket after "@". */
static bool address_of(const char *name, struct sockaddr_un *ret, socklen_t *ret_len)
{
	const size_t len = strlen(name);

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	if (len < 2 || (name[0] != '/' && name[0] != '@') ||
	    len > sizeof(ret->sun_path) - (name[0] == '/'))
		return false;
	memcpy(ret->sun_path, name, len);
	if (name[0] == '@')
		ret->sun_path[0] = '\0';
	/* The length includes the NUL of a path; an abstract name has none. */
	*ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] == '/'));
	return true;
}

void notify_manager(const char *state)
{
	const char *name = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un address;
	cleanup_fd int fd = -1;
	socklen_t len;

	if (name == NULL || name[0] == '\0')
		return;
	if (!address_of(name, &address, &len)) {
		log_line(LOG_WARN, "NOTIFY_SOCKET is not an address", NULL);
		return;
	}
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address,
			     len) < 0)
		log_line(LOG_WARN, "the service manager could not be told", "state=\"%s\"", state);
}
