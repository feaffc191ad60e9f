/*
 * process.c - programs in a session's box, besides its kernels.
 *
 * Runs in:  libreckon.
 * Reads:    replies of the warden; never a program's output, which only the caller reads.
 * Never:    uses the connection on which an execution waits.
 */
#include "reckon_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "lib/api.h"
#include "lib/session/session.h"
#include "wire/process.h"

#define START_TIMEOUT_MS 15000 /* the warden's own timeout is shorter */
#define ASK_TIMEOUT_MS 10000
#define SIZE_MAX_CELLS 1000u

struct reckon_process {
	struct shared *shared;
	uint32_t session;
	uint32_t number;
	int pid;
	int fd[4]; /* indexed by RECKON_PROCESS_…; a terminal only has the first */
	bool has_terminal;
	uint64_t started_ns, ended_ns;
};

/* ---- the request ---------------------------------------------------------------------------- */

static int add_text(struct buf *order, const char *text, struct err *err)
{
	if (buf_add(order, text, strlen(text) + 1, err) < 0)
		return err_wrap(err, "arguments and environment are too large");
	return 0;
}

static int add_arguments(struct buf *order, const reckon_process_options *options,
			 uint32_t *ret_count, struct err *err)
{
	const char *const shell[] = { "/bin/sh", "-c", options->command, NULL };
	const char *const *argv = options->command != NULL ? shell : options->argv;

	if ((options->command != NULL) == (options->argv != NULL) || argv == NULL ||
	    argv[0] == NULL || argv[0][0] == '\0')
		return err_set(err, ERR_INVALID, "give either a command or argv with a program");
	for (*ret_count = 0; argv[*ret_count] != NULL; (*ret_count)++) {
		if (*ret_count == PROCESS_STRINGS_MAX)
			return err_set(err, ERR_INVALID, "more than %u arguments",
				       PROCESS_STRINGS_MAX);
		if (add_text(order, argv[*ret_count], err) < 0)
			return (int)err->code;
	}
	return 0;
}

/* Adds the session's variables, packed as for its kernel. */
static int add_session_variables(struct buf *order, const struct buf *configured,
				 uint32_t *count, struct err *err)
{
	for (size_t at = 0; at < configured->len;) {
		struct kernel_field head;

		memcpy(&head, configured->data + at, sizeof(head));
		at += sizeof(head);
		if (head.tag == KERNEL_TAG_ENV) {
			if (buf_add(order, configured->data + at, head.len, err) < 0 ||
			    buf_addc(order, '\0', err) < 0)
				return (int)err->code;
			(*count)++;
		}
		at += head.len;
	}
	return 0;
}

static int add_variables(struct buf *order, const struct reckon_session *session,
			 const char *const *env, uint32_t *ret_count, struct err *err)
{
	*ret_count = 0;
	if (add_session_variables(order, &session->configured, ret_count, err) < 0)
		return (int)err->code;
	for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
		const char *equals = strchr(env[i], '=');

		if (equals == NULL || equals == env[i]) {
			(void)err_set(err, ERR_INVALID, "\"%.100s\" is not a variable", env[i]);
			return err_remedy(err, "write it as NAME=value");
		}
		if (add_text(order, env[i], err) < 0)
			return (int)err->code;
		(*ret_count)++;
	}
	return *ret_count <= PROCESS_STRINGS_MAX
		       ? 0
		       : err_set(err, ERR_INVALID, "more than %u variables", PROCESS_STRINGS_MAX);
}

static int make_order(const struct reckon_session *session, const reckon_process_options *options,
		      int *ret_fd, struct err *err)
{
	cleanup_buf struct buf bytes = BUF_INIT(PROCESS_ORDER_MAX);
	struct process_order order = { .magic = PROCESS_ORDER_MAGIC };
	const char *cwd = options->cwd != NULL ? options->cwd : "/mnt/data";

	if (cwd[0] != '/')
		return err_set(err, ERR_INVALID, "\"%.100s\" is not an absolute path", cwd);
	if (buf_add(&bytes, &order, sizeof(order), err) < 0 || add_text(&bytes, cwd, err) < 0 ||
	    add_arguments(&bytes, options, &order.argument_count, err) < 0 ||
	    add_variables(&bytes, session, options->env, &order.variable_count, err) < 0)
		return (int)err->code;
	order.text_bytes = (uint32_t)(bytes.len - sizeof(order));
	memcpy(bytes.data, &order, sizeof(order));
	return fd_memfd_sealed("reckon-order", bytes.data, bytes.len, ret_fd, err);
}

