/*
 * toy.c - the kernel of the toy language: integers, added and subtracted.
 *
 * Runs in:  the toy's zygote until it forks, then in a kernel; reckon-kernel-direct.
 * Reads:    packets of the host.
 * Never:    waits for anything but the host, so an interrupt has nothing to stop.
 *
 * Each line of a cell is a sum such as "1 + 2 - _", where _ is the previous value; a comment starts
 * with ";". The value of the last line is the cell's result, the others are printed.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "inside/kernel.h"
#include "inside/resume.h"
#include "inside/sync.h"
#include "wire/kernel.h"

static int control = KERNEL_FD;
static int64_t last; /* the value of _ */

/* ---- a sum ---------------------------------------------------------------------------------- */

static bool read_number(const char **at, int64_t *ret)
{
	int64_t value = 0;
	const char *text = *at;

	if (*text == '_') {
		*ret = last;
		*at = text + 1;
		return true;
	}
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *text - '0', &value))
			return false;
	*ret = value;
	if (text == *at)
		return false;
	*at = text;
	return true;
}

static void skip_blanks(const char **at)
{
	*at += strspn(*at, " \t");
}

/* Returns NULL, or the error in the line. */
static const char *add_up(const char *line, int64_t *ret)
{
	int64_t sum = 0, number;
	char sign = '+';

	for (;;) {
		skip_blanks(&line);
		if (!read_number(&line, &number))
			return "an integer is missing, or too large";
		if (sign == '+' ? __builtin_add_overflow(sum, number, &sum)
				: __builtin_sub_overflow(sum, number, &sum))
			return "the sum is too large";
		skip_blanks(&line);
		if (*line == '\0') {
			*ret = sum;
			return NULL;
		}
		sign = *line++;
		if (sign != '+' && sign != '-')
			return "only + and - are known";
	}
}

/* ---- a cell --------------------------------------------------------------------------------- */

static int send_result(uint64_t id, const char *text, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);

	if (kernel_pack_text(&payload, KERNEL_TAG_MIME, "text/plain", err) < 0 ||
	    kernel_pack_text(&payload, KERNEL_TAG_DATA, text, err) < 0)
		return (int)err->code;
	return kernel_send(control, KERNEL_RESULT, id, &payload, NULL, 0, err);
}

static int send_error(uint64_t id, size_t line, const char *why, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);
	char text[128];

	(void)snprintf(text, sizeof(text), "line %zu: SumError: %s", line, why);
	if (kernel_pack_text(&payload, KERNEL_TAG_NAME, "SumError", err) < 0 ||
	    kernel_pack_text(&payload, KERNEL_TAG_VALUE, why, err) < 0 ||
	    kernel_pack_text(&payload, KERNEL_TAG_TRACEBACK, text, err) < 0)
		return (int)err->code;
	return kernel_send(control, KERNEL_ERROR, id, &payload, NULL, 0, err);
}

static int send_done(uint64_t id, bool is_good, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);

	if (kernel_pack_text(&payload, KERNEL_TAG_STATUS, is_good ? "ok" : "error", err) < 0)
		return (int)err->code;
	return kernel_send(control, KERNEL_DONE, id, &payload, NULL, 0, err);
}

/* Adds up each line, prints all values except the last, which it stores in `result`. */
static const char *run(char *code, int out, char result[32], size_t *ret_line)
{
	struct err ignored; /* the reader of the output is gone */
	char *save = code;

	for (size_t number = 1; save != NULL; number++) {
		char *line = strsep(&save, "\n");
		const char *why;

		*strchrnul(line, ';') = '\0';
		if (line[strspn(line, " \t\r")] == '\0')
			continue;
		if (result[0] != '\0') {
			(void)fd_write_full(out, result, strlen(result), &ignored);
			(void)fd_write_full(out, "\n", 1, &ignored);
		}
		*ret_line = number;
		why = add_up(line, &last);
		result[0] = '\0';
		if (why != NULL)
			return why;
		(void)snprintf(result, 32, "%" PRId64, last);
	}
	return NULL;
}

static int execute(uint64_t id, const struct kernel_item *code, const int *fds, size_t nfds,
		   struct err *err)
{
	cleanup_free char *text = strndup(code != NULL ? code->data : "",
					  code != NULL ? code->len : 0);
	char result[32] = "";
	const char *why;
	size_t line = 0;

	if (nfds != 3 || text == NULL)
		return err_set(err, ERR_PROTOCOL, "EXECUTE without its three descriptors");
	why = run(text, fds[0], result, &line);
	if (sync_with_host(control, id, err) < 0 ||
	    (why != NULL && send_error(id, line, why, err) < 0) ||
	    (result[0] != '\0' && send_result(id, result, err) < 0))
		return (int)err->code;
	return send_done(id, why == NULL, err);
}

/* ---- the session ---------------------------------------------------------------------------- */

/* Negative: the session has ended. */
static int handle(const struct kernel_head *head, const struct kernel_item *items, size_t count,
		  const int *fds, size_t nfds, struct err *err)
{
	switch (head->type) {
	case KERNEL_EXECUTE:
		return execute(head->id, kernel_find(items, count, KERNEL_TAG_CODE), fds, nfds,
			       err);
	case KERNEL_RESUME:
		resume_apply(control);
		(void)resume_reopen(items, count);
		return 0;
	case KERNEL_CGROUP_JOIN:
		resume_join_cgroups(fds, nfds);
		return 0;
	case KERNEL_PING:
		return kernel_send(control, KERNEL_PONG, head->id, NULL, NULL, 0, err);
	case KERNEL_SHUTDOWN:
		_exit(0);
	default: /* CONFIGURE: no cell can see the environment; or an answer that nobody waits
		  * for */
		return 0;
	}
}

static int serve(int sock)
{
	static struct kernel_item items[KERNEL_FIELDS_MAX];
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	struct kernel_head head;
	struct err err;
	int fds[3], count;
	size_t nfds;

	control = sock;
	(void)fcntl(sock, F_SETFD, FD_CLOEXEC);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGPIPE, SIG_IGN);
	if (kernel_pack_text(&payload, KERNEL_TAG_LANGUAGE, "toy", &err) < 0 ||
	    kernel_pack_text(&payload, KERNEL_TAG_VERSION, RECKON_VERSION, &err) < 0 ||
	    kernel_send(sock, KERNEL_READY, 0, &payload, NULL, 0, &err) < 0)
		return 1;
	for (;;) {
		int code;

		resume_save();
		if (kernel_recv(sock, &head, &payload, fds, ARRAY_LEN(fds), &nfds, &err) <= 0)
			return 0;
		count = kernel_unpack(buf_text(&payload), payload.len, head.field_count, items,
				      ARRAY_LEN(items), &err);
		code = count < 0 ? count : handle(&head, items, (size_t)count, fds, nfds, &err);
		fd_close_all(fds, nfds);
		if (code < 0)
			return 1;
	}
}

static int warm(const struct kernel_warmth *how, struct err *err)
{
	(void)how;
	(void)err;
	return 0;
}

static void after_fork(void)
{
	/* Forks share no state. */
}

const struct kernel_ops toy_ops = {
	.language = "toy",
	.warm = warm,
	.after_fork = after_fork,
	.serve = serve,
};
