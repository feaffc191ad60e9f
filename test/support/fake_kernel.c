/*
 * fake_kernel.c - a kernel whose cells are commands of a test, see fake_warden.h.
 *
 * Runs in:  a fork of the fake warden.
 * Reads:    packets of the libreckon under test.
 * Never:    needs a box.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/file/fd.h"
#include "support/fake_warden.h"
#include "wire/kernel.h"

struct cell {
	int sock;
	uint64_t id;
	int out;
	int err;
	int in;
	bool is_done;
};

static volatile sig_atomic_t interrupted;

static void on_sigint(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void must(int code, const struct err *err)
{
	if (code < 0) {
		(void)dprintf(2, "fake kernel: %s\n", err->text);
		_exit(99);
	}
}

struct pair {
	enum kernel_tag tag;
	const char *text;
};

static void send_pairs(int sock, enum kernel_type type, uint64_t id, const struct pair *pairs,
		       size_t count)
{
	struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	struct err err;

	for (size_t i = 0; i < count; i++)
		must(kernel_pack(&payload, pairs[i].tag, pairs[i].text, strlen(pairs[i].text),
				 &err),
		     &err);
	must(kernel_send(sock, type, id, &payload, NULL, 0, &err), &err);
	buf_done(&payload);
}

#define SEND(sock, type, id, ...)                                                  \
	send_pairs(sock, type, id, (const struct pair[]){ __VA_ARGS__ },           \
		   sizeof((const struct pair[]){ __VA_ARGS__ }) / sizeof(struct pair))

static void print(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR && !interrupted)
			continue;
		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static void sync_output(struct cell *cell)
{
	struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	struct kernel_head head;
	struct err err;
	size_t nfds;

	must(kernel_send(cell->sock, KERNEL_SYNC, cell->id, NULL, NULL, 0, &err), &err);
	if (kernel_recv(cell->sock, &head, &payload, NULL, 0, &nfds, &err) != 1 ||
	    head.type != KERNEL_SYNC_ACK)
		_exit(98);
	buf_done(&payload);
}

static void done(struct cell *cell, const char *status)
{
	SEND(cell->sock, KERNEL_DONE, cell->id, { KERNEL_TAG_STATUS, status });
	cell->is_done = true;
}

static void stopped(struct cell *cell)
{
	SEND(cell->sock, KERNEL_ERROR, cell->id, { KERNEL_TAG_NAME, "KeyboardInterrupt" },
	     { KERNEL_TAG_VALUE, "" }, { KERNEL_TAG_TRACEBACK, "in cell, line 1" });
	done(cell, "interrupted");
}

static void do_flood(struct cell *cell, size_t bytes)
{
	char block[14 * 1024 + 1];

	for (size_t sent = 0, i = 0; sent < bytes && !interrupted;) {
		size_t len = sizeof(block) - 1;

		for (size_t at = 0; at < len; at += 14)
			(void)snprintf(block + at, 15, "%012zu.\n", i++);
		if (len > bytes - sent)
			len = bytes - sent;
		print(cell->out, block, len);
		sent += len;
	}
	if (interrupted)
		stopped(cell);
}

static void do_raw(struct cell *cell, const char *hex)
{
	for (; hex[0] != '\0' && hex[1] != '\0'; hex += 2) {
		const char digits[3] = { hex[0], hex[1], '\0' };
		const char byte = (char)strtoul(digits, NULL, 16);

		print(cell->out, &byte, 1);
	}
}

static void do_input(struct cell *cell)
{
	struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	struct kernel_item items[4];
	struct kernel_head head;
	struct err err;
	size_t nfds;
	int n;

	SEND(cell->sock, KERNEL_INPUT_REQUEST, cell->id, { KERNEL_TAG_PROMPT, "name? " });
	if (kernel_recv(cell->sock, &head, &payload, NULL, 0, &nfds, &err) != 1 ||
	    head.type != KERNEL_INPUT_REPLY)
		_exit(97);
	n = kernel_unpack(payload.data, payload.len, head.field_count, items, 4, &err);
	must(n, &err);
	if (n == 0)
		(void)dprintf(cell->out, "end of input\n");
	else
		(void)dprintf(cell->out, "got <%.*s>\n", (int)items[0].len, items[0].data);
	buf_done(&payload);
}

static void do_readall(struct cell *cell)
{
	char chunk[4096];
	ssize_t n;

	while ((n = read(cell->in, chunk, sizeof(chunk))) > 0)
		print(cell->out, chunk, (size_t)n);
}

static void do_file(char *args)
{
	char *text = strchr(args, ' ');
	int fd;

	*text++ = '\0';
	fd = open(args, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	print(fd, text, strlen(text));
	(void)close(fd);
}

static void do_stray(struct cell *cell, const char *text)
{
	if (fork() != 0)
		return;
	(void)close(cell->sock);
	for (int i = 0; i < 200; i++) {
		(void)usleep(10000);
		(void)dprintf(cell->out, "%s\n", text);
	}
	_exit(0);
}

static void do_display(struct cell *cell, enum kernel_type type, char *args)
{
	char *text = strchr(args, ' ');

	*text++ = '\0';
	SEND(cell->sock, type, cell->id, { KERNEL_TAG_DISPLAY_ID, args },
	     { KERNEL_TAG_MIME, "text/plain" }, { KERNEL_TAG_DATA, text });
}

/* Sends malformed packets, as a captured kernel might. */
static void do_violate(struct cell *cell, const char *what)
{
	struct kernel_head head = { .magic = KERNEL_MAGIC,
				    .type = KERNEL_RESULT,
				    .id = cell->id };
	struct err err;

	if (strcmp(what, "id") == 0) {
		SEND(cell->sock, KERNEL_DONE, cell->id + 1, { KERNEL_TAG_STATUS, "ok" });
	} else if (strcmp(what, "turn") == 0) {
		SEND(cell->sock, KERNEL_VARIABLES_REPLY, cell->id, { KERNEL_TAG_VAR_NAME, "x" });
	} else if (strcmp(what, "host") == 0) {
		SEND(cell->sock, KERNEL_EXECUTE, cell->id, { KERNEL_TAG_CODE, "1" });
	} else if (strcmp(what, "status") == 0) {
		SEND(cell->sock, KERNEL_DONE, cell->id, { KERNEL_TAG_STATUS, "splendid" });
	} else if (strcmp(what, "garbage") == 0) {
		must(fd_send_msg(cell->sock, "garbage", 7, NULL, 0, &err), &err);
	} else if (strcmp(what, "fields") == 0) {
		struct {
			struct kernel_head head;
			struct kernel_field field;
		} packet = { .head = head, .field = { KERNEL_TAG_MIME, 4096 } };

		packet.head.payload_len = sizeof(packet.field);
		packet.head.field_count = 1;
		must(fd_send_msg(cell->sock, &packet, sizeof(packet), NULL, 0, &err), &err);
	} else if (strcmp(what, "unsealed") == 0) {
		int fd = memfd_create("blob", MFD_CLOEXEC);

		head.flags = KERNEL_FLAG_BLOB;
		head.payload_len = 8;
		head.field_count = 1;
		if (write(fd, "\0\0\0\0\0\0\0\0", 8) != 8)
			_exit(96);
		must(fd_send_msg(cell->sock, &head, sizeof(head), &fd, 1, &err), &err);
	} else if (strcmp(what, "descriptor") == 0) {
		must(fd_send_msg(cell->sock, &head, sizeof(head), &cell->in, 1, &err), &err);
	} else if (strcmp(what, "sync-flood") == 0) {
		for (;;)
			if (kernel_send(cell->sock, KERNEL_SYNC, cell->id, NULL, NULL, 0, &err) < 0)
				break;
	} else if (strcmp(what, "two-dones") == 0) {
		done(cell, "ok");
		SEND(cell->sock, KERNEL_DONE, cell->id, { KERNEL_TAG_STATUS, "ok" });
	}
	if (!cell->is_done)
		for (;;)
			(void)pause();
}

