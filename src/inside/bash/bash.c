/*
 * bash.c - the bash kernel: receives packets and runs the cells in one shell.
 *
 * Runs in:  the bash zygote until it forks, then in a kernel; reckon-kernel-direct.
 * Reads:    packets of the host.
 * Never:    interprets the output of a cell.
 */
#include "inside/bash/bash.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "inside/kernel.h"
#include "inside/procview.h"
#include "inside/resume.h"
#include "inside/sync.h"
#include "wire/kernel.h"

static int control = KERNEL_FD;
static volatile sig_atomic_t interrupt_early;
static struct bash_name_list reported;
static bool cwd_is_missing; /* of CONFIGURE, and not reported yet */

/* While the kernel is idle, an interrupt counts only if an EXECUTE already waits in the socket. */
static void on_interrupt(int sig)
{
	struct pollfd wait = { .fd = control, .events = POLLIN };
	int saved_errno = errno;

	(void)sig;
	if (poll(&wait, 1, 0) > 0)
		interrupt_early = 1;
	errno = saved_errno;
}

static void block_interrupt(int how)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigprocmask(how, &set, NULL);
}

static int send_error(uint64_t id, const char *name, const char *value, const char *trace,
		      struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);

	if (kernel_pack_text(&payload, KERNEL_TAG_NAME, name, err) < 0 ||
	    kernel_pack_text(&payload, KERNEL_TAG_VALUE, value, err) < 0 ||
	    kernel_pack_text(&payload, KERNEL_TAG_TRACEBACK, trace, err) < 0)
		return (int)err->code;
	return kernel_send(control, KERNEL_ERROR, id, &payload, NULL, 0, err);
}

static int send_done(uint64_t id, const char *status, const struct bash_outcome *outcome,
		     struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);
	const char *note =
		outcome->has_saved_state
			? "shell_restarted: the cell ended its shell; variables, functions "
			  "and directory are kept, background jobs are not"
			: "shell_restarted: the cell ended its shell; variables, functions "
			  "and directory are those from before the cell";

	if (kernel_pack_text(&payload, KERNEL_TAG_STATUS, status, err) < 0)
		return (int)err->code;
	if (outcome->shell_ended && kernel_pack_text(&payload, KERNEL_TAG_NOTE, note, err) < 0)
		return (int)err->code;
	if (cwd_is_missing &&
	    kernel_pack_text(&payload, KERNEL_TAG_NOTE,
			     "cwd_missing: the directory that the kernel was to begin in "
			     "cannot be entered; it is in /mnt/data",
			     err) < 0)
		return (int)err->code;
	cwd_is_missing = false;
	if (bash_state_names(bash_shell_state(), bash_shell_first_state(), &reported, &payload,
			     err) < 0)
		return (int)err->code;
	return kernel_send(control, KERNEL_DONE, id, &payload, NULL, 0, err);
}

static int answer(uint64_t id, const struct bash_outcome *outcome, struct err *err)
{
	char value[16], text[80];

	(void)snprintf(value, sizeof(value), "%d", outcome->exit_status);
	if (outcome->interrupted && outcome->exit_status == 128 + SIGINT) {
		if (send_error(id, "KeyboardInterrupt", "", "KeyboardInterrupt", err) < 0)
			return (int)err->code;
		return send_done(id, "interrupted", outcome, err);
	}
	if (outcome->exit_status == 0)
		return send_done(id, "ok", outcome, err);
	(void)snprintf(text, sizeof(text), "ExitStatus: the last command ended with status %s",
		       value);
	if (send_error(id, "ExitStatus", value, text, err) < 0)
		return (int)err->code;
	return send_done(id, "error", outcome, err);
}

static void each_variable(const struct kernel_item *items, size_t count,
			  void (*fn)(const char *entry))
{
	for (size_t i = 0; i < count; i++) {
		cleanup_free char *entry = NULL;

		if (items[i].tag != KERNEL_TAG_ENV)
			continue;
		entry = strndup(items[i].data, items[i].len);
		if (entry != NULL)
			fn(entry);
	}
}

static int execute(uint64_t id, const struct kernel_item *code, int *fds, size_t nfds,
		   struct err *err)
{
	struct bash_outcome outcome = { .exit_status = 1 };
	int ran, result;

	if (nfds != 3)
		return err_set(err, ERR_PROTOCOL, "EXECUTE without its three descriptors");
	block_interrupt(SIG_BLOCK);
	if (interrupt_early)
		(void)raise(SIGINT); /* delivered by the first wait */
	interrupt_early = 0;
	ran = bash_shell_run(code != NULL ? code->data : "", code != NULL ? code->len : 0, fds,
			     &outcome, err);
	bash_lend_end();
	block_interrupt(SIG_UNBLOCK);
	interrupt_early = 0;
	result = sync_with_host(control, id, err);
	fd_close_all(fds, nfds);
	if (result < 0)
		return result;
	if (ran < 0) {
		struct err why = *err;

		outcome.shell_ended = true;
		if (send_error(id, "ShellError", why.text, why.text, err) < 0)
			return (int)err->code;
		return send_done(id, "error", &outcome, err);
	}
	return answer(id, &outcome, err);
}

static int send_variables(uint64_t id, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);

	if (bash_state_variables(bash_shell_state(), bash_shell_first_state(), &payload, err) < 0)
		buf_clear(&payload);
	return kernel_send(control, KERNEL_VARIABLES_REPLY, id, &payload, NULL, 0, err);
}

