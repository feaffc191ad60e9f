/*
 * fake_warden.c - a warden without walls, for tests of libreckon.
 *
 * Runs in:  a fork of a test program.
 * Reads:    requests of the libreckon under test.
 * Never:    needs privileges.
 */
#include "support/fake_warden.h"

#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file/fd.h"

#define SESSIONS_MAX 16

struct fake_session {
	pid_t pid;
	int pidfd;
	char dir[64];
	struct warden_limits limits;
};

struct warden {
	int sock;
	const struct fake_config *config;
	struct fake_session session[SESSIONS_MAX];
	uint32_t count;
	uint64_t cpu_ns;
};

static void fail(const char *what)
{
	perror(what);
	_exit(95);
}

static void reply_with(struct warden *warden, const struct warden_request *request,
		       struct warden_reply *reply, const int *fds, size_t nfds)
{
	struct err err;

	reply->magic = WARDEN_MAGIC;
	reply->version = warden->config->version != 0 ? warden->config->version : WARDEN_VERSION;
	if (request != NULL) {
		reply->type = request->type;
		reply->seq = request->seq;
		reply->session = request->session;
	}
	if (warden->config->reply_len > 0) {
		char other[8192] = "";

		memcpy(other, reply, 8);
		(void)fd_send_msg(warden->sock, other, warden->config->reply_len, NULL, 0, &err);
		return;
	}
	/* Ignores errors, because the client may have disconnected. */
	(void)fd_send_msg(warden->sock, reply, sizeof(*reply), fds, nfds, &err);
}

static void copy_tree(const char *from, const char *to)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "cp -a %s/. %s/", from, to);
	if (system(command) != 0)
		fail("cp");
}

static int start_kernel(struct warden *warden, struct fake_session *session, bool is_branch)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		fail("socketpair");
	session->pid = fork();
	if (session->pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (chdir(session->dir) < 0 || dup2(pair[1], 3) < 0 ||
		    close_range(4, ~0u, 0) < 0)
			fail("kernel");
		fake_kernel_main(3, warden->config, is_branch);
	}
	(void)close(pair[1]);
	session->pidfd = (int)syscall(SYS_pidfd_open, session->pid, 0);
	return pair[0];
}