static void do_wait(struct cell *cell, bool is_deaf, bool prints)
{
	while (is_deaf || !interrupted) {
		if (prints)
			print(cell->out, "spinning\n", 9);
		else
			(void)usleep(20000);
	}
	stopped(cell);
}

static void run_end(struct cell *cell, const char *verb, const char *args)
{
	if (strcmp(verb, "exit") == 0)
		_exit(atoi(args));
	if (strcmp(verb, "kill") == 0)
		(void)kill(getpid(), atoi(args));
	if (strcmp(verb, "hangup") == 0) {
		(void)close(cell->sock);
		for (;;)
			(void)pause();
	}
	if (strcmp(verb, "done") == 0)
		done(cell, args);
}

static void run_command(struct cell *cell, char *line)
{
	char *args = strchr(line, ' ');
	char none[] = "";

	if (args != NULL)
		*args++ = '\0';
	else
		args = none;
	if (strcmp(line, "out") == 0)
		(void)dprintf(cell->out, "%s\n", args);
	else if (strcmp(line, "err") == 0)
		(void)dprintf(cell->err, "%s\n", args);
	else if (strcmp(line, "raw") == 0)
		do_raw(cell, args);
	else if (strcmp(line, "flood") == 0)
		do_flood(cell, strtoull(args, NULL, 10));
	else if (strcmp(line, "sync") == 0)
		sync_output(cell);
	else if (strcmp(line, "result") == 0)
		SEND(cell->sock, KERNEL_RESULT, cell->id, { KERNEL_TAG_MIME, "text/plain" },
		     { KERNEL_TAG_DATA, args });
	else if (strcmp(line, "display") == 0)
		do_display(cell, KERNEL_DISPLAY, args);
	else if (strcmp(line, "update") == 0)
		do_display(cell, KERNEL_UPDATE_DISPLAY, args);
	else if (strcmp(line, "clear") == 0)
		must(kernel_send(cell->sock, KERNEL_CLEAR_OUTPUT, cell->id, NULL, NULL, 0,
				 &(struct err){ 0 }),
		     &(struct err){ 0 });
	else if (strcmp(line, "error") == 0)
		SEND(cell->sock, KERNEL_ERROR, cell->id, { KERNEL_TAG_NAME, args },
		     { KERNEL_TAG_VALUE, "value" }, { KERNEL_TAG_TRACEBACK, "traceback" });
	else if (strcmp(line, "input") == 0)
		do_input(cell);
	else if (strcmp(line, "readall") == 0)
		do_readall(cell);
	else if (strcmp(line, "file") == 0)
		do_file(args);
	else if (strcmp(line, "sleep") == 0)
		do_wait(cell, false, false);
	else if (strcmp(line, "spin") == 0)
		do_wait(cell, false, true);
	else if (strcmp(line, "deaf") == 0)
		do_wait(cell, true, false);
	else if (strcmp(line, "stray") == 0)
		do_stray(cell, args);
	else if (strcmp(line, "violate") == 0)
		do_violate(cell, args);
	else
		run_end(cell, line, args);
}

