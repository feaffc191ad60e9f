/*
 * main.c - reckon-tool: calls a tool of the client from a program in a box.
 *
 * Runs in:  a box, started by code.
 * Reads:    its arguments; the answer of the host, as JSON.
 * Never:    decides which tools may be called; the host does.
 *
 * A call is one packet on a socket that the process inherits from the kernel
 * (docs/internals/questions.md), and passes a socket for the answer.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "codec/json_read.h"
#include "codec/json_write.h"
#include "wire/tools.h"

#define ANSWER_MAX ((size_t)32 * 1024 * 1024) /* the longest text, with each byte escaped */

enum { EXIT_ERROR = 1, EXIT_USAGE = 2, EXIT_DENIED = 3 };

struct request {
	const char *name;
	const char *arguments; /* JSON; "-": read it from standard input */
	bool raw;	       /* print a text unquoted instead of as JSON */
};

static int usage(FILE *to, int status)
{
	(void)fprintf(
		to,
		"usage: reckon-tool [-r] NAME ['{\"argument\": …}' | -]\n"
		"Calls a tool of the client and prints its value as JSON (-r: a text as it is).\n"
		"-: the arguments are on standard input. Status: 1 it failed, 3 it was denied.\n");
	return status;
}

static int fail(const char *why)
{
	(void)fprintf(stderr, "reckon-tool: %s\n", why);
	return EXIT_ERROR;
}

static int write_call(const struct request *request, struct buf *ret, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(TOOLS_CALL_MAX);
	cleanup_buf struct buf arguments = BUF_INIT(TOOLS_CALL_MAX);
	struct json_writer json;
	enum json_kind kind;

	if (strcmp(request->arguments, "-") == 0 ? fd_read_all(STDIN_FILENO, &text, err) < 0
						 : buf_adds(&text, request->arguments, err) < 0)
		return (int)err->code;
	if (json_read_compact(buf_text(&text), text.len, TOOLS_CALL_MAX, &arguments, &kind, err) <
	    0)
		return err_wrap(err, "arguments");
	if (kind != JSON_KIND_OBJECT)
		return err_set(err, ERR_INVALID,
			       "arguments must be an object: '{\"name\": value}'");
	json_write_init(&json, ret);
	json_write_object_begin(&json);
	json_write_member_string(&json, "name", request->name);
	json_write_key(&json, "arguments");
	json_write_raw(&json, buf_text(&arguments), arguments.len);
	json_write_object_end(&json);
	return json_write_finish(&json, err);
}

/* The inherited socket for tool calls, or -1. */
static int find_socket(void)
{
	const char *named = getenv(TOOLS_FD_VARIABLE);
	const int fd = named != NULL ? (int)strtol(named, NULL, 10) : TOOLS_FD;
	int type = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_SEQPACKET)
		return -1;
	return fd;
}

/* Waits for the answer. NULL, or the reason why there is none. */
static const char *ask(int sock, const struct buf *call, struct buf *answer, struct err *err)
{
	cleanup_fd int ours = -1, theirs = -1, file = -1;
	size_t count = 0;
	int ends[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return "no socket for an answer";
	ours = ends[0];
	theirs = ends[1];
	if (fd_send_msg(sock, call->data, call->len, &theirs, 1, err) < 0)
		return "this cell may call no more tools";
	(void)close(TAKE_FD(theirs));
	if (fd_recv_msg(ours, &byte, 1, &file, 1, &count, err) <= 0 || count != 1)
		return "this cell has no tools, or it ended before an answer came";
	if (lseek(file, 0, SEEK_SET) < 0 || fd_read_all(file, answer, err) < 0)
		return "the answer cannot be read";
	return NULL;
}

/* Prints everything with one write, because other programs of the cell print as well. */
static int print(struct buf *text)
{
	struct err err;

	if (buf_addc(text, '\n', &err) < 0 ||
	    fd_write_full(STDOUT_FILENO, text->data, text->len, &err) < 0)
		return fail(err.text);
	return EXIT_SUCCESS;
}

static int show(const struct json_value *answer, bool raw)
{
	cleanup_buf struct buf shown = BUF_INIT(ANSWER_MAX);
	const char *denied = json_read_text(json_read_member(answer, "denied"), NULL);
	const char *error = json_read_text(json_read_member(answer, "error"), NULL);
	const struct json_value *value = json_read_member(answer, "value");
	const char *text;
	size_t len = 0;
	struct err err;

	if (denied != NULL) {
		(void)fail(denied);
		return EXIT_DENIED;
	}
	if (error != NULL)
		return fail(error);
	text = raw ? json_read_text(value, &len) : NULL;
	if (text != NULL ? buf_add(&shown, text, len, &err) < 0
			 : json_read_dump(value, &shown, &err) < 0)
		return fail(err.text);
	return print(&shown);
}

static int call(const struct request *request)
{
	cleanup_buf struct buf packet = BUF_INIT(TOOLS_CALL_MAX * 2), answer = BUF_INIT(ANSWER_MAX);
	struct json_value *document;
	const int sock = find_socket();
	const char *why;
	struct err err;
	int status;

	if (write_call(request, &packet, &err) < 0) {
		(void)fail(err.text);
		return EXIT_USAGE;
	}
	if (packet.len > TOOLS_CALL_MAX)
		return fail("arguments have at most 128 KiB: pass the name of a file");
	if (sock < 0)
		return fail("there are no tools here: the descriptor that leads to them was not "
			    "handed down");
	why = ask(sock, &packet, &answer, &err);
	if (why != NULL)
		return fail(why);
	if (json_read_parse(buf_text(&answer), answer.len, ANSWER_MAX, &document, &err) < 0)
		return fail(err.text);
	status = show(document, request->raw);
	json_read_free(document);
	return status;
}

int main(int argc, char **argv)
{
	struct request request = { .arguments = "{}" };
	int opt;

	(void)signal(SIGPIPE, SIG_IGN); /* a closed socket is an error of write() */
	while ((opt = getopt(argc, argv, "rh")) != -1) {
		if (opt != 'r')
			return usage(opt == 'h' ? stdout : stderr, opt == 'h' ? 0 : EXIT_USAGE);
		request.raw = true;
	}
	if (optind >= argc || argc - optind > 2)
		return usage(stderr, EXIT_USAGE);
	request.name = argv[optind];
	if (optind + 1 < argc)
		request.arguments = argv[optind + 1];
	return call(&request);
}
