/*
 * launch.c - starts a client's program in a box.
 *
 * Runs in:  the warden, and a child that executes reckon-launch at once.
 * Reads:    the launcher's fixed-size reports, sent before the program runs; /proc.
 * Never:    lets a program run before the warden has verified its walls from outside, or blocks on
 *           the launcher: programs in the box can stop a process of the same user at any time.
 */
#include "box/processes/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/mem.h"
#include "box/cgroup/process.h"
#include "box/clients/client.h"
#include "box/filter/denial.h"
#include "box/procfile.h"
#include "box/resources/resource.h"
#include "box/sys.h"
#include "box/templates/template.h"
#include "box/walls/guard.h"
#include "box/walls/verify.h"
#include "wire/process.h"

#define LAUNCH_MS 10000

/* ---- the launcher --------------------------------------------------------------------------- */

__attribute__((noreturn)) static void exec_launcher(const struct warden *warden,
						    const struct template *of, int sock)
{
	const char *argv[STATE_ENV_MAX + 20] = { "reckon-launch" };
	char *const envp[] = { NULL };
	char path[600];
	const int null_fd = open("/dev/null", O_RDWR);

	(void)template_env(of, argv + 1, ARRAY_LEN(argv) - 1);
	(void)snprintf(path, sizeof(path), "%s/reckon-launch", warden->libexec_dir);
	if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(null_fd, 1) < 0 || dup2(null_fd, 2) < 0 ||
	    dup2(sock, LAUNCH_FD) < 0 || syscall(SYS_close_range, LAUNCH_FD + 1, ~0u, 0) < 0)
		_exit(125);
	(void)execve(path, (char *const *)(uintptr_t)argv, envp);
	_exit(126);
}

static int send_plan(struct warden *warden, struct box_process *process, const int *given,
		     size_t given_count, struct err *err)
{
	const struct session *session = process->as.session;
	const struct shell *shell = &session->shell;
	struct launch_plan plan = { .has_landlock = shell->landlock_fd >= 0,
				    .no_speculation = (session->guards &
						       WARDEN_OPEN_NO_SPECULATION) != 0,
				    .stdio_count = (uint32_t)given_count - 1,
				    .rows = process->how.rows,
				    .columns = process->how.columns };
	int fds[LAUNCH_FDS_MAX] = { shell->init_pidfd, warden->filter_fd, given[0] };
	struct cgroup_joins joins;
	size_t count = 3;
	int code;

	_Static_assert(CG_COUNT <= LAUNCH_JOINS_MAX,
		       "room for the `tasks` file of each controller");
	if (cgroup_process_join(&warden->cgroups, shell->name, process->as.id, &joins, err) < 0)
		return (int)err->code;
	plan.join_count = (uint32_t)joins.count;
	if (plan.has_landlock != 0)
		fds[count++] = shell->landlock_fd;
	memcpy(fds + count, given + 1, (given_count - 1) * sizeof(*fds));
	count += given_count - 1;
	memcpy(fds + count, joins.fd, joins.count * sizeof(*fds));
	count += joins.count;
	code = fd_send_msg(process->boot, &plan, sizeof(plan), fds, count, err);
	cgroup_joins_close(&joins);
	return code;
}

/* ---- reports -------------------------------------------------------------------------------- */

static void answer(const struct box_process *process, const struct err *failure)
{
	struct warden_reply reply = { .magic = WARDEN_MAGIC,
				      .version = WARDEN_VERSION,
				      .type = WARDEN_START,
				      .seq = process->start_seq,
				      .session = process->as.session->id,
				      .kernel = process->as.id };
	int fds[2];
	size_t count = 0;

	if (process->starter == NULL)
		return;
	if (failure != NULL) {
		reply.err = *failure;
	} else {
		reply.started.process = process->as.id;
		reply.started.pid = process->pid;
		fds[count++] = process->as.made.kernel_pidfd;
		if (process->master >= 0)
			fds[count++] = process->master;
	}
	client_send(process->starter, &reply, fds, count);
}

