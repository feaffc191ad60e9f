/*
 * session.c - the life of a session as the warden sees it.
 *
 * Runs in:  the warden.
 * Reads:    what server.c has checked.
 * Never:    reads a byte that a kernel wrote.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "box/copy.h"
#include "box/guard.h"
#include "box/resume.h"
#include "box/state.h"
#include "box/verify.h"

#define COLLECT_TRIES 2000 /* of 0.1 ms: what is killed ends sooner */

static uid_t host_uid_of(const struct warden *warden, unsigned slot)
{
	if (warden->rootless)
		return warden->real_uid;
	/* Wardens of one host must not share uids; their pids tell them apart. */
	return STATE_UID_BASE + ((unsigned)getpid() % 65536u) * STATE_SESSIONS_MAX + slot;
}

static int free_slot(struct warden *warden, unsigned *ret, struct err *err)
{
	for (size_t slot = warden->free_slot; slot < STATE_SESSIONS_MAX; slot++)
		if (warden->sessions[slot] == NULL) {
			*ret = (unsigned)slot;
			warden->free_slot = slot;
			if (slot >= warden->slot_count)
				warden->slot_count = slot + 1;
			return 0;
		}
	return err_set(err, ERR_LIMIT, "%d sessions are open", STATE_SESSIONS_MAX);
}

static int root_ns_of(const struct template *of)
{
	for (int k = 0; k < ZYGOTE_KINDS; k++)
		if (of->zygotes[k]->state == ZYGOTE_WARM)
			return of->zygotes[k]->root_ns_fd;
	return -1;
}

int session_new(struct warden *warden, struct template *of, struct session **ret, struct err *err)
{
	struct warden_limits limits = { 0 };
	struct shell_plan plan = { .cgroups = &warden->cgroups, .root_ns_fd = root_ns_of(of) };
	struct session *session;
	unsigned slot = 0;

	if (free_slot(warden, &slot, err) < 0)
		return (int)err->code;
	limits_fill(of, &limits);
	plan.slot = slot;
	plan.host_uid = host_uid_of(warden, slot);
	plan.host_gid = warden->rootless ? warden->real_gid : plan.host_uid;
	plan.uid = warden->rootless ? 0 : plan.host_uid;
	plan.gid = warden->rootless ? 0 : plan.host_gid;
	plan.quota = (struct mount_quota){ .disk_bytes = limits.disk_bytes,
					   .memory_bytes = limits.memory_bytes,
					   .inodes = limits.inodes,
					   .uid = plan.uid,
					   .gid = plan.gid };
	plan.netns_fd = pool_take_netns(warden);
	session = mem_new0(1, sizeof(*session));
	session->control_host = -1;
	session->kernel = (struct twin_kernel){ .kernel_pidfd = -1, .notify_fd = -1 };
	session->seed.boot = -1;
	if (shell_build(&plan, &session->shell, err) < 0) {
		pool_recycle_netns(warden, plan.netns_fd);
		free(session);
		return (int)err->code;
	}
	session->state = SESSION_SHELL;
	session->of = of;
	session->id = ++warden->next_session;
	session->limits = limits;
	session->twin_reaped = true;
	warden->sessions[slot] = session;
	*ret = session;
	return 0;
}

static const char *describe_end(const struct warden_ended *ended)
{
	static const char *const names[] = { "?", "exit", "signal", "oom", "closed", "syscall" };

	return ended->cause < ARRAY_LEN(names) ? names[ended->cause] : "?";
}

/*
 * Wait status of an ended kernel. Its parent is the twin, which will never wait for it: with the
 * twin gone the kernel comes to us, its subreaper. (Its /proc entry would show the status only to
 * who may trace it, and an ended process cannot be shown to be ours.)
 */
static int collect_status(struct session *session)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	const pid_t kernel = session->kernel.kernel;
	int ignored;

	twin_kill(&session->kernel);
	for (int tries = 0; !session->kernel_reaped && tries < COLLECT_TRIES; tries++) {
		if (!session->twin_reaped &&
		    waitpid(session->kernel.twin, &ignored, __WALL | WNOHANG) == session->kernel.twin &&
		    !WIFSTOPPED(ignored))
			session->twin_reaped = true;
		if (waitpid(kernel, &session->kernel_status, __WALL | WNOHANG) == kernel)
			session->kernel_reaped = true;
		else
			(void)nanosleep(&pause, NULL);
	}
	/* Never to be killed again: the number may soon be somebody else's. */
	session->kernel.twin = 0;
	return session->kernel_status;
}

