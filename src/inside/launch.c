/*
 * launch.c - reckon-launch: starts a program inside a box for the warden.
 *
 * Runs in:  its own process, once for each program; trusted until it has entered the box.
 * Reads:    one fixed-size message of the warden; the client's order, only after it entered the
 *           box.
 * Never:    executes anything before the warden has verified every isolation layer from outside.
 *
 *   warden ──fork, exec──▶ launcher L ──clone(CLONE_PARENT)──▶ process P
 *                          joins the cgroups and the            enters the box, reports, waits for
 *                          box's pid namespace, ends            the warden, executes the program
 *
 * L joins the cgroups itself, so that P is created in them and is accounted from its first
 * instruction. P is the warden's child, not L's, so that the warden reaps it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file/fd.h"
#include "inside/enter.h"
#include "inside/signals.h"
#include "wire/process.h"

#define FILTER_MAX 2048
#define VARIABLES_MAX (PROCESS_STRINGS_MAX + 128)

struct launch {
	struct launch_plan plan;
	int filter_fd;
	int joins[LAUNCH_JOINS_MAX];
	char *const *base; /* the template's variables */
	struct enter_plan enter;
	int master; /* of the terminal, or -1 */
};

static struct sock_filter filter_insns[FILTER_MAX];
static struct sock_fprog filter = { .filter = filter_insns };
static char order_bytes[PROCESS_ORDER_MAX + 1];
static char *arguments[PROCESS_STRINGS_MAX + 1];
static char *variables[VARIABLES_MAX + 1];

__attribute__((noreturn)) static void fail(int sock, const struct err *why)
{
	struct launch_report report = { .kind = LAUNCH_FAILED, .err = *why };
	struct err ignored;

	(void)fd_send_msg(sock, &report, sizeof(report), NULL, 0, &ignored);
	_exit(125);
}

static int read_filter(int fd, struct err *err)
{
	const ssize_t n = pread(fd, filter_insns, sizeof(filter_insns), 0);

	if (n <= 0)
		return err_sys(err, "read the system call filter");
	filter.len = (unsigned short)((size_t)n / sizeof(filter_insns[0]));
	return filter.len > 0 ? 0 : err_set(err, ERR_PROTOCOL, "an empty system call filter");
}

/* ---- the terminal --------------------------------------------------------------------------- */

/*
 * Opens a terminal in the box's own devpts, where the program finds it by name and other sessions
 * cannot reach it. P leads a session without a terminal, so this becomes its controlling one.
 */
static int make_terminal(void *arg, struct err *err)
{
	struct launch *launch = arg;
	const struct winsize size = { .ws_row = launch->plan.rows, .ws_col = launch->plan.columns };
	const int unlocked = 0;
	cleanup_fd int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	cleanup_fd int slave = -1;

	if (master < 0)
		return err_sys(err, "open a terminal in the box");
	if (ioctl(master, TIOCSPTLCK, &unlocked) < 0 || ioctl(master, TIOCSWINSZ, &size) < 0)
		return err_sys(err, "set a terminal up");
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		return err_sys(err, "open the program's side of a terminal");
	if (ioctl(slave, TIOCSCTTY, 0) < 0)
		return err_sys(err, "make a terminal the controlling one");
	for (int fd = 0; fd < 3; fd++)
		if (dup2(slave, fd) < 0)
			return err_sys(err, "set standard descriptors");
	launch->master = TAKE_FD(master);
	return 0;
}

/* ---- ---- the order, read inside the box ---------------------------------------------------- */

static char *const none[1];

/* Cuts `count` strings off the text; false if there are fewer. */
static bool cut_strings(char **text, const char *end, size_t count, char **ret)
{
	for (size_t i = 0; i < count; i++) {
		char *stop = memchr(*text, '\0', (size_t)(end - *text));

		if (stop == NULL)
			return false;
		ret[i] = *text;
		*text = stop + 1;
	}
	return true;
}

/* A later variable replaces an earlier one of the same name. */
static void set_variable(char *text)
{
	const char *equals = strchr(text, '=');
	const size_t len = equals != NULL ? (size_t)(equals - text) + 1 : 0;
	size_t at = 0;

	if (len < 2)
		return;
	while (variables[at] != NULL && strncmp(variables[at], text, len) != 0)
		at++;
	if (at < VARIABLES_MAX)
		variables[at] = text;
}

static int read_order(const struct launch *launch, char **ret_cwd, struct err *err)
{
	static char *own[PROCESS_STRINGS_MAX];
	static char term[] = "TERM=xterm-256color";
	struct process_order order;
	char *text = order_bytes + sizeof(order);
	/* pread() from the start: the client's writing moved the file offset. One read returns a
	 * whole memory file. */
	const ssize_t n = pread(ENTER_ORDER_FD, order_bytes, PROCESS_ORDER_MAX, 0);

	if (n < 0)
		return err_sys(err, "read the order");
	if (n < (ssize_t)sizeof(order))
		return err_set(err, ERR_PROTOCOL, "a malformed order");
	memcpy(&order, order_bytes, sizeof(order));
	if (order.magic != PROCESS_ORDER_MAGIC || order.argument_count == 0 ||
	    order.argument_count > PROCESS_STRINGS_MAX ||
	    order.variable_count > PROCESS_STRINGS_MAX ||
	    order.text_bytes != (size_t)n - sizeof(order) ||
	    !cut_strings(&text, order_bytes + n, 1, ret_cwd) ||
	    !cut_strings(&text, order_bytes + n, order.argument_count, arguments) ||
	    !cut_strings(&text, order_bytes + n, order.variable_count, own) ||
	    text != order_bytes + n)
		return err_set(err, ERR_PROTOCOL, "a malformed order");
	for (char *const *at = launch->base; at != NULL && *at != NULL; at++)
		set_variable(*at);
	if (launch->master >= 0)
		set_variable(term);
	for (size_t i = 0; i < order.variable_count; i++)
		set_variable(own[i]);
	return 0;
}