/* Reports the failure to the client and drops the process. */
static void give_up(struct warden *warden, struct box_process *process, const struct err *why)
{
	answer(process, why);
	process_release(warden, process);
}

static void close_boot(struct warden *warden, struct box_process *process)
{
	watch_remove(warden, &process->boot_watch);
	process->boot_watch.fd = -1;
	if (process->boot >= 0)
		(void)close(TAKE_FD(process->boot));
}

/* The program has started: starts its time limit and answers the client. */
static void begin(struct warden *warden, struct box_process *process)
{
	struct pollfd over = { .fd = process->as.made.kernel_pidfd, .events = POLLIN };

	close_boot(warden, process);
	process->state = PROCESS_RUNNING;
	process->as.death_watch.ready = process_ended;
	process->timer_watch.ready = process_timer;
	/* From now on the box's counters include this process: no cell may claim them alone. */
	usage_forget(process->as.session);
	usage_note_process(process->as.session);
	process->deadline_ns =
		process->how.wall_ms > 0 ? clock_mono_ns() + process->how.wall_ms * 1000000u : 0;
	process_set_timer(process);
	answer(process, NULL);
	process->starter = NULL;
	if (process->master >= 0)
		(void)close(TAKE_FD(process->master));
	/* The program may already have ended, and ended_early() may have removed this watch. */
	if (poll(&over, 1, 0) > 0)
		process_ended(warden, &process->as.death_watch, 0);
}

/* Receives a report, and the sender's pid from the socket layer; verify() checks that it is our
 * child. */
