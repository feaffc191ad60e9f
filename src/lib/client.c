/*
 * client.c - one connection to reckon-warden.
 *
 * Runs in:  libreckon.
 * Reads:    fixed-size replies of the warden, which is trusted but may be of another version.
 * Never:    waits without a limit.
 */
#include "lib/client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file/fd.h"
#include "base/mem.h"

#define SEND_TIMEOUT_MS 10000
#define HELLO_TIMEOUT_MS 10000
#define EXIT_TIMEOUT_MS 5000
/* This many answers fit into the socket's buffer even if the program does not read for a long
 * time. */
#define UNANSWERED_MAX 8
/* One iteration of a caller's loop must end even if the warden sends without a pause. */
#define DISPATCH_MAX 64

struct client {
	int sock;
	pid_t pid;
	unsigned refs;
	uint32_t next_seq;
	unsigned unanswered; /* requests without an answer yet, including those that no caller waits
			      * for (BEGIN, CLOSE) */
	bool greeted; /* HELLO was answered: from now on a lost connection loses sessions */
	bool dead;
	struct err why;
	struct client_call *calls;
	client_ended_fn *on_ended;
	void *arg;
};

int client_new(int sock, pid_t pid, client_ended_fn *on_ended, void *arg, struct client **ret,
	       struct err *err)
{
	struct client *client = mem_new0(1, sizeof(*client));

	client->sock = sock;
	client->pid = pid;
	client->refs = 1;
	client->next_seq = 1;
	client->on_ended = on_ended;
	client->arg = arg;
	if (fd_set_nonblock(sock, true, err) < 0) {
		client_unref(client);
		return (int)err->code;
	}
	*ret = client;
	return 0;
}

int client_new_greeted(int sock, client_ended_fn *on_ended, void *arg, struct client **ret,
		       struct err *err)
{
	if (client_new(sock, -1, on_ended, arg, ret, err) < 0)
		return (int)err->code;
	(*ret)->greeted = true;
	return 0;
}

struct client *client_ref(struct client *client)
{
	client->refs++;
	return client;
}