static void open_session(struct warden *warden, const struct warden_request *request,
			 const char *copy_of, struct warden_reply *reply, int fds[2])
{
	const uint32_t number = ++warden->count;
	struct fake_session *session = &warden->session[number - 1];

	(void)strcpy(session->dir, "/tmp/reckon-fake-XXXXXX");
	if (mkdtemp(session->dir) == NULL || chmod(session->dir, 0755) < 0)
		fail("open");
	if (copy_of != NULL)
		copy_tree(copy_of, session->dir);
	session->limits = request->open.limits;
	fds[0] = start_kernel(warden, session, copy_of != NULL);
	fds[1] = open(session->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	reply->opened.session = number;
	reply->opened.host_uid = geteuid();
	reply->opened.host_gid = getegid();
	reply->opened.kernel_pid = session->pid;
	reply->opened.limits = session->limits;
}

static void end_kernel(struct fake_session *session)
{
	if (session->pidfd < 0)
		return;
	(void)kill(session->pid, SIGKILL);
	(void)waitpid(session->pid, NULL, 0);
	(void)close(session->pidfd);
	session->pidfd = -1;
}

static void note_death(struct warden *warden, uint32_t index)
{
	struct fake_session *session = &warden->session[index];
	struct warden_reply event;
	int status;

	memset(&event, 0, sizeof(event));
	if (waitpid(session->pid, &status, 0) < 0)
		fail("waitpid");
	(void)close(session->pidfd);
	session->pidfd = -1;
	event.type = WARDEN_EVENT_ENDED;
	event.session = index + 1;
	event.ended.usage = warden->config->usage;
	event.ended.cause = WIFEXITED(status) ? WARDEN_END_EXIT : WARDEN_END_SIGNAL;
	event.ended.detail = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	if (warden->config->ends_are_oom)
		event.ended.cause = WARDEN_END_OOM;
	reply_with(warden, NULL, &event, NULL, 0);
}

/* Handles a request. False: the warden must end. */
static bool answer(struct warden *warden, const struct warden_request *request)
{
	struct fake_session *session =
		request->session > 0 ? &warden->session[request->session - 1] : NULL;
	struct warden_reply reply;
	int fds[2];
	size_t nfds = 0;

	memset(&reply, 0, sizeof(reply));
	switch ((enum warden_type)request->type) {
	case WARDEN_OPEN:
	case WARDEN_BRANCH:
		open_session(warden, request, session != NULL ? session->dir : NULL, &reply, fds);
		nfds = 2;
		break;
	case WARDEN_BEGIN:
		return !warden->config->dies_at_begin; /* has no reply */
	case WARDEN_USAGE:
		warden->cpu_ns += warden->config->cpu_ns_per_usage;
		reply.usage = warden->config->usage;
		reply.usage.cpu_user_ns += warden->cpu_ns;
		break;
	case WARDEN_INTERRUPT:
		if (session->pidfd >= 0)
			(void)kill(session->pid, SIGINT);
		break;
	case WARDEN_CLOSE:
	case WARDEN_END:
		end_kernel(session);
		break;
	case WARDEN_RESTART:
		end_kernel(session);
		if (warden->config->restarts_fail) {
			(void)err_set(&reply.err, ERR_LOST, "the session's box is gone");
			break;
		}
		fds[0] = start_kernel(warden, session, false);
		nfds = 1;
		reply.opened.kernel_pid = session->pid;
		break;
	case WARDEN_CONTEXT:
	case WARDEN_DOOR:
	case WARDEN_START:
	case WARDEN_SIGNAL:
	case WARDEN_STATUS:
	case WARDEN_RELEASE:
	case WARDEN_LIST:
	case WARDEN_PORT:
	case WARDEN_PORTS:
	case WARDEN_FREEZE:
	case WARDEN_THAW:
		(void)err_set(&reply.err, ERR_UNAVAILABLE, "this warden has no contexts");
		break;
	case WARDEN_ADOPT:
		(void)err_set(&reply.err, ERR_NOT_FOUND, "no session waits for this lease");
		break;
	case WARDEN_PROBE:
		reply.walls.count = 1;
		(void)strcpy(reply.walls.wall[0].name, "seccomp");
		(void)strcpy(reply.walls.wall[0].state, "off");
		(void)strcpy(reply.walls.wall[0].detail, "this is a \"fake\"");
		break;
	case WARDEN_GROUP:
	case WARDEN_LEASE:
	case WARDEN_BUSY:
	case WARDEN_HELLO:
	case WARDEN_EVENT_ENDED:
	case WARDEN_EVENT_REFUSED:
		break;
	}
	reply_with(warden, request, &reply, fds, nfds);
	for (size_t i = 0; i < nfds; i++)
		(void)close(fds[i]);
	return true;
}

static int remove_entry(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)flag;
	(void)ftw;
	return remove(path);
}

static void serve(struct warden *warden)
{
	for (;;) {
		struct pollfd wait[SESSIONS_MAX + 1] = { { .fd = warden->sock, .events = POLLIN } };
		struct warden_request request;
		int fds[WARDEN_MOUNTS_MAX];
		struct err err;
		size_t nfds;

		for (uint32_t i = 0; i < warden->count; i++)
			wait[i + 1] = (struct pollfd){ .fd = warden->session[i].pidfd,
						       .events = POLLIN };
		(void)poll(wait, warden->count + 1, -1);
		for (uint32_t i = 0; i < warden->count; i++)
			if (wait[i + 1].revents != 0)
				note_death(warden, i);
		if (wait[0].revents == 0)
			continue;
		if (fd_recv_msg(warden->sock, &request, sizeof(request), fds, WARDEN_MOUNTS_MAX,
				&nfds, &err) <= 0)
			return;
		for (size_t i = 0; i < nfds; i++)
			(void)close(fds[i]);
		if (!answer(warden, &request))
			return;
	}
}

void fake_warden_start(struct fake_warden *fake, const struct fake_config *config)
{
	struct warden warden = { .config = config };
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		fail("socketpair");
	fake->client_fd = pair[0];
	fake->pid = fork();
	if (fake->pid != 0) {
		(void)close(pair[1]);
		return;
	}
	(void)close(pair[0]);
	(void)signal(SIGINT, SIG_IGN);
	warden.sock = pair[1];
	serve(&warden);
	for (uint32_t i = 0; i < warden.count; i++) {
		end_kernel(&warden.session[i]);
		(void)nftw(warden.session[i].dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	}
	_exit(0);
}

void fake_warden_stop(struct fake_warden *fake)
{
	(void)waitpid(fake->pid, NULL, 0);
}
