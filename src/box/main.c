/*
 * main.c - reckon-warden: builds boxes, makes kernels, kills and reaps.
 *
 * Runs in:  its own process, as root or as an ordinary user; one per user (or per engine).
 * Reads:    fixed-size requests of processes of the same user (wire/warden.h).
 * Never:    parses text from a client, talks to a network, or reads a byte a kernel wrote.
 *
 *   reckon-warden --listen-fd N | --client-fd N --templates DIR [--libexec DIR]
 *                 [--idle-seconds N] [--park N] [--shells N]
 *
 * An ordinary user's warden begins by making a user namespace in which it is root: from there on
 * the code is the same as root's, with one mapped uid.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file/fd.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/process/priority.h"
#include "box/clients/client.h"
#include "box/filter/denial.h"
#include "box/module.h"
#include "box/procfile.h"
#include "box/request.h"
#include "box/requests/answer.h"
#include "box/resources/resource.h"
#include "box/sessions/lease.h"
#include "box/sessions/session.h"
#include "box/state.h"
#include "box/sys.h"
#include "box/templates/template.h"
#include "box/twin/trace.h"

#define TICK_MS 20	  /* while waiting for something that raises no event */
/*
 * Pools are refilled when no event came for so long. Making a box blocks for some milliseconds
 * (box/twin/twin.h): the first cells of the session that emptied the pool take precedence.
 */
#define REFILL_AFTER_MS 25
#define FINISH_MS 3000
#define DENIAL_MS 2 /* see filter/denial.c */
#define BROKEN_IDLE_NS 2000000000ull
#define DESCRIPTORS_MIN 1024u /* the pools, some sessions; kernels take fixed numbers up to 200 */

static void reap(struct warden *warden)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
		if (WIFSTOPPED(status)) {
			/*
			 * Let a zygote that got a signal go on, and also a task of a box that
			 * stopped too late for a branch. Stopped twins report nothing, and SIGKILL
			 * needs no help.
			 */
			const int sig = status >> 16 == 0 ? WSTOPSIG(status) : 0;

			if (!zygote_is_one(warden, pid) || trace_pass_signal(pid, sig) != 0)
				(void)trace_stray(pid, status);
			continue;
		}
		session_reap(warden, pid, status);
		zygote_ended(warden, pid);
	}
	session_collect(warden);
}

