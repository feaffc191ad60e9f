/*
 * forward.c - reckon forward: forwards a local port to a port of a session.
 *
 * Runs in:  reckon-client, and a child process for each connection.
 * Reads:    bytes of local clients and of a program in a box, which it only copies.
 * Never:    listens on any address but loopback.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "cli/cli.h"
#include "cli/remote/remote.h"
#include "codec/json_get.h"

#define CONNECTIONS_MAX 512u
#define CHUNK 65536u

struct forward {
	struct remote remote;
	bool no_link;
	uint16_t port, local;
	char path[96]; /* path of the tunnel's endpoint */
	char link[160]; /* path of the shared link, to be deleted at the end; "": none */
	int listen_fd, signal_fd;
	unsigned children;
};

/* ---- the command line ----------------------------------------------------------------------- */

static int take_number(const char *text, size_t len, bool may_be_any, uint16_t *ret)
{
	unsigned long value = 0;

	if (len == 0 || len > 5)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (unsigned long)(text[i] - '0');
	}
	if (value > UINT16_MAX || (value == 0 && !may_be_any))
		return -1;
	*ret = (uint16_t)value;
	return 0;
}

static int take_ports(struct forward *forward, const char *text, struct err *err)
{
	const size_t len = strcspn(text, ":");

	if (take_number(text, len, false, &forward->port) < 0 ||
	    (text[len] == ':' &&
	     take_number(text + len + 1, strlen(text + len + 1), true, &forward->local) < 0)) {
		(void)err_set(err, ERR_INVALID, "invalid value '%.40s' for PORT[:LOCAL]", text);
		return err_remedy(err, "ports are numbers from 1 to 65535; LOCAL may be 0 for any");
	}
	if (text[len] != ':')
		forward->local = forward->port;
	return 0;
}

static int take(int id, const char *value, void *arg, struct err *err)
{
	struct forward *forward = arg;

	if (id == REMOTE_OPT_NO_LINK) {
		forward->no_link = true;
		return 0;
	}
	if (id == OPT_OPERAND && forward->port == 0)
		return take_ports(forward, value, err);
	if (id == OPT_OPERAND || !remote_take(&forward->remote, id, value))
		return remote_unexpected(value, err);
	return 0;
}

/* ---- one connection ------------------------------------------------------------------------- */

/* Bytes in transit in one direction. */
struct way {
	char bytes[CHUNK];
	size_t at, len;
	bool has_ended;
};

struct pair {
	int fd; /* the local client's connection */
	struct client_tunnel *tunnel;
	struct way up, down;
};

/* 1: bytes moved; 0: nothing can move now; -1: one side is closed. */
static int move_up(struct pair *pair)
{
	struct way *up = &pair->up;
	ssize_t n;

	if (up->len == 0 && !up->has_ended) {
		n = recv(pair->fd, up->bytes, sizeof(up->bytes), MSG_DONTWAIT);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		up->len = (size_t)n;
		up->has_ended = n == 0;
		if (up->has_ended && !client_tunnel_end(pair->tunnel))
			return -1;
	}
	if (up->len == 0)
		return 0;
	n = client_tunnel_write(pair->tunnel, up->bytes + up->at, up->len - up->at);
	if (n < 0)
		return n == CLIENT_TUNNEL_AGAIN ? 0 : -1;
	up->at += (size_t)n;
	if (up->at == up->len)
		up->at = up->len = 0;
	return 1;
}

