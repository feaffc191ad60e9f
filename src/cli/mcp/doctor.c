/*
 * doctor.c - reckon mcp doctor: starts the server like a client and calls every tool.
 *
 * Runs in:  reckon-client.
 * Reads:    answers of a `reckon mcp`.
 * Never:    leaves a session behind: it ends with the server.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/child.h"
#include "base/cleanup.h"
#include "base/file/fd.h"
#include "cli/cli.h"
#include "cli/mcp/mcp.h"

#define ANSWER_MAX ((size_t)8 * 1024 * 1024)
#define WAIT_MS 60000
#define CHUNK 65536

static const struct check {
	const char *what, *message, *want;
} checks[] = {
	{ "initialize", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
			"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{"
			"\"name\":\"reckon-mcp-doctor\",\"version\":\"1\"}}}",
	  "\"serverInfo\"" },
	{ "tools/list", "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}", "\"run_code\"" },
	{ "run_code", "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{"
		      "\"name\":\"run_code\",\"arguments\":{\"max_text\":1024,"
		      "\"code\":\"for i in range(2000): print(i)\"}}}",
	  "out_" },
	{ "files", "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{"
		   "\"name\":\"files\",\"arguments\":{\"action\":\"write\",\"path\":\"doctor.txt\","
		   "\"text\":\"hello\"}}}",
	  "wrote 5 bytes" },
	{ "output", "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{"
		    "\"name\":\"output\",\"arguments\":{\"handle\":\"%s\","
		    "\"length\":1024}}}",
	  "0\\n1\\n2\\n3" },
	{ "session", "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"tools/call\",\"params\":{"
		     "\"name\":\"session\",\"arguments\":{\"action\":\"list\"}}}",
	  "\"isError\":false" },
};

struct server {
	pid_t pid;
	int in, out;
	struct buf read;
	char handle[40]; /* handle of output that was truncated */
};

static void __attribute__((noreturn)) become_server(int in, int out)
{
	char program[] = "mcp";
	char *argv[] = { program, NULL };

	child_reset_signals(0);
	if (dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	(void)execv("/proc/self/exe", argv);
	_exit(127);
}

static int start(const struct mcp_options *options, struct server *ret, struct err *err)
{
	int in[2], out[2];

	if (options->remote.where.url != NULL &&
	    setenv("RECKON_URL", options->remote.where.url, 1) < 0)
		return err_sys(err, "setenv");
	if (pipe2(in, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	if (pipe2(out, O_CLOEXEC) < 0) {
		(void)close(in[0]);
		(void)close(in[1]);
		return err_sys(err, "pipe");
	}
	(void)fflush(stdout);
	ret->pid = fork();
	if (ret->pid == 0)
		become_server(in[0], out[1]);
	(void)close(in[0]);
	(void)close(out[1]);
	ret->in = in[1];
	ret->out = out[0];
	return ret->pid < 0 ? err_sys(err, "fork") : 0;
}

/* Reads until a line is complete: the first *ret_len bytes of `read`. */
static int next_line(struct server *server, size_t *ret_len, struct err *err)
{
	for (;;) {
		struct pollfd ready = { .fd = server->out, .events = POLLIN };
		const char *end = server->read.len > 0
					  ? memchr(server->read.data, '\n', server->read.len)
					  : NULL;
		char *space;
		ssize_t n;

		if (end != NULL) {
			*ret_len = (size_t)(end - server->read.data);
			return 0;
		}
		if (buf_reserve(&server->read, CHUNK, &space, err) < 0)
			return (int)err->code;
		if (poll(&ready, 1, WAIT_MS) == 0)
			return err_set(err, ERR_TIMEOUT, "no answer within %d s", WAIT_MS / 1000);
		n = read(server->out, space, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(err, ERR_PROTOCOL, "the server ended");
		server->read.len += (size_t)n;
		server->read.data[server->read.len] = '\0';
	}
}

static int run_check(struct server *server, const struct check *check, struct err *err)
{
	cleanup_buf struct buf line = BUF_INIT(4096);
	const char *place = strstr(check->message, "%s"), *handle;
	const size_t before =
		place != NULL ? (size_t)(place - check->message) : strlen(check->message);
	size_t len;
	int code;

	if (buf_add(&line, check->message, before, err) < 0 ||
	    (place != NULL && buf_addf(&line, err, "%s%s", server->handle, place + 2) < 0) ||
	    buf_addc(&line, '\n', err) < 0 ||
	    fd_write_full(server->in, buf_text(&line), line.len, err) < 0 ||
	    next_line(server, &len, err) < 0)
		return (int)err->code;
	server->read.data[len] = '\0';
	handle = strstr(server->read.data, "out_");
	if (handle != NULL && strcmp(check->want, "out_") == 0)
		(void)snprintf(server->handle, sizeof(server->handle), "%.*s",
			       (int)(4 + strcspn(handle + 4, "\"\\ ,;:]).")), handle);
	code = strstr(server->read.data, check->want) != NULL
		       ? 0
		       : err_set(err, ERR_PROTOCOL, "the answer was %.300s", server->read.data);
	buf_consume(&server->read, len + 1);
	return code;
}

int mcp_doctor(const struct opt_command *self, const struct mcp_options *options)
{
	struct server server = { .pid = -1, .in = -1, .out = -1, .read = BUF_INIT(ANSWER_MAX) };
	struct err err;
	int status = EXIT_CODE_OK;

	if (start(options, &server, &err) < 0)
		return cli_complain_of(self, &err);
	for (size_t i = 0; i < ARRAY_LEN(checks) && status == EXIT_CODE_OK; i++) {
		if (run_check(&server, &checks[i], &err) < 0) {
			(void)printf("%-12s failed\n", checks[i].what);
			status = cli_complain_of(self, &err);
		} else {
			(void)printf("%-12s ok\n", checks[i].what);
		}
		(void)fflush(stdout);
	}
	(void)close(server.in);
	(void)close(server.out);
	while (waitpid(server.pid, NULL, 0) < 0 && errno == EINTR)
		;
	buf_done(&server.read);
	return status;
}
