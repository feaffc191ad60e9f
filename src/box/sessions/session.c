/*
 * session.c - the life of a session as the warden sees it.
 *
 * Runs in:  the warden.
 * Reads:    what server.c has checked.
 * Never:    reads a byte that a kernel wrote.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/mem.h"
#include "box/sessions/freeze.h"
#include "box/twin/copy.h"
#include "box/walls/guard.h"
#include "box/processes/process.h"
#include "box/twin/resume.h"
#include "box/state.h"

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
	plan.sysctl_dir = pool_sysctl_dir(warden, slot);
	session = mem_new0(1, sizeof(*session));
	if (shell_build(&plan, &session->shell, err) < 0) {
		pool_recycle_netns(warden, plan.netns_fd);
		free(session);
		return (int)err->code;
	}
	session->state = SESSION_SHELL;
	session->of = of;
	session->stamp = of->stamp;
	session->id = ++warden->next_session;
	session->limits = limits;
	(void)kernel_new(session, 0);
	warden->sessions[slot] = session;
	*ret = session;
	return 0;
}

int session_zygote(struct warden *warden, struct template *of, const char *language,
		   uint32_t flags, struct zygote_proc **ret, enum warden_warmth *ret_warmth,
		   struct err *err)
{
	const struct language *spoken = language_find(language);
	struct zygote_proc *warm = NULL, *cold = NULL;
	unsigned bare, preloaded;

	*ret_warmth = WARDEN_COLD;
	if (spoken == NULL)
		return language_unknown(language, err);
	bare = zygote_kind(spoken, false);
	preloaded = zygote_kind(spoken, true);
	if ((flags & WARDEN_OPEN_NO_WARM) != 0 || (spoken->features & LANGUAGE_PRELOADS) == 0)
		return template_zygote(warden, of, bare, ret, err);
	if ((flags & WARDEN_OPEN_WAIT_WARM) == 0 && of->zygotes[preloaded]->state != ZYGOTE_WARM &&
	    of->zygotes[preloaded]->state != ZYGOTE_FAILED) {
		/* The bare interpreter is there in a few milliseconds and serves the first call;
		 * the preloaded one warms up next to it. */
		if (template_zygote(warden, of, bare, &cold, err) < 0)
			return (int)err->code;
		if (cold != NULL && template_zygote(warden, of, preloaded, &warm, err) < 0)
			return (int)err->code;
		*ret = cold;
		return 0;
	}
	*ret_warmth = WARDEN_WARM;
	return template_zygote(warden, of, preloaded, ret, err);
}

static int take_or_spawn(struct warden *warden, struct template *of, const struct warden_open *open,
			 struct zygote_proc *zygote, struct session **ret,
			 enum warden_warmth *warmth, struct err *err)
{
	const uint64_t start = clock_mono_ns();
	uint64_t boxed;

	/* Of another language that preloads, nothing is parked. */
	if (of->parked != NULL && *warmth == WARDEN_WARM && zygote->kind == zygote_usual_kind() &&
	    (open->flags & (WARDEN_OPEN_NO_PARKED | WARDEN_OPEN_NO_SPECULATION)) == 0) {
		*ret = of->parked;
		of->parked = NULL;
		*warmth = WARDEN_PARKED;
		(*ret)->shell_us = (*ret)->spawn_us = 0;
		return 0;
	}
	/* What was begun was told how before anybody asked for anything. */
	if (pool_take_shell(warden, of,
			    (open->flags & WARDEN_OPEN_NO_SPECULATION) == 0 ? zygote : NULL, ret,
			    err) < 0)
		return (int)err->code;
	boxed = clock_mono_ns();
	(*ret)->guards = open->flags & (WARDEN_OPEN_CORE_SCHEDULING | WARDEN_OPEN_NO_SPECULATION);
	if (kernel_spawn(warden, (*ret)->kernels[0], zygote, err) < 0) {
		session_end(warden, *ret);
		return (int)err->code;
	}
	(*ret)->shell_us = (uint32_t)((boxed - start) / 1000);
	(*ret)->spawn_us = (uint32_t)((clock_mono_ns() - boxed) / 1000);
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
	if (session_zygote(warden, of, open->language, open->flags, &zygote, ret_warmth, err) < 0)
		return (int)err->code;
	if (zygote == NULL)
		return 0;
	if (take_or_spawn(warden, of, open, zygote, &session, ret_warmth, err) < 0)
		return (int)err->code;
	session->limits = open->limits;
	limits_fill(of, &session->limits);
	session->guards = open->flags & (WARDEN_OPEN_CORE_SCHEDULING | WARDEN_OPEN_NO_SPECULATION);
	if (group_enter(warden, session, &open->group, err) < 0 ||
	    limits_apply(warden, session, err) < 0 ||
	    raise_guards(session, &session->kernels[0]->made, err) < 0 ||
	    hostdir_mount(warden, session, open, mount_fds, err) < 0) {
		session_end(warden, session);
		return (int)err->code;
	}
	(void)snprintf(session->kernels[0]->language, sizeof(session->kernels[0]->language), "%s",
		       open->language);
	session->state = SESSION_OPEN;
	*ret = session;
	return 0;
}

