/*
 * request.c - reads the warden's configuration from its first client instead of its command line.
 *
 * Runs in:  the warden, when a service manager started it for a connection.
 * Reads:    one message on that connection, and the user at its other end.
 * Never:    accepts a request of another user, or keeps the environment it was started with.
 */
#include "box/request.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/file/fd.h"

#define REQUEST_MS 10000

static int check_client(int fd, struct err *err)
{
	struct ucred client;
	socklen_t len = sizeof(client);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &client, &len) < 0)
		return err_sys(err, "ask who wants a warden");
	if (client.uid != geteuid())
		return err_set(err, ERR_DENIED, "user %u may not start a warden of user %u",
			       client.uid, geteuid());
	return 0;
}

static int wait_for_it(int fd, struct err *err)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };
	int ready;

	do
		ready = poll(&wait, 1, REQUEST_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return err_set(err, ERR_TIMEOUT, "nobody said what this warden is to be");
	return 0;
}

static bool is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static void set_word(const char *name, const char *value)
{
	if (value[0] != '\0')
		(void)setenv(name, value, 1);
}

/* The same environment as for a warden that a client forks (lib/launch.c). */
static void set_environment(const struct launch_request *request)
{
	(void)clearenv();
	set_word("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	set_word("LANG", "C.UTF-8");
	set_word("RECKON_LOG", request->log);
	set_word("RECKON_ROTATE", request->rotate);
}

int request_take(struct warden *warden, int fd, struct err *err)
{
	struct launch_request request;
	int listener = -1;
	size_t nfds;
	ssize_t n;

	if (check_client(fd, err) < 0 || wait_for_it(fd, err) < 0)
		return (int)err->code;
	n = fd_recv_msg(fd, &request, sizeof(request), &listener, 1, &nfds, err);
	if (n < 0)
		return (int)err->code;
	if (n != (ssize_t)sizeof(request) || nfds != 1 || request.version != LAUNCH_VERSION ||
	    !is_text(request.template_dir, sizeof(request.template_dir)) ||
	    !is_text(request.log, sizeof(request.log)) ||
	    !is_text(request.rotate, sizeof(request.rotate)) || request.template_dir[0] != '/') {
		fd_close_all(&listener, nfds);
		return err_set(err, ERR_PROTOCOL, "not a request for a warden of this version");
	}
	warden->listen_fd = listener;
	warden->idle_ns = request.idle_seconds * 1000000000ull;
	memcpy(warden->template_dir, request.template_dir, sizeof(request.template_dir));
	set_environment(&request);
	return 0;
}

void request_answer(int fd, const struct err *err)
{
	struct err ignored;

	if (fd < 0)
		return;
	/* A client that no longer waits for the answer can still connect to the warden. */
	(void)fd_send_msg(fd, err, sizeof(*err), NULL, 0, &ignored);
	(void)close(fd);
}