static void run_cell(struct cell *cell, char *code)
{
	char *rest = code, *line;

	interrupted = 0;
	while (!cell->is_done && (line = strsep(&rest, "\n")) != NULL)
		if (line[0] != '\0')
			run_command(cell, line);
	if (!cell->is_done) {
		sync_output(cell);
		done(cell, "ok");
	}
	(void)close(cell->out);
	(void)close(cell->err);
	(void)close(cell->in);
}

static void execute(int sock, const struct kernel_head *head, const struct buf *payload,
		    const int fds[3])
{
	struct cell cell = { .sock = sock, .id = head->id, .out = fds[0], .err = fds[1],
			     .in = fds[2] };
	const struct kernel_item *code;
	struct kernel_item items[8];
	struct err err;
	char *copy;
	int n = kernel_unpack(payload->data, payload->len, head->field_count, items, 8, &err);

	must(n, &err);
	code = kernel_find(items, (size_t)n, KERNEL_TAG_CODE);
	copy = strndup(code->data, code->len);
	run_cell(&cell, copy);
	free(copy);
}

static bool payload_has(const struct buf *payload, const char *text)
{
	return memmem(payload->data, payload->len, text, strlen(text)) != NULL;
}

static void complete(int sock, const struct kernel_head *head, const struct buf *payload)
{
	struct kernel_item items[8];
	struct err err;
	int n = kernel_unpack(payload->data, payload->len, head->field_count, items, 8, &err);
	const struct kernel_item *code = kernel_find(items, (size_t)n, KERNEL_TAG_CODE);

	if (code->len == 4 && memcmp(code->data, "hang", 4) == 0)
		for (;;)
			(void)pause();
	SEND(sock, KERNEL_COMPLETE_REPLY, head->id, { KERNEL_TAG_CURSOR_START, "0" },
	     { KERNEL_TAG_CURSOR_END, payload_has(payload, "beyond") ? "2000" : "2" }, { KERNEL_TAG_MATCH, "print" },
	     { KERNEL_TAG_MATCH, "pri\xffnt" });
}

