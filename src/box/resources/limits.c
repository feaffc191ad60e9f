/*
 * limits.c - fills in the limits of a box, and applies them from outside.
 *
 * Runs in:  the warden.
 * Reads:    a request that server.c has checked.
 * Never:    asks the kernel process for cooperation.
 *
 * Memory has two bounds. RLIMIT_DATA bounds each process of the box to memory_bytes above what it
 * inherited, so that an allocation fails and the program sees MemoryError. The memory cgroup bounds
 * the whole box; the workspace lives in memory too, so its quota is added there: files that fit the
 * disk quota must not get a program killed.
 */
#include <string.h>
#include <sys/resource.h>

#include "box/procfile.h"
#include "box/resources/resource.h"
#include "box/state.h"

#define PIDS_MAX 4194304u /* PID_MAX_LIMIT of 64-bit kernels */

#define GIB (1ull << 30)
#define BOX_OWN_PIDS 1 /* reckon-init */
#define NPROC_SLACK 16

void limits_fill(const struct template *of, struct warden_limits *limits)
{
	if (limits->memory_bytes == 0)
		limits->memory_bytes = of->memory_bytes > 0 ? of->memory_bytes : GIB;
	if (limits->disk_bytes == 0)
		limits->disk_bytes = GIB;
	if (limits->inodes == 0)
		limits->inodes = 100000;
	if (limits->file_bytes == 0)
		/* Above the quota, so that a program that fills the workspace gets ENOSPC, not
		 * EFBIG. */
		limits->file_bytes = limits->disk_bytes + (1u << 20);
	if (limits->pids == 0)
		limits->pids = 128;
}

/* Bytes that already count against RLIMIT_DATA: the zygote's heap, shared or not. */
static uint64_t data_bytes(pid_t pid)
{
	return procfile_number(pid, "status", "VmData:", 10, 0) * 1024;
}

static int set_rlimit(pid_t pid, int resource, uint64_t value, struct err *err)
{
	struct rlimit limit = { value, value }, now;

	if (prlimit(pid, (__rlimit_resource_t)resource, NULL, &now) == 0 &&
	    now.rlim_max < limit.rlim_max)
		limit.rlim_max = limit.rlim_cur = now.rlim_max;
	if (prlimit(pid, (__rlimit_resource_t)resource, &limit, NULL) < 0)
		return err_sys(err, "set resource limit %d of a kernel", resource);
	return 0;
}

/*
 * Linux counts the descriptors that are in flight through sockets per host user, and compares the
 * count with the limit of each sender. Rootless, that user is the caller: this limit leaves enough
 * for the caller's own programs, and for new kernels, which have the warden's limit until this one
 * is set.
 */
static uint64_t descriptors(const struct warden *warden)
{
	return warden->rootless ? 512 : 4096;
}

int limits_apply_process(const struct warden *warden, const struct session *session, pid_t pid,
			 struct err *err)
{
	const struct warden_limits *limits = &session->limits;

	if (set_rlimit(pid, RLIMIT_DATA, data_bytes(pid) + limits->memory_bytes, err) < 0 ||
	    set_rlimit(pid, RLIMIT_FSIZE, limits->file_bytes, err) < 0 ||
	    set_rlimit(pid, RLIMIT_CORE, 0, err) < 0 ||
	    set_rlimit(pid, RLIMIT_NOFILE, descriptors(warden), err) < 0 ||
	    set_rlimit(pid, RLIMIT_MEMLOCK, 8u << 20, err) < 0 ||
	    set_rlimit(pid, RLIMIT_MSGQUEUE, 0, err) < 0 ||
	    set_rlimit(pid, RLIMIT_SIGPENDING, 1024, err) < 0)
		return (int)err->code;
	/*
	 * A second wall behind the pids cgroup, and the only one without it. The cgroup counts what
	 * it refuses, so it has to be reached first. The count is per user namespace since Linux
	 * 5.14, so other sessions do not matter.
	 */
	return set_rlimit(pid, RLIMIT_NPROC,
			  limits->pids + BOX_OWN_PIDS +
				  (cgroup_has(&warden->cgroups, CG_PIDS) ? NPROC_SLACK : 0),
			  err);
}

static int resize(void *arg, struct err *err)
{
	return mount_session_resize(arg, err);
}

static int limit_disk(struct session *session, struct err *err)
{
	struct mount_quota *now = &session->shell.quota;
	struct mount_quota want = *now;

	want.disk_bytes = session->limits.disk_bytes;
	want.memory_bytes = session->limits.memory_bytes;
	want.inodes = session->limits.inodes;
	if (want.disk_bytes == now->disk_bytes && want.memory_bytes == now->memory_bytes &&
	    want.inodes == now->inodes)
		return 0;
	if (shell_run_in(&session->shell, resize, &want, err) < 0)
		return err_wrap(err, "set the workspace's quota");
	*now = want;
	return 0;
}

/* The processes that are not the user's: pid 1 and, if the cgroup counts them, twins. */
static unsigned own_pids(const struct warden *warden, const struct session *session)
{
	unsigned count = 1;

	for (size_t i = 0; cgroup_counts_twins(&warden->cgroups) && i < WARDEN_KERNELS_MAX; i++)
		count += session->kernels[i] != NULL && !session->kernels[i]->is_late &&
			 (i == 0 || session->kernels[i]->is_up);
	return count;
}

/* Linux rejects a number above PIDS_MAX. */
static unsigned all_pids(const struct warden *warden, const struct session *session)
{
	const unsigned own = own_pids(warden, session);

	return session->limits.pids < PIDS_MAX - own ? session->limits.pids + own : PIDS_MAX;
}

int limits_apply_pids(struct warden *warden, struct session *session, struct err *err)
{
	const struct cgroup_limits groups = { .pids = all_pids(warden, session) };

	session->is_limited = false;
	return cgroup_limit(&warden->cgroups, session->shell.name, &groups, err);
}

int limits_apply(struct warden *warden, struct session *session, struct err *err)
{
	const struct warden_limits *limits = &session->limits;
	const struct box_kernel *kernel = session->kernels[0];
	const bool is_done = session->is_limited && limits->cpu_percent == 0 &&
			     memcmp(&session->in_force, limits, sizeof(*limits)) == 0;
	const struct cgroup_limits groups = {
		.memory_bytes = limits->memory_bytes + limits->disk_bytes,
		.pids = all_pids(warden, session),
		.cpu_percent = limits->cpu_percent > 0 ? group_cap(session) : 0,
	};

	/* A box that was made ahead of need may have these limits already. */
	if (is_done)
		return 0;
	session->is_limited = false;
	if (limit_disk(session, err) < 0 ||
	    cgroup_limit(&warden->cgroups, session->shell.name, &groups, err) < 0 ||
	    (kernel->made.kernel > 0 &&
	     limits_apply_process(warden, session, kernel->made.kernel, err) < 0))
		return (int)err->code;
	session->in_force = *limits;
	session->is_limited = kernel->made.kernel > 0;
	return 0;
}