static int describe_exec(struct err *err)
{
	const int why = errno;

	(void)err_sys(err, "cannot execute \"%.200s\"", arguments[0]);
	if (why == ENOENT || why == ENOTDIR) {
		err->code = ERR_NOT_FOUND;
		(void)err_remedy(err, "give a program of the template, or its path in the box");
	} else if (why == EACCES || why == ENOEXEC || why == E2BIG) {
		err->code = ERR_INVALID;
	}
	return (int)err->code;
}

/* Returns only if the program could not be executed. */
static int run_program(const struct launch *launch, struct err *err)
{
	char nowhere[] = "";
	char *cwd = nowhere;

	if (read_order(launch, &cwd, err) < 0)
		return (int)err->code;
	(void)close(ENTER_ORDER_FD);
	if (chdir(cwd) < 0) {
		const int why = errno;

		(void)err_sys(err, "cannot enter the working directory \"%.200s\"", cwd);
		if (why == ENOENT || why == ENOTDIR || why == EACCES)
			err->code = ERR_INVALID;
		return (int)err->code;
	}
	/* Look for the program in its own PATH. */
	environ = variables;
	(void)execvp(arguments[0], arguments);
	return describe_exec(err);
}

/* ---- the process ---------------------------------------------------------------------------- */

static void report_ready(int sock, int notify, int master, struct err *err)
{
	const struct launch_report report = { .kind = LAUNCH_READY };
	const int fds[2] = { notify, master };

	if (fd_send_msg(sock, &report, sizeof(report), fds, master >= 0 ? 2 : 1, err) < 0)
		_exit(125);
}

__attribute__((noreturn)) static void process_main(struct launch *launch)
{
	struct err err = { 0 };
	int sock = LAUNCH_FD, notify = -1;
	char go;

	if (enter_box(&launch->enter, LAUNCH_FD, &sock, &notify, &err) < 0)
		fail(sock, &err);
	report_ready(sock, notify, launch->master, &err);
	(void)close(notify);
	if (launch->master >= 0)
		(void)close(launch->master);
	if (read(sock, &go, 1) != 1)
		_exit(125);
	(void)run_program(launch, &err);
	fail(sock, &err);
}

static int receive_plan(struct launch *launch, struct err *err)
{
	struct launch_plan *plan = &launch->plan;
	int fds[LAUNCH_FDS_MAX];
	size_t nfds, at = 3;
	const ssize_t n =
		fd_recv_msg(LAUNCH_FD, plan, sizeof(*plan), fds, ARRAY_LEN(fds), &nfds, err);

	if (n < 0)
		return (int)err->code;
	if (n != (ssize_t)sizeof(*plan) || (plan->stdio_count != 0 && plan->stdio_count != 3) ||
	    plan->join_count > LAUNCH_JOINS_MAX ||
	    nfds != 3u + (plan->has_landlock != 0 ? 1u : 0u) + plan->stdio_count + plan->join_count)
		return err_set(err, ERR_PROTOCOL, "the warden sent no plan");
	launch->enter = ENTER_PLAN_NONE;
	launch->enter.init_pidfd = fds[0];
	launch->filter_fd = fds[1];
	launch->enter.order_fd = fds[2];
	if (plan->has_landlock != 0)
		launch->enter.landlock_fd = fds[at++];
	for (uint32_t i = 0; i < plan->stdio_count; i++)
		launch->enter.stdio[i] = fds[at++];
	for (uint32_t i = 0; i < plan->join_count; i++)
		launch->joins[i] = fds[at++];
	launch->enter.filter = &filter;
	launch->enter.no_speculation = plan->no_speculation != 0;
	if (plan->stdio_count == 0) {
		launch->enter.before_filter = make_terminal;
		launch->enter.arg = launch;
	}
	return read_filter(launch->filter_fd, err);
}

static int join_groups(const struct launch *launch, struct err *err)
{
	for (uint32_t i = 0; i < launch->plan.join_count; i++)
		if (write(launch->joins[i], "0", 1) != 1)
			return err_sys(err, "join the process's control groups");
	return 0;
}

static int make_process(struct launch *launch, struct err *err)
{
	long pid;

	if (setns(launch->enter.init_pidfd, CLONE_NEWPID) < 0)
		return err_sys(err, "join the box's pid namespace");
#if defined(__x86_64__)
	pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, 0);
#else
	pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, 0, NULL);
#endif
	if (pid == 0)
		process_main(launch);
	if (pid > 0)
		return 0;
	if (errno == EAGAIN) {
		(void)err_set(err, ERR_LIMIT, "the session has as many processes as it may");
		return err_remedy(err,
				  "end some, or open the session with a higher limit of processes");
	}
	return err_sys(err, "make a process");
}

int main(int argc, char **argv)
{
	static struct launch launch = { .master = -1 };
	struct err err = { 0 };

	(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	signals_forget_inherited();
	(void)umask(022);
	if (argc < 1) {
		(void)fprintf(stderr, "reckon-launch is started by reckon-warden\n");
		return 2;
	}
	launch.base = argc > 1 ? argv + 1 : none;
	if (receive_plan(&launch, &err) < 0 || join_groups(&launch, &err) < 0 ||
	    make_process(&launch, &err) < 0)
		fail(LAUNCH_FD, &err);
	return 0;
}