static void note_end(struct warden *warden, struct session *session)
{
	struct warden_ended *ended = &session->ended;
	int status;

	/* The accounts first: those in /proc go with the status. */
	usage_read(warden, session, &ended->usage);
	status = collect_status(session);
	if ((status & 0x7f) != 0) {
		ended->cause = WARDEN_END_SIGNAL;
		ended->detail = status & 0x7f;
	} else {
		ended->cause = WARDEN_END_EXIT;
		ended->detail = status >> 8 & 0xff;
	}
	if (ended->cause == WARDEN_END_SIGNAL && ended->detail == SIGKILL &&
	    ended->usage.oom_kills > 0)
		ended->cause = WARDEN_END_OOM;
	else if (ended->cause == WARDEN_END_SIGNAL && ended->detail == SIGSYS)
		ended->cause = WARDEN_END_SYSCALL;
	log_line(LOG_INFO, "kernel ended", "session=%u cause=%s detail=%d", session->id,
		 describe_end(ended), ended->detail);
}

/* The kernel's pidfd became readable: it ended. Everything else of the box ends with it. */
static void kernel_ended(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct session *session = watch->arg;

	(void)events;
	note_end(warden, session);
	watch_remove(warden, &session->death_watch);
	if (session->state == SESSION_PARKED) {
		session->of->parked = NULL;
		session_end(warden, session);
		return;
	}
	session->state = SESSION_ENDED;
	shell_kill(&session->shell);
	server_session_ended(warden, session);
}

static int watch_kernel(struct warden *warden, struct session *session, struct err *err)
{
	session->twin_reaped = false;
	session->death_watch = (struct watch){ .ready = kernel_ended, .arg = session,
					       .fd = session->kernel.kernel_pidfd };
	session->notify_watch = (struct watch){ .ready = denial_ready, .arg = session,
						.fd = session->kernel.notify_fd };
	if (verify_kernel(session->kernel.kernel, warden->rootless, err) < 0)
		return (int)err->code;
	if (watch_add(warden, &session->death_watch, EPOLLIN, err) < 0)
		return (int)err->code;
	return watch_add(warden, &session->notify_watch, EPOLLIN, err);
}

void session_drop_seed(struct session *session)
{
	twin_drop(&session->seed);
	if (session->control_host >= 0)
		(void)close(TAKE_FD(session->control_host));
}

static struct twin_spawn spawn_of(const struct warden *warden, const struct session *session,
				  const struct zygote_proc *zygote)
{
	return (struct twin_spawn){ .zygote = zygote->pid,
				    .zygote_sock = zygote->sock,
				    .traced = zygote->traced,
				    .shell = &session->shell,
				    .cgroups = &warden->cgroups,
				    .no_speculation = (session->guards &
						       WARDEN_OPEN_NO_SPECULATION) != 0 };
}

int session_seed(struct warden *warden, struct session *session, struct zygote_proc *zygote,
		 struct err *err)
{
	struct twin_spawn how = spawn_of(warden, session, zygote);
	cleanup_fd int kernel_end = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	session->control_host = pair[0];
	kernel_end = pair[1];
	how.control_fd = kernel_end;
	zygote->kernels++;
	if (twin_prepare(&how, &session->seed, err) < 0) {
		session_drop_seed(session);
		return (int)err->code;
	}
	return 0;
}

int session_spawn(struct warden *warden, struct session *session, struct zygote_proc *zygote,
		  struct err *err)
{
	struct twin_spawn how = spawn_of(warden, session, zygote);

	/* A seed was told how to begin before anybody asked for anything. */
	if (session->seed.twin > 0 &&
	    (session->seed.zygote != zygote->pid || how.no_speculation))
		session_drop_seed(session);
	if (session->seed.twin == 0 && session_seed(warden, session, zygote, err) < 0)
		return err_wrap(err, "start a kernel");
	if (twin_complete(&how, &session->seed, &session->kernel, err) < 0)
		return err_wrap(err, "start a kernel");
	session->zygote = zygote->pid;
	return watch_kernel(warden, session, err);
}

/* Which zygote an OPEN is served from; NULL while it has to wait. */
static int choose_zygote(struct warden *warden, struct template *of, const struct warden_open *open,
			 struct zygote_proc **ret, enum warden_warmth *ret_warmth, struct err *err)
{
	struct zygote_proc *warm = NULL, *cold = NULL;