static void on_signal(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct signalfd_siginfo info;

	(void)events;
	while (read(watch->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		if (info.ssi_signo != SIGCHLD)
			warden->stopping = true;
	reap(warden);
}

static void signals_awaited(sigset_t *ret)
{
	sigemptyset(ret);
	(void)sigaddset(ret, SIGCHLD);
	(void)sigaddset(ret, SIGTERM);
	(void)sigaddset(ret, SIGINT);
	(void)sigaddset(ret, SIGHUP);
}

static int write_own(const char *file, const char *text, struct err *err)
{
	cleanup_fd int fd = open(file, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return err_sys(err, "write %s", file);
	return 0;
}

/*
 * This process stays in the outer pid namespace, so that whoever started the warden sees its end.
 * It passes signals on, because others know only its pid; and it alone still sees which other
 * wardens live, so it removes the cgroups. If it is killed, pid 1 of the inner namespace dies with
 * it.
 */
__attribute__((noreturn)) static void wait_for(pid_t pid, struct cgroup_host *cgroups,
					       const sigset_t *awaited)
{
	int status = 0;

	(void)syscall(SYS_close_range, 0, ~0u, 0);
	while (waitpid(pid, &status, WNOHANG) == 0) {
		const int number = sigwaitinfo(awaited, NULL);

		if (number > 0 && number != SIGCHLD)
			(void)kill(pid, number);
	}
	cgroup_host_close(cgroups);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
}

/* A twin returns to its own pid namespace after it made a kernel, under the pid that the warden
 * knows: so the warden has to be in that namespace, too. */
static int become_pid_one(struct cgroup_host *cgroups, struct err *err)
{
	sigset_t awaited;
	pid_t pid;

	signals_awaited(&awaited);
	(void)sigprocmask(SIG_BLOCK, &awaited, NULL);
	pid = fork();
	if (pid < 0)
		return err_sys(err, "fork");
	if (pid > 0)
		wait_for(pid, cgroups, &awaited);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
		(void)err_sys(err, "mount /proc in a namespace of our own");
		return err_remedy(err, "do not mask /proc in the container that Reckon runs in");
	}
	return 0;
}

/* Whether the uids of boxes exist here: root of a container often has a few thousand, or one. */
static bool has_box_uids(void)
{
	cleanup_file FILE *file = fopen("/proc/self/uid_map", "re");
	char line[128];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		char *at = line;
		const uint64_t inside = strtoull(at, &at, 10);
		const uint64_t outside = strtoull(at, &at, 10);
		const uint64_t count = strtoull(at, &at, 10);

		(void)outside;
		if (inside <= STATE_UID_BASE &&
		    inside + count >= (uint64_t)STATE_UID_BASE + STATE_UID_COUNT)
			return true;
	}
	return false;
}

static bool is_host_root(void)
{
	const uint64_t sys_admin = 1u << 21; /* CAP_SYS_ADMIN */

	return geteuid() == 0 && has_box_uids() &&
	       (procfile_number(getpid(), "status", "CapEff:", 16, 0) & sys_admin) != 0;
}

static int become_namespace_root(struct warden *warden, struct err *err)
{
	char map[64];

	warden->real_uid = geteuid();
	warden->real_gid = getegid();
	warden->rootless = !is_host_root();
	if (!warden->rootless)
		return 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) < 0) {
		(void)err_sys(err, "make a user namespace");
		return err_remedy(err,
				  "allow them: sysctl user.max_user_namespaces, or an AppArmor "
				  "profile with userns; see reckon doctor");
	}
	(void)snprintf(map, sizeof(map), "0 %u 1", warden->real_uid);
	if (write_own("/proc/self/setgroups", "deny", err) < 0 ||
	    write_own("/proc/self/uid_map", map, err) < 0)
		return (int)err->code;
	(void)snprintf(map, sizeof(map), "0 %u 1", warden->real_gid);
	if (write_own("/proc/self/gid_map", map, err) < 0)
		return (int)err->code;
	return become_pid_one(&warden->cgroups, err);
}

/* The warden inherited a small limit from the client that started it, and later clients would get
 * it, too. */
static void be_broken_by_limit(struct warden *warden, rlim_t limit)
{
	if (warden->broken.code != ERR_OK)
		return;
	(void)err_set(&warden->broken, ERR_UNAVAILABLE,
		      "the limit of open files is %llu, and a warden needs %u",
		      (unsigned long long)limit, DESCRIPTORS_MIN);
	(void)err_remedy(&warden->broken,
			 "raise the hard limit (ulimit -Hn), wait two seconds, and "
			 "try again");
	log_line(LOG_WARN, "no session can start", "why=\"%s\"", warden->broken.text);
	warden->idle_ns = warden->idle_ns > 0 ? BROKEN_IDLE_NS : 0;
}

static int set_up(struct warden *warden, struct err *err)
{
	struct rlimit files = { STATE_DESCRIPTORS, STATE_DESCRIPTORS };
	struct rlimit now;
	sigset_t caught;

	priority_raise();
	/* Cgroups first: their files, and our pid in their names, belong to the outer
	 * namespaces. */
	cgroup_host_open(&warden->cgroups);
	if (become_namespace_root(warden, &warden->broken) < 0) {
		/* Report it to every client, and end soon: the host may be repaired meanwhile. */
		log_line(LOG_INFO, "no session can start", "why=\"%s\"", warden->broken.text);
		warden->idle_ns = warden->idle_ns > 0 ? BROKEN_IDLE_NS : 0;
	}
	if (warden->broken.code == ERR_OK)
		spare_make_sysctls(warden);
	warden->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (warden->epoll_fd < 0)
		return err_sys(err, "epoll");
	signals_awaited(&caught);
	(void)sigprocmask(SIG_BLOCK, &caught, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	warden->signal_fd = signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK);
	if (warden->signal_fd < 0)
		return err_sys(err, "signalfd");
	warden->signal_watch = (struct watch){ .ready = on_signal, .fd = warden->signal_fd };
	if (watch_add(warden, &warden->signal_watch, EPOLLIN, err) < 0 ||
	    sched_slice_setup(warden, err) < 0)
		return (int)err->code;
	/* Kernels whose twin died become our children. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
		return err_sys(err, "become the reaper");
	/* As many as possible: without the right to raise the hard limit, up to that limit. */
	if (getrlimit(RLIMIT_NOFILE, &now) == 0 && setrlimit(RLIMIT_NOFILE, &files) < 0) {
		now.rlim_cur = now.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &now);
		if (now.rlim_max < DESCRIPTORS_MIN)
			be_broken_by_limit(warden, now.rlim_max);
	}
	(void)umask(022);
	if (filter_compile(&warden->filter, err) < 0)
		return (int)err->code;
	return fd_memfd_sealed("reckon-filter", warden->filter.insn,
			       warden->filter.len * sizeof(warden->filter.insn[0]),
			       &warden->filter_fd, err);
}

