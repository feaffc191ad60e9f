/*
 * session.c - makes, finds, ends and reaps sessions.
 *
 * Runs in:  the warden.
 * Reads:    nothing that a client sent.
 * Never:    reads a byte that a kernel wrote.
 */
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "box/clients/client.h"
#include "box/processes/process.h"
#include "box/resources/resource.h"
#include "box/sessions/freeze.h"
#include "box/sessions/lease.h"
#include "box/sessions/session.h"
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
	plan.netns_fd = spare_take_netns(warden);
	plan.sysctl_dir = spare_sysctl_dir(warden, slot);
	session = mem_new0(1, sizeof(*session));
	if (shell_build(&plan, &session->shell, err) < 0) {
		spare_keep_netns(warden, plan.netns_fd);
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

/* An out-of-memory kill takes the twin too, and the kernel's status may arrive here first. */
static void reap_kernel(struct box_kernel *kernel, pid_t pid, int status)
{
	if (kernel->made.twin == pid) {
		kernel->end.twin_reaped = true;
		kernel->made.twin = 0;
	}
	if (kernel->made.kernel == pid) {
		kernel->end.kernel_reaped = true;
		kernel->end.status = status;
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
		/* Nothing to do if pid 1 or a twin died: the kernel's pidfd reports the kernel's
		 * end. */
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
		spare_keep_netns(warden, netns);
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
