/*
 * bare.c - the lower bound for a server that runs code, only for http_bench.py.
 *
 * Runs in:  a process of the benchmark, on loopback, with one connection.
 * Reads:    its client's requests, which it assumes to be well-formed and short.
 * Never:    runs outside of the benchmark: it has no sandbox, no checks and no records.
 *
 * It answers a request without a body at once. Otherwise a Python process, which reads a pipe, runs
 * the code in `"code": "…"`, and its output is the response. With a path as argument bare.c first
 * writes the response to that file and syncs it, as a server that stores results has to.
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOG_BYTES (1 << 20) /* overwritten, never extended */
#define REQUEST_BYTES 16384
#define ANSWER_BYTES 4096

static const char python[] = "import os\n"
			     "names = {}\n"
			     "while code := os.read(0, 65536):\n"
			     "    exec(compile(code, '<cell>', 'exec'), names)\n"
			     "    os.write(1, b'{\"status\":\"ok\"}')\n";

struct bare {
	int to, from;	 /* the Python */
	int client;
	int log;	 /* -1: responses are not written */
	off_t log_end;
};

static void start_python(struct bare *bare)
{
	int in[2], out[2];
	pid_t pid;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		err(1, "pipe");
	pid = fork();
	if (pid < 0)
		err(1, "fork");
	if (pid == 0) {
		if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0)
			_exit(127);
		(void)execlp("python3", "python3", "-c", python, (char *)NULL);
		_exit(127);
	}
	bare->to = in[1];
	bare->from = out[0];
	(void)close(in[0]);
	(void)close(out[1]);
}

static int open_log(const char *path)
{
	static const char zeros[ANSWER_BYTES];
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (off_t at = 0; fd >= 0 && at < LOG_BYTES; at += ANSWER_BYTES)
		if (pwrite(fd, zeros, sizeof(zeros), at) != (ssize_t)sizeof(zeros))
			err(1, "%s", path);
	if (fd < 0 || fsync(fd) < 0)
		err(1, "%s", path);
	return fd;
}

/* Prints the port and waits for the one client. */
static int take_client(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	const int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int client;

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		err(1, "listen");
	(void)printf("%d\n", ntohs(address.sin_port));
	(void)fflush(stdout);
	client = accept(fd, NULL, NULL);
	if (client < 0 ||
	    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
		err(1, "accept");
	(void)close(fd);
	return client;
}

/* Reads a request and adds a NUL; *ret_body points into it. False: the client has disconnected. */
static bool take_request(int client, char request[REQUEST_BYTES], const char **ret_body)
{
	size_t have = 0;

	for (;;) {
		const ssize_t got = read(client, request + have, REQUEST_BYTES - 1 - have);
		const char *end, *length;
		size_t wanted = 0;

		if (got <= 0)
			return false;
		have += (size_t)got;
		request[have] = '\0';
		end = strstr(request, "\r\n\r\n");
		length = strstr(request, "Content-Length: ");
		if (end == NULL)
			continue;
		if (length != NULL)
			wanted = strtoul(length + strlen("Content-Length: "), NULL, 10);
		*ret_body = end + 4;
		if (have >= (size_t)(*ret_body - request) + wanted)
			return true;
	}
}

static size_t run(struct bare *bare, const char *body, char answer[ANSWER_BYTES])
{
	const char *code = strstr(body, "\"code\": \""), *end;
	ssize_t len;

	if (code == NULL)
		return 0;
	code += strlen("\"code\": \"");
	end = strchr(code, '"');
	if (end == NULL || write(bare->to, code, (size_t)(end - code)) < 0)
		return 0;
	len = read(bare->from, answer, ANSWER_BYTES);
	if (len <= 0)
		errx(1, "the Python is gone");
	if (bare->log < 0)
		return (size_t)len;
	if (pwrite(bare->log, answer, (size_t)len, bare->log_end) != len ||
	    fdatasync(bare->log) < 0)
		err(1, "the log");
	bare->log_end = (bare->log_end + ANSWER_BYTES) % LOG_BYTES;
	return (size_t)len;
}

int main(int argc, char **argv)
{
	char request[REQUEST_BYTES], answer[ANSWER_BYTES], reply[ANSWER_BYTES + 256];
	struct bare bare = { .log = argc > 1 ? open_log(argv[1]) : -1 };
	const char *body;

	start_python(&bare);
	bare.client = take_client();
	while (take_request(bare.client, request, &body)) {
		const size_t len = run(&bare, body, answer);
		const int size = snprintf(reply, sizeof(reply),
					  "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
					  "Content-Length: %zu\r\n\r\n%.*s", len, (int)len, answer);

		if (write(bare.client, reply, (size_t)size) != size)
			break;
	}
	return 0;
}