static int move_down(struct pair *pair)
{
	struct way *down = &pair->down;
	ssize_t n;

	if (down->len == 0) {
		n = client_tunnel_read(pair->tunnel, down->bytes, sizeof(down->bytes));
		if (n == CLIENT_TUNNEL_AGAIN)
			return 0;
		if (n <= 0)
			return -1;
		down->len = (size_t)n;
	}
	n = send(pair->fd, down->bytes + down->at, down->len - down->at,
		 MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	down->at += (size_t)n;
	if (down->at == down->len)
		down->at = down->len = 0;
	return 1;
}

static short events_of(bool reads, bool writes)
{
	return (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
}

static void relay(struct pair *pair)
{
	for (;;) {
		const int up = move_up(pair), down = move_down(pair);
		struct pollfd wait[2] = {
			{ .fd = pair->fd,
			  .events = events_of(pair->up.len == 0 && !pair->up.has_ended,
					      pair->down.len > 0) },
			{ .fd = client_tunnel_fd(pair->tunnel),
			  .events = events_of(pair->down.len == 0, pair->up.len > 0) },
		};

		if (up < 0 || down < 0)
			return;
		/*
		 * Without events a hang-up would still end each poll(), so leave the descriptor
		 * out.
		 */
		for (size_t i = 0; i < ARRAY_LEN(wait); i++)
			if (wait[i].events == 0)
				wait[i].fd = -1;
		if (up == 0 && down == 0)
			(void)poll(wait, ARRAY_LEN(wait), -1);
	}
}

__attribute__((noreturn)) static void serve(const struct opt_command *self, struct client *client,
					    const struct forward *forward, int fd, pid_t parent)
{
	static struct pair pair;
	struct err err;
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
	if (getppid() != parent)
		_exit(0);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)close(forward->listen_fd);
	pair.fd = fd;
	if (client_tunnel_open(client, forward->path, &pair.tunnel, &err) < 0) {
		(void)cli_complain_of(self, &err);
		_exit(1);
	}
	relay(&pair);
	client_tunnel_close(pair.tunnel);
	_exit(0);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static int listen_on(struct forward *forward, struct err *err)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_port = htons(forward->local),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	const int yes = 1;

	forward->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (forward->listen_fd < 0)
		return err_sys(err, "socket");
	(void)setsockopt(forward->listen_fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(forward->listen_fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(forward->listen_fd, 128) < 0) {
		(void)err_sys(err, "listen on 127.0.0.1:%u", forward->local);
		return err_remedy(err, "name another local port: %u:LOCAL, or %u:0 for a free one",
				  forward->port, forward->port);
	}
	if (getsockname(forward->listen_fd, (struct sockaddr *)&at, &len) < 0)
		return err_sys(err, "getsockname");
	forward->local = ntohs(at.sin_port);
	return 0;
}

static int watch_signals(struct forward *forward, struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_sys(err, "sigprocmask");
	forward->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
	return forward->signal_fd < 0 ? err_sys(err, "signalfd") : 0;
}

static void accept_one(const struct opt_command *self, struct client *client,
		       struct forward *forward)
{
	cleanup_fd int fd = accept4(forward->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	const pid_t parent = getpid();
	pid_t pid;

	if (fd < 0)
		return;
	pid = fork();
	if (pid == 0)
		serve(self, client, forward, TAKE_FD(fd), parent);
	forward->children += pid > 0;
}

/* True: the user ends the command. */
static bool take_signal(struct forward *forward)
{
	struct signalfd_siginfo info;

	if (read(forward->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return false;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		forward->children--;
	return info.ssi_signo != SIGCHLD;
}

static void serve_all(const struct opt_command *self, struct client *client,
		      struct forward *forward)
{
	for (;;) {
		struct pollfd wait[] = {
			{ .fd = forward->signal_fd, .events = POLLIN },
			{ .fd = forward->children < CONNECTIONS_MAX ? forward->listen_fd : -1,
			  .events = POLLIN },
		};

		if (poll(wait, ARRAY_LEN(wait), -1) < 0 && errno != EINTR)
			return;
		if ((wait[0].revents & POLLIN) != 0 && take_signal(forward))
			return;
		if ((wait[1].revents & POLLIN) != 0)
			accept_one(self, client, forward);
	}
}

/* ---- the link ------------------------------------------------------------------------------- */

/* Prints a link for a browser, if the daemon has a URL and lets this key make links. */
static void make_link(struct client *client, const char *session, struct forward *forward)
{
	cleanup_buf struct buf body = BUF_INIT(256);
	struct json_value *answer = NULL;
	char path[96];
	struct err ignored;

	if (forward->no_link || client_url(client) == NULL)
		return;
	(void)snprintf(path, sizeof(path), "sessions/%s/links", session);
	if (buf_addf(&body, &ignored, "{\"port\":%u,\"expires_in_s\":86400}", forward->port) < 0 ||
	    client_call(client, "POST", path, &body, &answer, &ignored) < 0)
		return;
	(void)snprintf(forward->link, sizeof(forward->link), "%s/%.40s", path,
		       json_get_str(answer, "id"));
	(void)printf("reckon: in a browser: %s%s\n", client_url(client),
		     json_get_str(answer, "url"));
	json_read_free(answer);
}

static void note_if_closed(struct client *client, const char *session,
			   const struct forward *forward)
{
	const struct json_value *ports;
	struct json_value *answer = NULL;
	char path[96];
	struct err ignored;
	int64_t port = 0;

	(void)snprintf(path, sizeof(path), "sessions/%s/ports", session);
	if (client_call(client, "GET", path, NULL, &answer, &ignored) < 0)
		return;
	ports = json_read_member(answer, "ports");
	for (size_t i = 0; i < json_read_count(ports) && port != forward->port; i++)
		(void)json_read_int(json_read_member(json_read_at(ports, i), "port"), &port);
	if (port != forward->port)
		(void)fprintf(stderr, "reckon: nothing in the session listens on port %u yet\n",
			      forward->port);
	json_read_free(answer);
}

static int run(const struct opt_command *self, struct client *client, struct forward *forward,
	       struct err *err)
{
	struct json_value *session = NULL;
	struct json_value *answer = NULL;
	struct err ignored;
	char id[40];

	if (remote_chosen(client, &forward->remote, true, &session, err) < 0)
		return (int)err->code;
	(void)snprintf(id, sizeof(id), "%.32s", json_get_str(session, "id"));
	json_read_free(session);
	(void)snprintf(forward->path, sizeof(forward->path), "sessions/%s/ports/%u", id,
		       forward->port);
	if (listen_on(forward, err) < 0 || watch_signals(forward, err) < 0)
		return (int)err->code;
	note_if_closed(client, id, forward);
	(void)printf("reckon: 127.0.0.1:%u is port %u of session %s; Ctrl-C ends it\n",
		     forward->local, forward->port, id);
	make_link(client, id, forward);
	(void)fflush(stdout);
	serve_all(self, client, forward);
	if (forward->link[0] != '\0' &&
	    client_call(client, "DELETE", forward->link, NULL, &answer, &ignored) == 0)
		json_read_free(answer);
	return 0;
}

int remote_forward(const struct opt_command *self, int argc, char **argv)
{
	struct forward forward = { .listen_fd = -1, .signal_fd = -1 };
	struct client *client = NULL;
	struct err err;
	int status = remote_parse(self, argc, argv, take, &forward);

	if (status >= 0)
		return status;
	if (forward.port == 0) {
		(void)err_set(&err, ERR_INVALID, "missing argument PORT");
		return cli_complain_of(self, &err);
	}
	status = EXIT_CODE_OK;
	if (remote_open(&forward.remote, &client, &err) < 0 ||
	    run(self, client, &forward, &err) < 0)
		status = cli_complain_of(self, &err);
	cleanup_fd_fn(&forward.listen_fd);
	cleanup_fd_fn(&forward.signal_fd);
	client_close(client);
	return status;
}