static int send_completion(uint64_t id, const struct kernel_item *code,
			   const struct kernel_item *cursor, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	uint64_t at = 0;

	(void)resume_number(cursor, &at);
	if (code == NULL || at > code->len)
		at = 0;
	if (bash_state_complete(bash_shell_state(), code != NULL ? code->data : "", (size_t)at,
				&payload, err) < 0)
		buf_clear(&payload);
	return kernel_send(control, KERNEL_COMPLETE_REPLY, id, &payload, NULL, 0, err);
}

/* If `bash -n` cannot run, reports nothing about the code. */
static int send_whole(uint64_t id, const struct kernel_item *code, struct err *err)
{
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_INLINE_MAX);
	const char *status = NULL;

	if (bash_whole_judge(code != NULL ? code->data : "", code != NULL ? code->len : 0, &status,
			     err) == 0 &&
	    kernel_pack_text(&payload, KERNEL_TAG_STATUS, status, err) < 0)
		return (int)err->code;
	return kernel_send(control, KERNEL_IS_COMPLETE_REPLY, id, &payload, NULL, 0, err);
}

static void configure(const struct kernel_item *items, size_t count)
{
	const struct kernel_item *seed = kernel_find(items, count, KERNEL_TAG_SEED);
	const struct kernel_item *cwd = kernel_find(items, count, KERNEL_TAG_CWD);
	cleanup_free char *path = cwd != NULL ? strndup(cwd->data, cwd->len) : NULL;
	uint64_t number;

	cwd_is_missing = path != NULL && chdir(path) < 0;
	each_variable(items, count, bash_shell_export);
	if (resume_number(seed, &number))
		bash_shell_seed(seed->data, seed->len);
}

static void resume(const struct kernel_item *items, size_t count)
{
	const struct kernel_item *seed = kernel_find(items, count, KERNEL_TAG_SEED);
	uint64_t number;

	resume_apply(control);
	bash_shell_forget();
	bash_shell_seed("", 0);
	if (resume_number(seed, &number))
		bash_shell_seed(seed->data, seed->len);
	(void)resume_reopen(items, count);
}

/* Negative: the session has ended. */
static int handle(const struct kernel_head *head, const struct kernel_item *items, size_t count,
		  int *fds, size_t nfds, struct err *err)
{
	switch (head->type) {
	case KERNEL_EXECUTE:
		procview_refresh();
		each_variable(items, count, bash_shell_lend);
		return execute(head->id, kernel_find(items, count, KERNEL_TAG_CODE), fds, nfds,
			       err);
	case KERNEL_VARIABLES:
		return send_variables(head->id, err);
	case KERNEL_COMPLETE:
		return send_completion(head->id, kernel_find(items, count, KERNEL_TAG_CODE),
				       kernel_find(items, count, KERNEL_TAG_CURSOR), err);
	case KERNEL_INSPECT:
		return kernel_send(control, KERNEL_INSPECT_REPLY, head->id, NULL, NULL, 0, err);
	case KERNEL_IS_COMPLETE:
		return send_whole(head->id, kernel_find(items, count, KERNEL_TAG_CODE), err);
	case KERNEL_TOOLS:
		if (nfds != 1)
			break;
		bash_lend_begin(fds[0]);
		return 0;
	case KERNEL_CONFIGURE:
		configure(items, count);
		return 0;
	case KERNEL_RESUME:
		resume(items, count);
		return 0;
	case KERNEL_CGROUP_JOIN:
		resume_join_cgroups(fds, nfds);
		break;
	case KERNEL_PING:
		fd_close_all(fds, nfds);
		return kernel_send(control, KERNEL_PONG, head->id, NULL, NULL, 0, err);
	case KERNEL_SHUTDOWN:
		_exit(0);
	default: /* an answer that nobody waits for any longer */
		break;
	}
	fd_close_all(fds, nfds);
	return 0;
}

static int serve(int sock)
{
	static struct kernel_item items[KERNEL_FIELDS_MAX];
	const struct sigaction interrupt = { .sa_handler = on_interrupt, .sa_flags = SA_RESTART };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };
	cleanup_buf struct buf payload = BUF_INIT(KERNEL_PAYLOAD_MAX);
	struct kernel_head head;
	struct err err;
	int fds[3], count;
	size_t nfds;

	control = sock;
	(void)fcntl(sock, F_SETFD, FD_CLOEXEC);
	(void)sigaction(SIGINT, &interrupt, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
	if (kernel_pack_text(&payload, KERNEL_TAG_LANGUAGE, "bash", &err) < 0 ||
	    kernel_pack_text(&payload, KERNEL_TAG_VERSION, RECKON_BASH_VERSION, &err) < 0 ||
	    kernel_send(sock, KERNEL_READY, 0, &payload, NULL, 0, &err) < 0)
		return 1;
	for (;;) {
		resume_save();
		if (kernel_recv(sock, &head, &payload, fds, ARRAY_LEN(fds), &nfds, &err) <= 0)
			return 0;
		count = kernel_unpack(buf_text(&payload), payload.len, head.field_count, items,
				      ARRAY_LEN(items), &err);
		if (count < 0 || handle(&head, items, (size_t)count, fds, nfds, &err) < 0)
			return 1;
	}
}

/* A shell is small and starts in a millisecond: there is nothing to warm up. */
static int warm(const struct kernel_warmth *how, struct err *err)
{
	if (how->modules != NULL && how->modules[0] != NULL)
		return err_set(err, ERR_INVALID, "bash has no modules to preload");
	if (access("/bin/bash", X_OK) < 0)
		return err_sys(err, "/bin/bash");
	return 0;
}

static void after_fork(void)
{
	/* Forks share no state: the first cell starts the shell. */
}

const struct kernel_ops bash_ops = {
	.language = "bash",
	.warm = warm,
	.after_fork = after_fork,
	.serve = serve,
};