/* The code is the reply; an indent that is not whitespace is a malformed reply. */
static void is_complete(int sock, const struct kernel_head *head, const struct buf *payload)
{
	struct kernel_item item;
	struct err err;
	char status[32] = "";

	if (kernel_unpack(buf_text(payload), payload->len, head->field_count, &item, 1, &err) == 1 &&
	    item.len < sizeof(status))
		memcpy(status, item.data, item.len);
	SEND(sock, KERNEL_IS_COMPLETE_REPLY, head->id, { KERNEL_TAG_STATUS, status },
	     { KERNEL_TAG_INDENT, "  \t\x1b[2J" });
}

static void answer(int sock, const struct kernel_head *head, const struct buf *payload,
		   const int fds[3])
{
	if (head->type == KERNEL_EXECUTE)
		execute(sock, head, payload, fds);
	else if (head->type == KERNEL_VARIABLES)
		SEND(sock, KERNEL_VARIABLES_REPLY, head->id, { KERNEL_TAG_VAR_NAME, "df" },
		     { KERNEL_TAG_VAR_TYPE, "DataFrame" }, { KERNEL_TAG_VAR_SHAPE, "3x2" },
		     { KERNEL_TAG_VAR_SIZE, "48" }, { KERNEL_TAG_VAR_PREVIEW, "a \"b\"" },
		     { KERNEL_TAG_VAR_NAME, "n" }, { KERNEL_TAG_VAR_TYPE, "int" },
		     { KERNEL_TAG_VAR_SIZE, "1e9" });
	else if (head->type == KERNEL_COMPLETE)
		complete(sock, head, payload);
	else if (head->type == KERNEL_IS_COMPLETE)
		is_complete(sock, head, payload);
	else if (head->type == KERNEL_INSPECT && payload_has(payload, "nothing"))
		SEND(sock, KERNEL_INSPECT_REPLY, head->id, { KERNEL_TAG_MIME, "text/evil" },
		     { KERNEL_TAG_DATA, "x" });
	else if (head->type == KERNEL_INSPECT)
		SEND(sock, KERNEL_INSPECT_REPLY, head->id, { KERNEL_TAG_MIME, "text/plain" },
		     { KERNEL_TAG_DATA, "what \xff it is" }, { KERNEL_TAG_MIME, "text/plain" },
		     { KERNEL_TAG_DATA, "twice" });
	else if (head->type == KERNEL_CONFIGURE && payload->len > sizeof(struct kernel_field))
		(void)putenv(strndup(payload->data + sizeof(struct kernel_field),
				     payload->len - sizeof(struct kernel_field)));
}

void fake_kernel_main(int sock, const struct fake_config *config, bool is_branch)
{
	struct sigaction action = { .sa_handler = on_sigint };
	struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	struct kernel_head head;
	int fds[3] = { -1, -1, -1 };
	struct err err;
	size_t nfds;

	/* Removes the signal handlers of the test framework, which fork() copied. */
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)sigaction(SIGINT, &action, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	if (config->kernel_never_ready)
		_exit(7);
	if (config->kernel_wrong_first)
		SEND(sock, KERNEL_DONE, 0, { KERNEL_TAG_STATUS, "ok" });
	else if (!is_branch)
		SEND(sock, KERNEL_READY, 0, { KERNEL_TAG_LANGUAGE, "fake" },
		     { KERNEL_TAG_VERSION, "1" });
	for (;;) {
		int n = kernel_recv(sock, &head, &payload, fds, 3, &nfds, &err);

		if (n < 0 && err.errnum == EINTR)
			continue;
		if (n <= 0)
			_exit(0);
		answer(sock, &head, &payload, fds);
	}
}