	*ret_warmth = WARDEN_COLD;
	if (strcmp(open->language, "bash") == 0)
		return template_zygote(warden, of, ZYGOTE_BASH, ret, err);
	if (strcmp(open->language, "python") != 0) {
		(void)err_set(err, ERR_INVALID, "no kernel for the language \"%.40s\"",
			      open->language);
		return err_remedy(err, "languages are: python, bash");
	}
	if ((open->flags & WARDEN_OPEN_NO_WARM) != 0)
		return template_zygote(warden, of, ZYGOTE_PYTHON_COLD, ret, err);
	if ((open->flags & WARDEN_OPEN_WAIT_WARM) == 0 &&
	    of->zygotes[ZYGOTE_PYTHON_WARM]->state != ZYGOTE_WARM &&
	    of->zygotes[ZYGOTE_PYTHON_WARM]->state != ZYGOTE_FAILED) {
		/* The bare interpreter is there in a few milliseconds and serves the first call;
		 * the preloaded one warms up next to it. */
		if (template_zygote(warden, of, ZYGOTE_PYTHON_COLD, &cold, err) < 0)
			return (int)err->code;
		if (cold != NULL && template_zygote(warden, of, ZYGOTE_PYTHON_WARM, &warm, err) < 0)
			return (int)err->code;
		*ret = cold;
		return 0;
	}
	*ret_warmth = WARDEN_WARM;
	return template_zygote(warden, of, ZYGOTE_PYTHON_WARM, ret, err);
}

static int take_or_spawn(struct warden *warden, struct template *of, const struct warden_open *open,
			 struct zygote_proc *zygote, struct session **ret,
			 enum warden_warmth *warmth, struct err *err)
{
	if (of->parked != NULL && *warmth == WARDEN_WARM &&
	    (open->flags & (WARDEN_OPEN_NO_PARKED | WARDEN_OPEN_NO_SPECULATION)) == 0) {
		*ret = of->parked;
		of->parked = NULL;
		*warmth = WARDEN_PARKED;
		return 0;
	}
	if (pool_take_shell(warden, of, ret, err) < 0)
		return (int)err->code;
	(*ret)->guards = open->flags & (WARDEN_OPEN_CORE_SCHEDULING | WARDEN_OPEN_NO_SPECULATION);
	if (session_spawn(warden, *ret, zygote, err) < 0) {
		session_end(warden, *ret);
		return (int)err->code;
	}
	return 0;
}

/* Before the session is its client's: it has run nothing of the user's yet. */
static int raise_guards(struct session *session, const struct twin_kernel *made, struct err *err)
{
	/* A plain parent of a kernel without twin runs none of its memory, and stays outside. */
	const pid_t pids[3] = { made->kernel, session->shell.init, made->twin };

	return guard_raise(session->guards, pids, made->traced ? 3 : 2, made->kernel,
			   &session->unheld, err);
}

int session_open(struct warden *warden, const struct warden_open *open, const int *mount_fds,
		 struct session **ret, enum warden_warmth *ret_warmth, struct err *err)
{
	struct template *of;
	struct zygote_proc *zygote;
	struct session *session;

	*ret = NULL;
	if (template_find(warden, open->template_name, &of, err) < 0)
		return (int)err->code;
	if (choose_zygote(warden, of, open, &zygote, ret_warmth, err) < 0)
		return (int)err->code;
	if (zygote == NULL)
		return 0;
	if (take_or_spawn(warden, of, open, zygote, &session, ret_warmth, err) < 0)
		return (int)err->code;
	session->limits = open->limits;
	limits_fill(of, &session->limits);
	session->guards = open->flags & (WARDEN_OPEN_CORE_SCHEDULING | WARDEN_OPEN_NO_SPECULATION);
	if (limits_apply(warden, session, err) < 0 ||
	    raise_guards(session, &session->kernel, err) < 0 ||
	    hostdir_mount(warden, session, open, mount_fds, err) < 0) {
		session_end(warden, session);
		return (int)err->code;
	}
	session->state = SESSION_OPEN;
	*ret = session;
	return 0;
}

struct branch_files {
	const struct warden *warden;
	const struct session *from;
	struct session *to;
	struct resume files; /* what the parent has open */
};

static int copy_while_still(void *arg, struct err *err)
{
	struct branch_files *files = arg;

	resume_collect(&files->files, files->from->kernel.kernel);
	return copy_workspace(&files->from->shell, &files->to->shell, err);
}

