/*
 * local.c - runs a local model: llama.cpp's server, for as long as the command runs.
 *
 * Runs in:  reckon ask.
 * Reads:    one line of the server: its address.
 * Never:    lets the server outlive us, or another user of this host use it: its key is random.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/mem.h"
#include "cli/ask/ask.h"
#include "cli/cli.h"
#include "cli/session/interrupt.h"

#define START_NS (UINT64_C(180) * 1000000000)
#define POLL_MS 100
#define ADDRESS_MAX 128

static int spawn(struct ask *ask, int *ret_in, int *ret_out, struct err *err)
{
	char path[PATH_MAX], context[32];
	int in[2], out[2];
	sigset_t all, before;

	if (cli_libexec_path("reckon-model", path, err) < 0)
		return (int)err->code;
	(void)snprintf(context, sizeof(context), "%llu",
		       (unsigned long long)ask->settings.context_tokens);
	if (pipe2(in, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		(void)close(in[0]);
		(void)close(in[1]);
		return err_sys(err, "pipe");
	}
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	ask->local_pid = fork();
	if (ask->local_pid == 0) {
		/* We handle Ctrl-C; the server ends when the pipe is closed. */
		(void)signal(SIGINT, SIG_IGN);
		(void)signal(SIGPIPE, SIG_DFL);
		(void)sigprocmask(SIG_SETMASK, &before, NULL);
		if (dup2(in[0], STDIN_FILENO) >= 0 && dup2(out[1], STDOUT_FILENO) >= 0)
			(void)execl(path, "reckon-model", "serve", ask->model, context, NULL);
		_exit(EXIT_CODE_RECKON);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	(void)close(in[0]);
	(void)close(out[1]);
	*ret_in = in[1];
	*ret_out = out[0];
	return ask->local_pid < 0 ? err_sys(err, "fork") : 0;
}

/* Reads one line, without its newline. */
static int read_address(int fd, char ret[ADDRESS_MAX], struct err *err)
{
	const uint64_t deadline = clock_mono_ns() + START_NS;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t len = 0;

	while (clock_mono_ns() < deadline && interrupt_count() == 0) {
		ssize_t n;

		if (poll(&ready, 1, POLL_MS) <= 0)
			continue;
		n = read(fd, ret + len, ADDRESS_MAX - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, ERR_UNAVAILABLE, "the local model did not start");
		len += (size_t)n;
		ret[len] = '\0';
		if (strchr(ret, '\n') != NULL) {
			*strchr(ret, '\n') = '\0';
			return 0;
		}
		if (len == ADDRESS_MAX - 1)
			return err_set(err, ERR_PROTOCOL, "the local model's address is too long");
	}
	return err_set(err, ERR_TIMEOUT, "the local model did not start in time");
}

int ask_local_start(struct ask *ask, struct err *err)
{
	char address[ADDRESS_MAX], url[ADDRESS_MAX + 8], key[ID_SIZE];
	cleanup_fd int in = -1, out = -1;

	if (!ask->is_local)
		return 0;
	if (id_new(key, "lk", err) < 0 || spawn(ask, &in, &out, err) < 0)
		return (int)err->code;
	/* A server that already ended has printed the reason on stderr. */
	if (dprintf(in, "%s\n", key) < 0)
		return err_set(err, ERR_UNAVAILABLE, "the local model did not start");
	if (read_address(out, address, err) < 0)
		return (int)err->code;
	if (strncmp(address, "http://127.0.0.1:", 17) != 0)
		return err_set(err, ERR_PROTOCOL, "the local model listens elsewhere");
	(void)snprintf(url, sizeof(url), "%s%s", address,
		       ask->settings.protocol == AGENT_PROTOCOL_MESSAGES ? "" : "/v1");
	free(ask->base_url);
	free(ask->key);
	ask->base_url = mem_strdup(url);
	ask->key = mem_strdup(key);
	ask->local_in = TAKE_FD(in);
	return 0;
}

void ask_local_end(struct ask *ask)
{
	if (ask->local_in >= 0)
		(void)close(ask->local_in);
	ask->local_in = -1;
	if (ask->local_pid > 0) {
		(void)kill(ask->local_pid, SIGKILL);
		while (waitpid(ask->local_pid, NULL, 0) < 0 && errno == EINTR)
			continue;
	}
	ask->local_pid = 0;
}