struct branch_files {
	const struct warden *warden;
	const struct box_kernel *from;
	struct session *to;
	struct resume files; /* what the parent has open */
};

static int copy_while_still(void *arg, struct err *err)
{
	struct branch_files *files = arg;

	resume_collect(&files->files, files->from->made.kernel);
	return copy_workspace(&files->from->session->shell, &files->to->shell, err);
}

/* The copy's memory is the user's: nothing of it runs before this. */
static int finish_copy(void *arg, const struct twin_kernel *made, struct err *err)
{
	const struct branch_files *files = arg;

	if (limits_apply_process(files->warden, files->to, made->kernel, err) < 0)
		return (int)err->code;
	return raise_guards(files->to, made, err);
}

int session_branch(struct warden *warden, struct box_kernel *parent, struct session **ret,
		   struct err *err)
{
	const struct session *from = parent->session;
	struct session *session;
	struct box_kernel *kernel;
	struct branch_files files = { .warden = warden, .from = parent };
	struct twin_branch how = { .parent = &parent->made,
				   .parent_shell = &from->shell,
				   .cgroups = &warden->cgroups,
				   .filter = warden->filter.insn,
				   .filter_len = warden->filter.len,
				   .while_still = copy_while_still,
				   .before_start = finish_copy,
				   .no_speculation = (from->guards &
						      WARDEN_OPEN_NO_SPECULATION) != 0,
				   .arg = &files };
	cleanup_fd int kernel_end = -1;
	int pair[2], code;

	if (from->state != SESSION_OPEN || !parent->is_up)
		return err_set(err, ERR_LOST, "the kernel has ended");
	if (pool_take_shell(warden, from->of, NULL, &session, err) < 0)
		return (int)err->code;
	kernel = session->kernels[0];
	kernel_drop_seed(kernel);
	memcpy(kernel->language, parent->language, sizeof(kernel->language));
	session->limits = from->limits;
	session->guards = from->guards;
	files.to = session;
	how.shell = &session->shell;
	code = group_follow(warden, session, from, err);
	if (code == 0)
		code = limits_apply(warden, session, err);
	if (code == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		code = err_sys(err, "socketpair");
	if (code == 0) {
		kernel->control_host = pair[0];
		kernel_end = pair[1];
		how.control_fd = kernel_end;
		code = twin_branch(&how, &kernel->made, err);
	}
	if (code == 0)
		code = kernel_watch(warden, kernel, err);
	if (code == 0)
		code = resume_send(&files.files, kernel->control_host, err);
	if (code < 0) {
		session_end(warden, session);
		return code;
	}
	session->state = SESSION_OPEN;
	*ret = session;
	return 0;
}

struct session *session_find(const struct conn *conn, uint32_t id)
{
	if (conn->is_member)
		return conn->member_of != NULL && conn->member_of->id == id ? conn->member_of
									    : NULL;
	for (struct session *at = conn->sessions; at != NULL; at = at->next_of_conn)
		if (at->id == id)
			return at;
	return NULL;
}

void session_leave_conn(struct session *session)
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
	freeze_end(session);
	shell_kill(&session->shell);
	for (size_t i = 0; i < WARDEN_KERNELS_MAX; i++)
		if (session->kernels[i] != NULL)
			kernel_kill(warden, session->kernels[i]);
	process_drop_all(warden, session);
	cgroup_kill(&warden->cgroups, session->shell.name);
	client_forget_session(warden, session);
	lease_drop(warden, session);
	session->state = SESSION_DYING;
	warden->dying_count++;
	session_leave_conn(session);
}

/* Out of memory takes the twin too, and the kernel's status may be here first. */
static void reap_kernel(struct box_kernel *kernel, pid_t pid, int status)
{
	if (kernel->made.twin == pid) {
		kernel->twin_reaped = true;
		kernel->made.twin = 0;
	}
	if (kernel->made.kernel == pid) {
		kernel->kernel_reaped = true;
		kernel->status = status;
	}
}

void session_reap(struct warden *warden, pid_t pid, int status)
{
	for (size_t i = 0; i < warden->slot_count; i++) {
		struct session *at = warden->sessions[i];

		if (at == NULL)
			continue;
		if (at->shell.init == pid)
			at->init_reaped = true;
		for (size_t k = 0; k < WARDEN_KERNELS_MAX; k++)
			if (at->kernels[k] != NULL)
				reap_kernel(at->kernels[k], pid, status);
		process_reap(at, pid, status);
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
		if (!process_remove_all(warden, at) ||
		    cgroup_remove(&warden->cgroups, at->shell.name, &err) < 0)
			continue;
		group_leave(warden, at);
		shell_done(&at->shell, &netns);
		pool_recycle_netns(warden, netns);
		for (size_t k = 0; k < WARDEN_KERNELS_MAX; k++)
			if (at->kernels[k] != NULL) {
				twin_done(&at->kernels[k]->made);
				free(at->kernels[k]);
			}
		warden->sessions[i] = NULL;
		warden->dying_count--;
		if (i < warden->free_slot)
			warden->free_slot = i;
		free(at);
	}
}