/* ---- start ---------------------------------------------------------------------------------- */

/* Makes a pipe: our end is non-blocking, and the box's user owns the other end. */
static int make_pipe(const struct reckon_session *session, bool is_input, int *ret_ours,
		     int *ret_theirs, struct err *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_sys(err, "pipe");
	*ret_ours = ends[is_input ? 1 : 0];
	*ret_theirs = ends[is_input ? 0 : 1];
	/* The program may reopen it by name (/dev/stdout). Rootless, the box's user is our own. */
	if (geteuid() == 0 &&
	    fchown(*ret_theirs, session->warden.host_uid, session->warden.host_gid) < 0)
		return err_sys(err, "give a pipe to the session");
	return fd_set_nonblock(*ret_ours, true, err);
}

static int make_stdio(const struct reckon_session *session, struct reckon_process *process,
		      unsigned flags, int theirs[3], struct err *err)
{
	if ((flags & RECKON_PROCESS_INPUT) != 0) {
		if (make_pipe(session, true, &process->fd[0], &theirs[0], err) < 0)
			return (int)err->code;
	} else {
		theirs[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (theirs[0] < 0)
			return err_sys(err, "open /dev/null");
	}
	if (make_pipe(session, false, &process->fd[1], &theirs[1], err) < 0)
		return (int)err->code;
	return make_pipe(session, false, &process->fd[2], &theirs[2], err);
}

static int check_size(unsigned rows, unsigned columns, struct err *err)
{
	if (rows == 0 || columns == 0 || rows > SIZE_MAX_CELLS || columns > SIZE_MAX_CELLS)
		return err_set(err, ERR_INVALID,
			       "a terminal of %u rows and %u columns: each is from 1 "
			       "to %u",
			       rows, columns, SIZE_MAX_CELLS);
	return 0;
}

static int fill_request(const reckon_process_options *options, uint32_t session,
			struct warden_request *request, struct err *err)
{
	const unsigned known = RECKON_PROCESS_TERMINAL | RECKON_PROCESS_INPUT |
			       RECKON_PROCESS_DETACH;
	const unsigned rows = options->rows > 0 ? options->rows : 24;
	const unsigned columns = options->columns > 0 ? options->columns : 80;

	if ((options->flags & ~known) != 0)
		return err_set(err, ERR_INVALID, "a flag that processes do not have (%u)",
			       options->flags);
	if (check_size(rows, columns, err) < 0)
		return (int)err->code;
	request->type = WARDEN_START;
	request->session = session;
	request->start = (struct warden_start){ .rows = (uint16_t)rows,
						.columns = (uint16_t)columns,
						.wall_ms = options->wall_ms,
						.cpu_ms = options->cpu_ms };
	if ((options->flags & RECKON_PROCESS_TERMINAL) != 0)
		request->start.flags |= WARDEN_START_TERMINAL;
	if ((options->flags & RECKON_PROCESS_DETACH) != 0)
		request->start.flags |= WARDEN_START_DETACH;
	return 0;
}

static int adopt(struct reckon_process *process, struct client_call *call, struct err *err)
{
	const size_t want = process->has_terminal ? 2 : 1;

	if (call->nfds != want)
		return err_set(err, ERR_PROTOCOL,
			       "the warden started a process without descriptors");
	process->number = call->reply.started.process;
	process->pid = call->reply.started.pid;
	process->fd[RECKON_PROCESS_END] = TAKE_FD(call->fds[0]);
	if (!process->has_terminal)
		return 0;
	process->fd[0] = TAKE_FD(call->fds[1]);
	return fd_set_nonblock(process->fd[0], true, err);
}

static int ask_start(struct reckon_session *session, const reckon_process_options *options,
		     struct reckon_process *process, const int fds[4], struct err *err)
{
	struct warden_request request = { 0 };
	struct client_call call = { 0 };
	int code;

	if (fill_request(options, session->warden.number, &request, err) < 0 ||
	    shared_ask_with(session->shared, session->client, session->warden.number, &request, fds,
			    process->has_terminal ? 1 : 4, &call, START_TIMEOUT_MS, err) < 0)
		return (int)err->code;
	process->started_ns = clock_mono_ns();
	code = adopt(process, &call, err);
	for (size_t i = 0; i < call.nfds; i++)
		if (call.fds[i] >= 0)
			(void)close(call.fds[i]);
	return code;
}

static int process_start(struct reckon_session *session, const reckon_process_options *given,
			 struct reckon_process **ret, struct err *err)
{
	reckon_process_options options;
	struct reckon_process *process;
	int fds[4] = { -1, -1, -1, -1 };
	int code;

	if (api_options("reckon_process_options", &options, sizeof(options), given, err) < 0 ||
	    make_order(session, &options, &fds[0], err) < 0)
		return (int)err->code;
	process = mem_new0(1, sizeof(*process));
	process->shared = shared_ref(session->shared);
	process->session = session->warden.number;
	process->has_terminal = (options.flags & RECKON_PROCESS_TERMINAL) != 0;
	for (size_t i = 0; i < ARRAY_LEN(process->fd); i++)
		process->fd[i] = -1;
	code = process->has_terminal ? 0
				     : make_stdio(session, process, options.flags, fds + 1, err);
	if (code == 0)
		code = ask_start(session, &options, process, fds, err);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	if (code < 0) {
		reckon_process_close(process);
		return code;
	}
	*ret = process;
	return 0;
}

int reckon_process_start(reckon_session *session, const reckon_process_options *options,
			 reckon_process **ret, reckon_error *err)
{
	struct err inner;

	if (process_start(session, options, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

/* ---- descriptors ---------------------------------------------------------------------------- */

int reckon_process_fd(const reckon_process *process, int which)
{
	if (which < 0 || which >= (int)ARRAY_LEN(process->fd))
		return -1;
	return process->has_terminal && which != RECKON_PROCESS_END ? process->fd[0]
								    : process->fd[which];
}

void reckon_process_close_input(reckon_process *process)
{
	if (!process->has_terminal && process->fd[0] >= 0)
		(void)close(TAKE_FD(process->fd[0]));
}

int reckon_process_resize(reckon_process *process, unsigned rows, unsigned columns,
			  reckon_error *err)
{
	const struct winsize size = { .ws_row = (unsigned short)rows,
				      .ws_col = (unsigned short)columns };
	struct err inner;

	if (check_size(rows, columns, &inner) < 0)
		return api_fail(err, &inner);
	if (!process->has_terminal)
		(void)err_set(&inner, ERR_INVALID, "the process has no terminal");
	else if (ioctl(process->fd[0], TIOCSWINSZ, &size) < 0)
		(void)err_sys(&inner, "set the size of a terminal");
	else
		return api_ok(err);
	return api_fail(err, &inner);
}

/* ---- requests ------------------------------------------------------------------------------- */

static int ask(const struct reckon_process *process, struct warden_request *request,
	       struct client_call *call, struct err *err)
{
	request->session = process->session;
	request->kernel = process->number;
	memset(call, 0, sizeof(*call));
	if (shared_ask(process->shared, NULL, process->session, request, call, ASK_TIMEOUT_MS,
		       err) == 0)
		return 0;
	if (err->code == ERR_NOT_FOUND && request->type != WARDEN_SIGNAL)
		(void)err_set(err, ERR_LOST, "the session was closed, and its processes with it");
	return (int)err->code;
}

int reckon_process_signal(reckon_process *process, int number, unsigned flags, reckon_error *err)
{
	struct warden_request request = { .type = WARDEN_SIGNAL };
	struct client_call call;
	struct err inner;

	request.signal.number = number > 0 ? (uint32_t)number : 0;
	request.signal.is_leader = (flags & RECKON_SIGNAL_LEADER) != 0;
	if ((flags & ~RECKON_SIGNAL_LEADER) != 0)
		(void)err_set(&inner, ERR_INVALID, "a flag that signals do not have (%u)", flags);
	else if (ask(process, &request, &call, &inner) == 0)
		return api_ok(err);
	return api_fail(err, &inner);
}

static const char *cause_name(uint32_t cause)
{
	switch (cause) {
	case WARDEN_END_EXIT:
		return "exit";
	case WARDEN_END_OOM:
		return "out_of_memory";
	case WARDEN_END_SYSCALL:
		return "system_call";
	case WARDEN_END_WALL:
		return "timeout";
	case WARDEN_END_CPU:
		return "cpu_limit";
	default:
		return "signal";
	}
}

static void fill_state(struct reckon_process *process, const struct warden_status *status,
		       reckon_process_state *ret)
{
	const struct warden_usage *usage = &status->ended.usage;
	const bool is_over = status->is_running == 0;

	if (process->ended_ns == 0 && is_over)
		process->ended_ns = clock_mono_ns();
	*ret = (reckon_process_state){
		.pid = process->pid,
		.is_running = !is_over,
		.cause = is_over ? cause_name(status->ended.cause) : NULL,
		.exit_code = is_over && status->ended.cause == WARDEN_END_EXIT
				     ? status->ended.detail
				     : -1,
		.signal = is_over && status->ended.cause != WARDEN_END_EXIT ? status->ended.detail
									    : 0,
		.left = status->left,
		.wall_ns = (is_over ? process->ended_ns : clock_mono_ns()) - process->started_ns,
		.cpu_user_ns = usage->cpu_user_ns,
		.cpu_system_ns = usage->cpu_system_ns,
		.memory_peak_bytes = usage->memory_peak_bytes,
		.processes_peak = usage->processes_peak,
		.read_bytes = usage->read_bytes,
		.written_bytes = usage->written_bytes,
	};
}

static int process_status(struct reckon_process *process, reckon_process_state *ret,
			  struct err *err)
{
	struct warden_request request = { .type = WARDEN_STATUS };
	reckon_process_state checked, found;
	struct client_call call;
	const size_t size = ret->size;

	if (api_options("reckon_process_state", &checked, sizeof(checked), ret, err) < 0 ||
	    ask(process, &request, &call, err) < 0)
		return (int)err->code;
	fill_state(process, &call.reply.status, &found);
	memcpy(ret, &found, size < sizeof(found) ? size : sizeof(found));
	ret->size = size;
	return 0;
}

int reckon_process_status(reckon_process *process, reckon_process_state *ret, reckon_error *err)
{
	struct err inner;

	if (process_status(process, ret, &inner) < 0)
		return api_fail(err, &inner);
	return api_ok(err);
}

int reckon_process_wait(reckon_process *process, int timeout_ms, reckon_process_state *ret,
			reckon_error *err)
{
	const uint64_t end =
		clock_mono_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000u;
	struct pollfd wait = { .fd = process->fd[RECKON_PROCESS_END], .events = POLLIN };
	struct err inner;
	int ready;

	for (;;) {
		const uint64_t now = clock_mono_ns();
		const uint64_t left = end > now ? (end - now + 999999u) / 1000000u : 0;

		ready = poll(&wait, 1, timeout_ms < 0 ? -1 : (int)left);
		if (ready >= 0 || errno != EINTR)
			break;
	}
	if (ready == 0)
		(void)err_set(&inner, ERR_TIMEOUT, "the process has not ended");
	else if (process_status(process, ret, &inner) == 0)
		return api_ok(err);
	return api_fail(err, &inner);
}

unsigned reckon_process_number(const reckon_process *process)
{
	return process->number;
}

int reckon_process_list(reckon_session *session, reckon_process_entry *ret, size_t max,
			reckon_error *err)
{
	struct warden_request request = { .type = WARDEN_LIST, .session = session->warden.number };
	struct client_call call = { 0 };
	const struct warden_list *list = &call.reply.list;
	struct err inner;

	if (shared_ask(session->shared, session->client, session->warden.number, &request, &call,
		       ASK_TIMEOUT_MS, &inner) < 0)
		return api_fail(err, &inner);
	for (size_t i = 0; i < list->count && i < WARDEN_PROCESSES_MAX && i < max; i++)
		ret[i] = (reckon_process_entry){ .number = list->process[i].process,
						 .pid = list->process[i].pid,
						 .is_running = list->process[i].is_running != 0 };
	(void)api_ok(err);
	return (int)list->count;
}

void reckon_process_close(reckon_process *process)
{
	struct warden_request request = { .type = WARDEN_RELEASE };
	struct client_call call;
	struct err ignored;

	if (process == NULL)
		return;
	for (size_t i = 0; i < ARRAY_LEN(process->fd); i++)
		if (process->fd[i] >= 0)
			(void)close(process->fd[i]);
	if (process->number > 0)
		(void)ask(process, &request, &call, &ignored);
	shared_unref(process->shared);
	free(process);
}
