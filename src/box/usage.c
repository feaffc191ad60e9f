/*
 * usage.c - what an execution cost, measured from outside the box.
 *
 * Runs in:  the warden.
 * Reads:    cgroup files and the kernel's /proc entries.
 * Never:    asks the kernel process.
 */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "box/procfile.h"
#include "box/state.h"

static void read_io(pid_t pid, uint64_t *ret_read, uint64_t *ret_written)
{
	char text[512];

	if (procfile_text(pid, "io", text, sizeof(text)) <= 0)
		return;
	*ret_read = procfile_find(text, "rchar:", 10, *ret_read);
	*ret_written = procfile_find(text, "wchar:", 10, *ret_written);
}

/* utime, stime and those of reaped children, in clock ticks. */
static void read_cpu(pid_t pid, uint64_t *ret_user, uint64_t *ret_system)
{
	static const int fields[4] = { 14, 15, 16, 17 };
	const uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	int64_t ticks[4];

	procfile_stat(pid, fields, 4, ticks);
	*ret_user = (uint64_t)(ticks[0] + ticks[2]) * tick_ns;
	*ret_system = (uint64_t)(ticks[1] + ticks[3]) * tick_ns;
}

void usage_begin(struct warden *warden, struct session *session)
{
	const pid_t pid = session->kernel.kernel;

	cgroup_reset_peak(&warden->cgroups, session->shell.name);
	/* After the first execution the last reading is the base: nothing but processor time moves
	 * much between cells, and what does belongs to the next one. Opening a dozen control files
	 * is a good part of a short cell. */
	if (session->is_measured) {
		session->base = session->last;
		cgroup_read_cpu(&warden->cgroups, session->shell.name, &session->base);
	} else {
		cgroup_read(&warden->cgroups, session->shell.name, &session->base);
	}
	read_io(pid, &session->base_read, &session->base_written);
	if (!cgroup_has(&warden->cgroups, CG_CPUACCT))
		read_cpu(pid, &session->base_user, &session->base_system);
	session->processes_peak = 1;
	session->denied_count = 0;
	session->denied_total = 0;
	memset(session->denied, 0, sizeof(session->denied));
}

static uint64_t since(uint64_t now, uint64_t base)
{
	return now > base ? now - base : 0;
}

static void from_cgroup(struct warden *warden, struct session *session, struct warden_usage *ret)
{
	const struct cgroup_usage *base = &session->base;
	struct cgroup_usage now;
	uint64_t peak;

	cgroup_read(&warden->cgroups, session->shell.name, &now);
	ret->cpu_user_ns = since(now.cpu_user_ns, base->cpu_user_ns);
	ret->cpu_system_ns = since(now.cpu_system_ns, base->cpu_system_ns);
	ret->memory_peak_bytes = now.memory_peak_bytes;
	ret->oom_kills = since(now.oom_kills, base->oom_kills);
	ret->pids_refused = since(now.pids_refused, base->pids_refused);
	/* pid 1 of the box is ours. A kernel that keeps no peak is sampled here. */
	peak = now.pids_peak > base->pids_peak ? now.pids_peak : now.pids;
	peak = since(peak, cgroup_own_pids(&warden->cgroups));
	if (peak > session->processes_peak)
		session->processes_peak = peak;
	ret->processes_peak = session->processes_peak;
	ret->from_cgroup = 1;
	session->last = now;
	session->is_measured = true;
}

static void from_proc(struct session *session, struct warden_usage *ret)
{
	uint64_t user = session->base_user, system = session->base_system;

	read_cpu(session->kernel.kernel, &user, &system);
	ret->cpu_user_ns = since(user, session->base_user);
	ret->cpu_system_ns = since(system, session->base_system);
	ret->memory_peak_bytes = procfile_number(session->kernel.kernel, "status", "VmHWM:", 10, 0) * 1024;
	ret->processes_peak = session->processes_peak;
}

static void read_disk(const struct session *session, struct warden_usage *ret)
{
	struct statvfs fs;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/root/mnt/data", (int)session->shell.init);
	if (statvfs(path, &fs) < 0)
		return;
	ret->disk_used_bytes = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize;
	ret->inodes_used = fs.f_files - fs.f_ffree;
}

void usage_read(struct warden *warden, struct session *session, struct warden_usage *ret)
{
	uint64_t read_now = session->base_read, written_now = session->base_written;

	memset(ret, 0, sizeof(*ret));
	if (cgroup_has(&warden->cgroups, CG_MEMORY) && cgroup_has(&warden->cgroups, CG_CPUACCT))
		from_cgroup(warden, session, ret);
	else
		from_proc(session, ret);
	read_io(session->kernel.kernel, &read_now, &written_now);
	ret->read_bytes = since(read_now, session->base_read);
	ret->written_bytes = since(written_now, session->base_written);
	read_disk(session, ret);
	for (size_t i = 0; i < session->denied_count; i++) {
		filter_name(session->denied[i].nr, ret->denied[i].name,
			     sizeof(ret->denied[i].name));
		ret->denied[i].count = session->denied[i].count;
	}
	ret->denied_count = (uint32_t)session->denied_count;
}