static ssize_t receive(int sock, struct launch_report *ret, int fds[2], pid_t *ret_sender)
{
	union {
		char space[CMSG_SPACE(2 * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
		struct cmsghdr align;
	} control;
	struct iovec iov = { .iov_base = ret, .iov_len = sizeof(*ret) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control.space,
			      .msg_controllen = sizeof(control.space) };
	const ssize_t n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);

	for (struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL; head != NULL;
	     head = CMSG_NXTHDR(&msg, head)) {
		const size_t len = head->cmsg_len - CMSG_LEN(0);
		struct ucred sender;

		if (head->cmsg_level != SOL_SOCKET)
			continue;
		if (head->cmsg_type == SCM_RIGHTS && len <= 2 * sizeof(int))
			memcpy(fds, CMSG_DATA(head), len);
		if (head->cmsg_type == SCM_CREDENTIALS && len == sizeof(sender)) {
			memcpy(&sender, CMSG_DATA(head), sizeof(sender));
			*ret_sender = sender.pid;
		}
	}
	return n;
}

/* The line's last number is the pid in the innermost namespace, the box's. */
static int32_t inner_pid(pid_t pid)
{
	char text[8192];
	const char *line;
	int32_t last = 0;

	if (procfile_text(pid, "status", text, sizeof(text)) <= 0 ||
	    (line = strstr(text, "\nNSpid:")) == NULL)
		return 0;
	for (line += 7; *line == '\t' || *line == ' ';) {
		char *end;

		last = (int32_t)strtol(line, &end, 10);
		line = end;
	}
	return last;
}

static int verify(struct warden *warden, struct box_process *process, pid_t sender,
		  struct err *err)
{
	struct session *session = process->as.session;
	struct twin_kernel *made = &process->as.made;

	/* If the sender was killed and reaped meanwhile, its pid may name a process that is not our
	 * child. */
	if ((pid_t)procfile_number(sender, "status", "PPid:", 10, 0) != getpid())
		return err_set(err, ERR_LOST, "a new process ended before it was ready");
	made->kernel = sender;
	made->kernel_pidfd = sys_pidfd_open(sender);
	if (made->kernel_pidfd < 0)
		return err_sys(err, "open a new process's pidfd");
	process->as.end.kernel_reaped = false;
	process->as.is_up = true;
	process->pid = inner_pid(sender);
	if (verify_kernel(sender, warden->rootless, err) < 0 ||
	    verify_box(sender, session->shell.init, err) < 0 ||
	    limits_apply_process(warden, session, sender, err) < 0)
		return (int)err->code;
	return guard_join(session->guards, session->shell.init, &sender, 1, sender, err);
}

static void ended_early(struct warden *warden, struct watch *watch, uint32_t events);

/* The process stands behind its walls: watches it and lets it execute the program. */
static int let_go(struct warden *warden, struct box_process *process, struct err *err)
{
	process->as.death_watch = (struct watch){ .ready = ended_early, .arg = process,
						  .fd = process->as.made.kernel_pidfd };
	process->as.notify_watch = (struct watch){ .ready = denial_ready, .arg = &process->as,
						   .fd = process->as.made.notify_fd };
	if (watch_add(warden, &process->as.notify_watch, EPOLLIN, err) < 0 ||
	    watch_add(warden, &process->as.death_watch, EPOLLIN, err) < 0)
		return (int)err->code;
	process->state = PROCESS_BEGINNING;
	if (send(process->boot, "1", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1)
		return err_set(err, ERR_LOST, "a new process ended before it was ready");
	return 0;
}

static void on_ready(struct warden *warden, struct box_process *process, pid_t sender,
		     const int fds[2])
{
	struct err err = { 0 };

	process->as.made.notify_fd = fds[0];
	process->master = fds[1];
	if (process->state != PROCESS_LAUNCHING || fds[0] < 0 ||
	    (fds[1] >= 0) != ((process->how.flags & WARDEN_START_TERMINAL) != 0))
		(void)err_set(&err, ERR_PROTOCOL,
			      "a new process reported twice, or without its descriptors");
	else if (verify(warden, process, sender, &err) == 0)
		(void)let_go(warden, process, &err);
	if (err.code != ERR_OK)
		give_up(warden, process, &err);
}

static void boot_ready(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct box_process *process = watch->arg;
	struct launch_report report = { 0 };
	int fds[2] = { -1, -1 };
	pid_t sender = 0;
	const ssize_t n = receive(process->boot, &report, fds, &sender);
	struct err err;

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n == (ssize_t)sizeof(report) && report.kind == LAUNCH_READY &&
	    process->as.made.notify_fd < 0) {
		on_ready(warden, process, sender, fds);
		return;
	}
	fd_close_all(fds, fds[0] < 0 ? 0 : fds[1] < 0 ? 1 : 2);
	if (n == 0 && process->state == PROCESS_BEGINNING) {
		begin(warden, process);
		return;
	}
	if (n == (ssize_t)sizeof(report) && report.kind == LAUNCH_FAILED) {
		report.err.text[sizeof(report.err.text) - 1] = '\0';
		report.err.remedy[sizeof(report.err.remedy) - 1] = '\0';
		if (report.err.code >= ERR_OK)
			report.err.code = ERR_SYSTEM;
		err = report.err;
	} else {
		(void)err_set(&err, ERR_LOST, "a new process ended before it was ready");
	}
	give_up(warden, process, &err);
}

/* The process ended before the warden knew that its program runs. The socket tells whether it
 * failed or its program was quick; see begin(). */
static void ended_early(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct box_process *process = watch->arg;

	(void)events;
	watch_remove(warden, watch);
	boot_ready(warden, &process->boot_watch, 0);
}

/* The launch timer; process_timer() replaces it once the program runs. */
static void on_time(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct box_process *process = watch->arg;
	uint64_t ignored;
	struct err err;

	(void)events;
	(void)!read(watch->fd, &ignored, sizeof(ignored));
	if (process->as.session->frozen != NULL)
		return;
	if (clock_mono_ns() < process->deadline_ns) {
		process_set_timer(process);
		return;
	}
	(void)err_set(&err, ERR_TIMEOUT, "a new process was not ready within %d s",
		      LAUNCH_MS / 1000);
	give_up(warden, process, &err);
}

/* ---- START ---------------------------------------------------------------------------------- */

static int check(const struct session *session, const struct warden_start *how, size_t nfds,
		 struct err *err)
{
	const bool has_terminal = (how->flags & WARDEN_START_TERMINAL) != 0;
	size_t terminals = 0;

	for (const struct box_process *at = session->processes; at != NULL; at = at->next)
		terminals += at->state != PROCESS_ENDED &&
			     (at->how.flags & WARDEN_START_TERMINAL) != 0;
	if ((how->flags & ~(WARDEN_START_TERMINAL | WARDEN_START_DETACH)) != 0 ||
	    nfds != (has_terminal ? 1 : 4) || how->wall_ms > UINT64_MAX / 4000000u ||
	    how->cpu_ms > UINT64_MAX / 4000000u)
		return err_set(err, ERR_PROTOCOL, "malformed START request");
	if (session->state != SESSION_OPEN || session->init_reaped)
		return err_set(err, ERR_LOST, "the session's box is gone, with its files");
	if (session->process_count < WARDEN_PROCESSES_MAX &&
	    (!has_terminal || terminals < WARDEN_TERMINALS_MAX))
		return 0;
	(void)err_set(err, ERR_LIMIT, "the session has %zu processes, %zu of them with terminals: "
		      "as many as it may", session->process_count, terminals);
	return err_remedy(err, "end some, or open another session");
}

static struct box_process *process_new(struct warden *warden, struct session *session)
{
	struct box_process *process = mem_new0(1, sizeof(*process));

	process->as.session = session;
	process->as.id = ++warden->next_kernel;
	process->as.control_host = -1;
	process->as.made = (struct twin_kernel){ .kernel_pidfd = -1, .notify_fd = -1 };
	process->as.seed.boot = -1;
	process->as.end.twin_reaped = true;
	process->as.death_watch.fd = process->as.notify_watch.fd = -1;
	process->boot = process->master = -1;
	process->boot_watch.fd = process->timer_watch.fd = -1;
	process->next = session->processes;
	session->processes = process;
	session->process_count++;
	return process;
}

static int launch(struct warden *warden, struct box_process *process, const int *fds, size_t nfds,
		  struct err *err)
{
	const struct session *session = process->as.session;
	const int on = 1;
	cleanup_fd int theirs = -1;
	int pair[2];
	pid_t pid;

	if (cgroup_process_create(&warden->cgroups, session->shell.name, process->as.id, err) < 0)
		return (int)err->code;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	process->boot = pair[0];
	theirs = pair[1];
	if (setsockopt(process->boot, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return err_sys(err, "SO_PASSCRED");
	process->timer_watch = (struct watch){ .ready = on_time, .arg = process,
					       .fd = timerfd_create(CLOCK_MONOTONIC,
								    TFD_CLOEXEC | TFD_NONBLOCK) };
	if (process->timer_watch.fd < 0)
		return err_sys(err, "timerfd");
	pid = fork();
	if (pid == 0)
		exec_launcher(warden, session->of, theirs);
	if (pid < 0)
		return err_sys(err, "fork a launcher");
	process->boot_watch = (struct watch){ .ready = boot_ready, .arg = process,
					      .fd = process->boot };
	process->deadline_ns = clock_mono_ns() + LAUNCH_MS * 1000000ull;
	process_set_timer(process);
	if (cgroup_process_attach(&warden->cgroups, session->shell.name, process->as.id, pid, err) <
		    0 ||
	    watch_add(warden, &process->timer_watch, EPOLLIN, err) < 0 ||
	    watch_add(warden, &process->boot_watch, EPOLLIN, err) < 0)
		return (int)err->code;
	return send_plan(warden, process, fds, nfds, err);
}

int process_start(struct warden *warden, struct session *session, struct conn *conn,
		  const struct warden_request *request, const int *fds, size_t nfds,
		  struct err *err)
{
	struct box_process *process;

	if (check(session, &request->start, nfds, err) < 0)
		return (int)err->code;
	process_sweep_released(warden, session);
	process = process_new(warden, session);
	process->how = request->start;
	process->start_seq = request->seq;
	if (launch(warden, process, fds, nfds, err) < 0) {
		process_release(warden, process);
		return (int)err->code;
	}
	process->starter = conn;
	return 0;
}