/*
 * Handles one event; false if none came in time. One at a time, because a handler may free what a
 * later event names. epoll returns events in the order in which they came, and that order matters:
 * a client's BEGIN comes before the system calls of its cell.
 */
static bool dispatch(struct warden *warden, int timeout_ms)
{
	struct epoll_event event;
	struct watch *watch;

	if (epoll_wait(warden->epoll_fd, &event, 1, timeout_ms) <= 0)
		return false;
	watch = event.data.ptr;
	watch->ready(warden, watch, event.events);
	return true;
}

/* How long to wait for an event before the loop does something else. */
static int first_wait_ms(const struct warden *warden, bool refill)
{
	if (warden->denials_due_ns != 0)
		return DENIAL_MS;
	return refill ? REFILL_AFTER_MS : 0;
}

static bool is_idle(const struct warden *warden)
{
	return warden->idle_ns > 0 && warden->conn_count == 0 && warden->frozen_count == 0;
}

/*
 * Whether another warden program was installed since. New clients start that one, under another
 * name (lib/launch.c), and do not find this one any longer. Until its last client has gone, its
 * sessions still need it.
 */
static bool is_replaced(void)
{
	struct stat ours, there;
	char path[4096];
	const ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (len <= 0 || stat("/proc/self/exe", &ours) < 0)
		return false;
	/* If the program was deleted, the link ends with " (deleted)", and no such file exists. */
	path[len] = '\0';
	return stat(path, &there) < 0
		       ? errno == ENOENT
		       : there.st_ino != ours.st_ino || there.st_dev != ours.st_dev;
}

static void run(struct warden *warden)
{
	bool more = true, quiet = false;

	warden->idle_since = clock_mono_ns();
	while (!warden->stopping) {
		const bool dying = warden->dying_count > 0;

		denial_resume(warden);
		lease_tick(warden);
		rotate_start(warden);
		if (dispatch(warden, first_wait_ms(warden, more && !quiet))) {
			more = true;
			quiet = false;
			continue;
		}
		quiet = true;
		if (more) {
			more = pool_refill(warden);
			continue;
		}
		if (dying)
			session_collect(warden);
		if (is_idle(warden) && (clock_mono_ns() - warden->idle_since > warden->idle_ns ||
					is_replaced()))
			break;
		quiet = !dispatch(warden, warden->denials_due_ns != 0 ? DENIAL_MS
								      : dying ? TICK_MS : 1000);
		more = true;
	}
}

/* Kills everything and waits a limited time until it is reaped. */
static void finish(struct warden *warden)
{
	const uint64_t until = clock_mono_ns() + FINISH_MS * 1000000ull;
	const struct timespec pause = { .tv_nsec = 2000000 };

	warden->stopping = true;
	for (size_t i = 0; i < STATE_TEMPLATES_MAX; i++)
		if (warden->templates[i].used)
			template_drop(warden, &warden->templates[i]);
	for (size_t i = 0; i < warden->slot_count; i++)
		if (warden->sessions[i] != NULL)
			session_end(warden, warden->sessions[i]);
	for (;;) {
		bool left = false;

		reap(warden);
		for (size_t i = 0; i < warden->slot_count; i++)
			left = left || warden->sessions[i] != NULL;
		if (!left || clock_mono_ns() > until)
			break;
		(void)nanosleep(&pause, NULL);
	}
	cgroup_host_close(&warden->cgroups);
}

