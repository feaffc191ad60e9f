/*
 * run.c - follows a program in a session until it ends: its output, signals, the terminal.
 *
 * Runs in:  reckon-client.
 * Reads:    the program's output, which is hostile. If the program has no terminal of its own,
 *           output to our terminal is escaped; if it has one, output is copied unchanged, as by
 *           ssh.
 * Never:    leaves our terminal in another mode than before.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "cli/cli.h"
#include "cli/process/process.h"
#include "cli/term/term.h"
#include "codec/base64.h"
#include "codec/json_get.h"
#include "codec/json_write.h"

#define INTERRUPTS_MAX 3 /* the third Ctrl-C ends only this command */
#define SIGNALED 128

struct running {
	const struct remote_process *process;
	struct term_filter filters[2]; /* for stdout and stderr */
	bool is_shown[2];	       /* the output goes to a terminal, so it is escaped */
	int status;
};

/* ---- our terminal --------------------------------------------------------------------------- */

static struct termios before;
static atomic_bool is_raw;

static void restore_terminal(void)
{
	if (atomic_exchange(&is_raw, false))
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

static void make_raw(void)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &before) < 0)
		return;
	raw = before;
	cfmakeraw(&raw);
	if (tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0)
		atomic_store(&is_raw, true);
}

/* ---- signals -------------------------------------------------------------------------------- */

static int wake_pipe[2] = { -1, -1 };
static atomic_int interrupts;

static void on_signal(int number)
{
	const int saved = errno;
	const char byte = (char)number;

	if (number == SIGINT && atomic_fetch_add(&interrupts, 1) + 1 >= INTERRUPTS_MAX)
		_exit(EXIT_CODE_INTERRUPTED);
	(void)!write(wake_pipe[1], &byte, 1);
	errno = saved;
}

static int catch_signals(bool has_terminal, struct err *err)
{
	static const int passed[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };

	if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_sys(err, "pipe");
	for (size_t i = 0; i < ARRAY_LEN(passed); i++)
		(void)sigaction(passed[i], &action, NULL);
	if (has_terminal)
		(void)sigaction(SIGWINCH, &action, NULL);
	action.sa_handler = SIG_IGN;
	(void)sigaction(SIGPIPE, &action, NULL);
	return 0;
}

static int resize(const struct remote_process *process, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(64);
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0 || size.ws_col == 0)
		return 0;
	if (buf_addf(&body, err, "{\"rows\":%u,\"cols\":%u}", size.ws_row, size.ws_col) < 0)
		return (int)err->code;
	return remote_process_post(process->client, process->path, "resize", &body, err);
}

static int pass_signal(const struct remote_process *process, int number, struct err *err)
{
	cleanup_buf struct buf body = BUF_INIT(64);

	if (buf_addf(&body, err, "{\"signal\":\"%s\"}", sigabbrev_np(number)) < 0)
		return (int)err->code;
	return remote_process_post(process->client, process->path, "signal", &body, err);
}

/* Ignores errors: the program may have just ended. */
static int on_wake(void *arg, struct err *err)
{
	const struct running *running = arg;
	char numbers[16];
	const ssize_t count = read(wake_pipe[0], numbers, sizeof(numbers));

	for (ssize_t i = 0; i < count; i++) {
		struct err ignored;

		if (numbers[i] == SIGWINCH)
			(void)resize(running->process, &ignored);
		else
			/* An interactive shell ignores SIGTERM. */
			(void)pass_signal(running->process,
					  numbers[i] == SIGTERM && running->process->has_terminal
						  ? SIGHUP
						  : numbers[i],
					  &ignored);
	}
	(void)err;
	return 0;
}

/* ---- events --------------------------------------------------------------------------------- */

static int show(struct running *running, int which, const struct buf *bytes, struct err *err)
{
	const int fd = which == 0 ? STDOUT_FILENO : STDERR_FILENO;
	/* Escaping makes at most four bytes of one; the rest is for resetting colours. */
	cleanup_buf struct buf shown = BUF_INIT(bytes->len * 4 + 64);

	if (!running->is_shown[which])
		return fd_write_full(fd, bytes->data, bytes->len, err);
	if (term_filter_add(&running->filters[which], bytes->data, bytes->len, &shown, err) < 0)
		return (int)err->code;
	return shown.len > 0 ? fd_write_full(fd, shown.data, shown.len, err) : 0;
}