/* A private warden exits when its only connection closes; this makes sure. */
static void reap(pid_t pid)
{
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd wait = { .fd = pidfd, .events = POLLIN };

	if (pidfd >= 0) {
		const uint64_t end = clock_mono_ns() + EXIT_TIMEOUT_MS * 1000000ull;
		int n;

		do
			n = poll(&wait, 1, EXIT_TIMEOUT_MS);
		while (n < 0 && errno == EINTR && clock_mono_ns() < end);
		if (n <= 0)
			(void)kill(pid, SIGKILL);
		(void)close(pidfd);
	}
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

void client_unref(struct client *client)
{
	if (client == NULL || --client->refs > 0)
		return;
	(void)close(client->sock);
	if (client->pid > 0)
		reap(client->pid);
	free(client);
}

void client_silence(struct client *client)
{
	client->on_ended = NULL;
}

int client_sock(const struct client *client)
{
	return client->sock;
}

bool client_is_dead(const struct client *client, struct err *ret)
{
	if (client->dead && ret != NULL)
		*ret = client->why;
	return client->dead;
}

static void client_die(struct client *client, const struct err *why)
{
	if (client->dead)
		return;
	client->dead = true;
	if (why != NULL && !client->greeted)
		client->why = *why;
	else if (!client->greeted)
		(void)err_set(&client->why, ERR_LOST, "the warden ended before it said hello");
	else if (why != NULL)
		(void)err_set(&client->why, ERR_LOST,
			      "the warden's connection broke (%.200s); the session and its "
			      "variables are gone",
			      why->text);
	else
		(void)err_set(&client->why, ERR_LOST,
			      "the warden ended, or this connection to it; the session and its "
			      "variables are gone");
	if (client->greeted)
		(void)err_remedy(&client->why,
				 "open a new session; the warden's log says why it ended");
	for (struct client_call *call = client->calls; call != NULL; call = call->next)
		if (!call->done) {
			call->done = true;
			call->reply.err = client->why;
		}
}

static int wait_for(struct client *client, short events, int timeout_ms)
{
	struct pollfd wait = { .fd = client->sock, .events = events };
	const uint64_t end = clock_mono_ns() + (uint64_t)timeout_ms * 1000000u;

	for (;;) {
		const uint64_t now = clock_mono_ns();
		int n;

		n = poll(&wait, 1, now < end ? (int)((end - now + 999999u) / 1000000u) : 0);
		if (n >= 0 || errno != EINTR)
			return n;
	}
}

/* Messages of another version have another length: report that instead of "broken". */
static int check_reply(const struct warden_reply *reply, size_t len, struct err *err)
{
	if (len >= sizeof(struct warden_other) && reply->magic == WARDEN_MAGIC &&
	    reply->version != WARDEN_VERSION) {
		(void)err_set(err, ERR_UNAVAILABLE,
			      "reckon-warden is of another version (it speaks %u, this program %u)",
			      reply->version, WARDEN_VERSION);
		return err_remedy(err,
				  reply->version > WARDEN_VERSION
					  ? "Reckon was upgraded while this program ran: start "
					    "it again"
					  : "install the same version of reckon and libreckon");
	}
	if (len != sizeof(*reply) || reply->magic != WARDEN_MAGIC)
		return err_set(err, ERR_PROTOCOL, "a reply of %zu bytes that is none of ours", len);
	return 0;
}

static void deliver(struct client *client, const struct warden_reply *reply, const int *fds,
		    size_t nfds)
{
	for (struct client_call *call = client->calls; call != NULL; call = call->next) {
		if (call->seq != reply->seq || call->done)
			continue;
		call->reply = *reply;
		call->done = true;
		memcpy(call->fds, fds, nfds * sizeof(*fds));
		call->nfds = nfds;
		return;
	}
	fd_close_all(fds, nfds);
}

/* Receives one message; returns 1, or 0 if there is none. */
static int receive(struct client *client)
{
	struct warden_reply reply;
	struct err err;
	int fds[2];
	size_t nfds = 0;
	ssize_t n;

	if (client->dead)
		return 0;
	memset(&reply, 0, sizeof(reply));
	n = fd_recv_msg(client->sock, &reply, sizeof(reply), fds, 2, &nfds, &err);
	if (n == ERR_TIMEOUT)
		return 0;
	/* A longer message was truncated, but its beginning has arrived. */
	if (n < 0 && err.code == ERR_PROTOCOL && reply.magic == WARDEN_MAGIC &&
	    reply.version != WARDEN_VERSION)
		n = sizeof(struct warden_other);
	if (n == 0 || (n < 0 && err.code == ERR_SYSTEM && err.errnum == ECONNRESET)) {
		client_die(client, NULL);
		return 0;
	}
	if (n > 0 && check_reply(&reply, (size_t)n, &err) < 0) {
		fd_close_all(fds, nfds);
		n = -1;
	}
	if (n < 0) {
		client_die(client, &err);
		return 0;
	}
	reply.err.text[sizeof(reply.err.text) - 1] = '\0';
	reply.err.remedy[sizeof(reply.err.remedy) - 1] = '\0';
	if (reply.type == WARDEN_EVENT_REFUSED) {
		client_die(client, &reply.err);
		return 0;
	}
	if (reply.type != WARDEN_EVENT_ENDED && client->unanswered > 0)
		client->unanswered--;
	if (reply.type != WARDEN_EVENT_ENDED)
		deliver(client, &reply, fds, nfds);
	else if (client->on_ended != NULL)
		client->on_ended(client, reply.kernel, &reply.ended, client->arg);
	return 1;
}

void client_dispatch(struct client *client)
{
	for (int i = 0; i < DISPATCH_MAX; i++)
		if (receive(client) == 0)
			return;
}

/* Keeps many requests in a row (such as CLOSE) from filling the socket with unread answers. */
static int make_room(struct client *client, struct err *err)
{
	const uint64_t end = clock_mono_ns() + SEND_TIMEOUT_MS * 1000000ull;

	for (;;) {
		const uint64_t now = clock_mono_ns();

		client_dispatch(client);
		if (client_is_dead(client, err))
			return (int)err->code;
		if (client->unanswered < UNANSWERED_MAX)
			return 0;
		if (now >= end)
			return err_set(err, ERR_TIMEOUT, "the warden does not answer");
		(void)wait_for(client, POLLIN, (int)((end - now + 999999u) / 1000000u));
	}
}

int client_send(struct client *client, struct warden_request *request, const int *fds, size_t nfds,
		struct client_call *call, struct err *err)
{
	int code;

	if (client_is_dead(client, err))
		return (int)err->code;
	if (client->unanswered >= UNANSWERED_MAX && make_room(client, err) < 0)
		return (int)err->code;
	request->magic = WARDEN_MAGIC;
	request->version = WARDEN_VERSION;
	request->seq = client->next_seq++;
	code = fd_send_msg(client->sock, request, sizeof(*request), fds, nfds, err);
	if (code == ERR_TIMEOUT && wait_for(client, POLLOUT, SEND_TIMEOUT_MS) > 0)
		code = fd_send_msg(client->sock, request, sizeof(*request), fds, nfds, err);
	if (code < 0) {
		client_die(client, err->code == ERR_SYSTEM && err->errnum == EPIPE ? NULL : err);
		(void)client_is_dead(client, err);
		return (int)err->code;
	}
	if (request->type != WARDEN_BEGIN)
		client->unanswered++;
	if (call != NULL) {
		memset(call, 0, sizeof(*call));
		call->seq = request->seq;
		call->next = client->calls;
		client->calls = call;
	}
	return 0;
}

int client_wait(struct client *client, struct client_call *call, int timeout_ms, struct err *err)
{
	const uint64_t end = clock_mono_ns() + (uint64_t)timeout_ms * 1000000u;

	while (!call->done) {
		uint64_t now;

		/* One at a time: a message after the answer may concern what the answer names. */
		if (receive(client) != 0 || call->done)
			continue;
		now = clock_mono_ns();
		if (now >= end)
			return err_set(err, ERR_TIMEOUT, "the warden did not answer within %d s",
				       timeout_ms / 1000);
		(void)wait_for(client, POLLIN, (int)((end - now + 999999u) / 1000000u));
	}
	if (call->reply.err.code != ERR_OK) {
		*err = call->reply.err;
		return (int)err->code;
	}
	return 0;
}

void client_detach(struct client *client, struct client_call *call)
{
	for (struct client_call **at = &client->calls; *at != NULL; at = &(*at)->next)
		if (*at == call) {
			*at = call->next;
			return;
		}
}

void client_forget(struct client *client, struct client_call *call)
{
	client_detach(client, call);
	for (size_t i = 0; i < call->nfds; i++)
		if (call->fds[i] >= 0)
			(void)close(call->fds[i]);
	call->nfds = 0;
}

int client_ask(struct client *client, struct warden_request *request, const int *fds, size_t nfds,
	       struct client_call *call, int timeout_ms, struct err *err)
{
	if (client_send(client, request, fds, nfds, call, err) < 0)
		return (int)err->code;
	if (client_wait(client, call, timeout_ms, err) < 0) {
		client_forget(client, call);
		return (int)err->code;
	}
	return 0;
}

int client_hello(struct client *client, bool strict, struct err *err)
{
	struct warden_request request = { .type = WARDEN_HELLO };
	struct client_call call;

	request.strict = strict;
	if (client_ask(client, &request, NULL, 0, &call, HELLO_TIMEOUT_MS, err) < 0)
		return (int)err->code;
	client_forget(client, &call);
	client->greeted = true;
	return 0;
}