static const struct option options[] = {
	{ "listen-fd", required_argument, NULL, 'l' }, { "client-fd", required_argument, NULL, 'c' },
	{ "templates", required_argument, NULL, 't' }, { "libexec", required_argument, NULL, 'x' },
	{ "idle-seconds", required_argument, NULL, 'i' }, { "park", required_argument, NULL, 'p' },
	{ "shells", required_argument, NULL, 's' }, { "request-fd", required_argument, NULL, 'r' },
	{ "sweep", no_argument, NULL, 'w' }, { NULL, 0, NULL, 0 },
};

/* What the command line says that is not of the warden itself; -1: not given. */
struct given {
	int client, request;
	bool sweeps;
};

static int parse(struct warden *warden, int argc, char **argv, struct given *ret, struct err *err)
{
	ssize_t n;
	char *slash;
	int opt;

	n = readlink("/proc/self/exe", warden->libexec_dir, sizeof(warden->libexec_dir) - 1);
	slash = n > 0 ? strrchr(warden->libexec_dir, '/') : NULL;
	if (slash != NULL)
		*slash = '\0';
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		const unsigned long number = optarg != NULL ? strtoul(optarg, NULL, 10) : 0;

		switch (opt) {
		case 'l':
			warden->listen_fd = (int)number;
			break;
		case 'c':
			ret->client = (int)number;
			break;
		case 'r':
			ret->request = (int)number;
			break;
		case 'w':
			ret->sweeps = true;
			break;
		case 't':
			(void)snprintf(warden->template_dir, sizeof(warden->template_dir), "%s",
				       optarg);
			break;
		case 'x':
			(void)snprintf(warden->libexec_dir, sizeof(warden->libexec_dir), "%s",
				       optarg);
			break;
		case 'i':
			warden->idle_ns = number * 1000000000ull;
			break;
		case 'p':
			warden->park_target = number > 0 ? 1 : 0;
			break;
		case 's':
			warden->shell_target = (unsigned)number;
			break;
		default:
			return err_set(err, ERR_INVALID, "unknown option");
		}
	}
	if (ret->sweeps || ret->request >= 0)
		return 0;
	if (warden->template_dir[0] == '\0' || (warden->listen_fd < 0) == (ret->client < 0))
		return err_set(err, ERR_INVALID,
			       "needs --templates and one of --listen-fd, --client-fd, or "
			       "--request-fd, or --sweep");
	return 0;
}

static int start(struct warden *warden, int client, struct err *err)
{
	if (warden->listen_fd >= 0) {
		warden->listen_watch = (struct watch){ .ready = client_accept,
						       .fd = warden->listen_fd };
		(void)fcntl(warden->listen_fd, F_SETFD, FD_CLOEXEC);
		return watch_add(warden, &warden->listen_watch, EPOLLIN, err);
	}
	(void)fcntl(client, F_SETFD, FD_CLOEXEC);
	warden->single_client = true;
	return client_adopt(warden, client, err);
}

static const struct module *const modules[] = { &sessions_module, &processes_module, &templates_module,
						&requests_module, NULL };

/* Everything until it serves, and whoever asked for it is told how that went. */
static int begin(struct warden *warden, const struct given *given, struct err *err)
{
	const char *rotate;

	if (given->request >= 0 && request_take(warden, given->request, err) < 0)
		return (int)err->code;
	log_init("warden");
	rotate = getenv("RECKON_ROTATE");
	if (rotate != NULL)
		warden->rotate_kernels = (unsigned)strtoul(rotate, NULL, 10);
	if (set_up(warden, err) < 0 || start(warden, given->client, err) < 0)
		return (int)err->code;
	return 0;
}

int main(int argc, char **argv)
{
	struct warden *warden = mem_new0(1, sizeof(*warden));
	struct given given = { .client = -1, .request = -1 };
	struct err err = { 0 };
	int code;

	log_init("warden");
	warden->modules = modules;
	warden->on_request = server_answer;
	warden->listen_fd = -1;
	warden->park_target = 1;
	warden->shell_target = 2;
	code = parse(warden, argc, argv, &given, &err);
	if (code == 0 && given.sweeps) {
		cgroup_host_sweep();
		return 0;
	}
	if (code == 0)
		code = begin(warden, &given, &err);
	request_answer(given.request, &err);
	if (code < 0) {
		log_line(LOG_ERROR, "cannot start", "why=\"%s\" remedy=\"%s\"", err.text,
			 err.remedy);
		return 125;
	}
	run(warden);
	finish(warden);
	free(warden);
	return 0;
}