/* The copy's memory is the user's: nothing of it runs before this. */
static int finish_copy(void *arg, const struct twin_kernel *made, struct err *err)
{
	const struct branch_files *files = arg;

	if (limits_apply_process(files->warden, files->to, made->kernel, err) < 0)
		return (int)err->code;
	return raise_guards(files->to, made, err);
}

int session_branch(struct warden *warden, struct session *parent, struct session **ret,
		   struct err *err)
{
	struct session *session;
	struct branch_files files = { .warden = warden, .from = parent };
	struct twin_branch how = { .parent = &parent->kernel,
				   .parent_shell = &parent->shell,
				   .cgroups = &warden->cgroups,
				   .filter = warden->filter.insn,
				   .filter_len = warden->filter.len,
				   .while_still = copy_while_still,
				   .before_start = finish_copy,
				   .no_speculation = (parent->guards &
						      WARDEN_OPEN_NO_SPECULATION) != 0,
				   .arg = &files };
	cleanup_fd int kernel_end = -1;
	int pair[2], code;

	if (parent->state != SESSION_OPEN)
		return err_set(err, ERR_LOST, "the session has ended");
	if (pool_take_shell(warden, parent->of, &session, err) < 0)
		return (int)err->code;
	session_drop_seed(session);
	session->limits = parent->limits;
	session->guards = parent->guards;
	files.to = session;
	how.shell = &session->shell;
	code = limits_apply(warden, session, err);
	if (code == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		code = err_sys(err, "socketpair");
	if (code == 0) {
		session->control_host = pair[0];
		kernel_end = pair[1];
		how.control_fd = kernel_end;
		code = twin_branch(&how, &session->kernel, err);
	}
	if (code == 0)
		code = watch_kernel(warden, session, err);
	if (code == 0)
		code = resume_send(&files.files, session->control_host, err);
	if (code < 0) {
		session_end(warden, session);
		return code;
	}
	session->state = SESSION_OPEN;
	*ret = session;
	return 0;
}

struct session *session_find(struct warden *warden, const struct conn *conn, uint32_t id)
{
	(void)warden;
	for (struct session *at = conn->sessions; at != NULL; at = at->next_of_conn)
		if (at->id == id)
			return at;
	return NULL;
}

/* Its client has it no more. */
static void leave_conn(struct session *session)
{
	struct session **at;

	if (session->conn == NULL)
		return;
	at = &session->conn->sessions;
	while (*at != NULL && *at != session)
		at = &(*at)->next_of_conn;
	if (*at != NULL)
		*at = session->next_of_conn;
	session->conn = NULL;
}

void session_end(struct warden *warden, struct session *session)
{
	if (session->state == SESSION_DYING)
		return;
	if (session->state != SESSION_SHELL || session->kernel.kernel > 0) {
		watch_remove(warden, &session->death_watch);
		watch_remove(warden, &session->notify_watch);
	}
	shell_kill(&session->shell);
	twin_kill(&session->kernel);
	twin_drop(&session->seed);
	cgroup_kill(&warden->cgroups, session->shell.name);
	if (session->control_host >= 0)
		(void)close(session->control_host);
	session->control_host = -1;
	session->state = SESSION_DYING;
	warden->dying_count++;
	leave_conn(session);
}

void session_reap(struct warden *warden, pid_t pid, int status)
{
	for (size_t i = 0; i < warden->slot_count; i++) {
		struct session *at = warden->sessions[i];

		if (at == NULL)
			continue;
		if (at->shell.init == pid)
			at->init_reaped = true;
		if (at->kernel.twin == pid) {
			at->twin_reaped = true;
			at->kernel.twin = 0;
		}
		/* Out of memory takes the twin too, and the kernel's status may be here first. */
		if (at->kernel.kernel == pid) {
			at->kernel_reaped = true;
			at->kernel_status = status;
		}
		/* Pid 1 or the twin gone means that the kernel is gone or going: its pidfd says so. */
	}
}

void session_collect(struct warden *warden)
{
	for (size_t i = 0; i < warden->slot_count; i++) {
		struct session *at = warden->sessions[i];
		struct err err;
		int netns;

		if (at == NULL || at->state != SESSION_DYING || !at->init_reaped)
			continue;
		if (cgroup_remove(&warden->cgroups, at->shell.name, &err) < 0)
			continue;
		shell_done(&at->shell, &netns);
		pool_recycle_netns(warden, netns);
		twin_done(&at->kernel);
		warden->sessions[i] = NULL;
		warden->dying_count--;
		if (i < warden->free_slot)
			warden->free_slot = i;
		free(at);
	}
}
