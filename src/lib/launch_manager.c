/*
 * launch_manager.c - asks a service manager to start a warden in a separate control group.
 *
 * Runs in:  libreckon, when no warden runs yet.
 * Reads:    the environment (RECKON_WARDEN_SOCKET, RECKON_LOG, RECKON_ROTATE), the warden's answer.
 * Never:    fails because no service manager listens: then the caller forks the warden itself.
 *
 * A forked warden is in its caller's control group. systemd ends that group with the service, and
 * with cgroup v2 it could not start the service again beside a warden that has boxes there.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "lib/launch.h"
#include "wire/launch.h"

#define ANSWER_MS 20000

static int connect_to(const char *path)
{
	cleanup_fd int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const size_t len = strlen(path);
	int n;

	if (sock < 0 || path[0] != '/' || len >= sizeof(address.sun_path))
		return -1;
	memcpy(address.sun_path, path, len + 1);
	do
		n = connect(sock, (const struct sockaddr *)&address, sizeof(address));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -1 : TAKE_FD(sock);
}

/* Copies a variable if it fits. One that does not fit counts as unset. */
static void copy_word(char ret[LAUNCH_WORD_SIZE], const char *name)
{
	const char *value = secure_getenv(name);

	if (value != NULL && strlen(value) < LAUNCH_WORD_SIZE)
		memcpy(ret, value, strlen(value) + 1);
}

/* 1: the warden serves; 0: it sent no answer. */
static int take_answer(int sock, struct err *err)
{
	struct pollfd wait = { .fd = sock, .events = POLLIN };
	struct err answer;
	size_t nfds;
	ssize_t n;
	int ready;

	do
		ready = poll(&wait, 1, ANSWER_MS);
	while (ready < 0 && errno == EINTR);
	if (ready <= 0)
		return err_set(err, ERR_TIMEOUT, "the service manager started no warden in %d s",
			       ANSWER_MS / 1000);
	n = fd_recv_msg(sock, &answer, sizeof(answer), NULL, 0, &nfds, err);
	if (n != (ssize_t)sizeof(answer))
		return 0;
	if (answer.code == ERR_OK)
		return 1;
	*err = answer;
	return (int)err->code;
}

int launch_by_manager(int listener, const char *template_dir, unsigned idle_seconds,
		      struct err *err)
{
	const char *path = secure_getenv("RECKON_WARDEN_SOCKET");
	struct launch_request request = { .version = LAUNCH_VERSION, .idle_seconds = idle_seconds };
	cleanup_fd int sock = -1;
	struct err ignored;

	if (path == NULL || path[0] == '\0' || strlen(template_dir) >= sizeof(request.template_dir))
		return 0;
	sock = connect_to(path);
	if (sock < 0)
		return 0;
	memcpy(request.template_dir, template_dir, strlen(template_dir) + 1);
	copy_word(request.log, "RECKON_LOG");
	copy_word(request.rotate, "RECKON_ROTATE");
	if (fd_send_msg(sock, &request, sizeof(request), &listener, 1, &ignored) < 0)
		return 0;
	return take_answer(sock, err);
}