static int take_output(struct running *running, const struct json_value *event, struct err *err)
{
	cleanup_buf struct buf bytes = BUF_INIT(CLIENT_JSON_MAX);
	const char *text = json_get_str(event, "data");

	if (base64_decode(text, strlen(text), &bytes, err) < 0)
		return err_wrap(err, "output of the process");
	if (bytes.len == 0)
		return 0;
	if (show(running, strcmp(json_get_str(event, "name"), "stderr") == 0, &bytes, err) == 0)
		return 0;
	if (err->errnum == EPIPE)
		running->status = EXIT_CODE_PIPE;
	return (int)err->code;
}

static int number_of(const char *name)
{
	for (int i = 1; i < 32; i++)
		if (sigabbrev_np(i) != NULL && strcmp(sigabbrev_np(i), name) == 0)
			return i;
	return SIGKILL;
}

/*
 * Returns the program's exit code; prints a message if the code alone would not say what happened.
 */
static int status_of(const struct json_value *event)
{
	const char *cause = json_get_str(event, "cause"), *signal = json_get_str(event, "signal");
	int64_t code = EXIT_CODE_RECKON;

	if (strcmp(cause, "exit") == 0) {
		(void)json_read_int(json_read_member(event, "exit_code"), &code);
		return (int)code;
	}
	if (strcmp(cause, "signal") == 0)
		return SIGNALED + number_of(signal);
	if (strcmp(cause, "timeout") == 0 || strcmp(cause, "cpu_limit") == 0) {
		(void)fprintf(stderr, "reckon: the process was killed: %s\n",
			      cause[0] == 't' ? "timed out" : "CPU time limit reached");
		return EXIT_CODE_TIMEOUT;
	}
	if (strcmp(cause, "out_of_memory") == 0) {
		(void)fputs("reckon: the process was killed: out of memory\n", stderr);
		return EXIT_CODE_KILLED;
	}
	(void)fprintf(stderr, "reckon: the process is gone: %.300s\n", json_get_str(event, "why"));
	return EXIT_CODE_RECKON;
}

static int on_event(const char *name, const char *json, size_t len, void *arg, struct err *err)
{
	struct running *running = arg;
	reckon_event event = { .name = name, .json = json, .json_len = len };
	struct json_value *document;
	int64_t missing = 0;
	int code = 0;

	if (remote_read_event(running->process->client, &event, &document, err) < 0)
		return (int)err->code;
	if (strcmp(name, "stream") == 0) {
		code = take_output(running, document, err);
	} else if (strcmp(name, "end") == 0) {
		restore_terminal();
		running->status = status_of(document);
	} else if (strcmp(name, "gap") == 0) {
		(void)json_read_int(json_read_member(document, "missing"), &missing);
		(void)fprintf(stderr, "reckon: %lld events of the process were missed\n",
			      (long long)missing);
	}
	json_read_free(document);
	return code;
}

/* ---- until its end -------------------------------------------------------------------------- */

static int follow(const struct remote_process *process, struct running *running, struct err *err)
{
	char path[REMOTE_PROCESS_PATH_MAX + 16];
	const struct client_stream plan = {
		.path = path,
		.last = "end",
		.on_event = on_event,
		.on_event_arg = running,
		.wake_fd = wake_pipe[0],
		.on_wake = on_wake,
		.on_wake_arg = running,
	};

	(void)snprintf(path, sizeof(path), "%s/events", process->path);
	return client_follow(process->client, &plan, err);
}

int remote_process_run(const struct remote_process *process)
{
	struct running running = {
		.process = process,
		.filters = { { .escape = true }, { .escape = true } },
		.is_shown = { !process->has_terminal && isatty(STDOUT_FILENO),
			      !process->has_terminal && isatty(STDERR_FILENO) },
		.status = EXIT_CODE_RECKON,
	};
	struct err err, ignored;
	int code = catch_signals(process->has_terminal, &err);

	if (code == 0 && process->has_terminal)
		make_raw();
	if (code == 0 && !process->no_input)
		code = remote_process_input_begin(process, &err);
	if (code == 0)
		code = follow(process, &running, &err);
	restore_terminal();
	if (code == 0)
		return running.status;
	if (running.status != EXIT_CODE_PIPE)
		return cli_complain_of(process->self, &err);
	/* Our reader is gone; tell the program as a pipe would. */
	(void)pass_signal(process, SIGPIPE, &ignored);
	return EXIT_CODE_PIPE;
}
