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

#include "box/cgroup/file.h"
#include "box/module.h"
#include "box/procfile.h"
#include "box/resources/resource.h"
#include "box/state.h"

static void name_process(char ret[32], pid_t pid)
{
	(void)snprintf(ret, 32, "/proc/%d", (int)pid);
}

void usage_close(const struct box_kernel *kernel)
{
	char process[32];

	name_process(process, kernel->made.kernel);
	cgroup_file_forget(process);
}

static void read_io(pid_t pid, uint64_t *ret_read, uint64_t *ret_written)
{
	char text[512], process[32];

	name_process(process, pid);
	if (cgroup_file_text(-1, process, "io", text, sizeof(text)) <= 0)
		return;
	*ret_read = procfile_find(text, "rchar:", 10, *ret_read);
	*ret_written = procfile_find(text, "wchar:", 10, *ret_written);
}

/* User and system time of the process and its reaped children, in ns; Linux counts them in clock
 * ticks. */
static void read_cpu(pid_t pid, uint64_t *ret_user, uint64_t *ret_system)
{
	static const int fields[4] = { 14, 15, 16, 17 };
	const uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	int64_t ticks[4];

	procfile_stat(pid, fields, 4, ticks);
	*ret_user = (uint64_t)(ticks[0] + ticks[2]) * tick_ns;
	*ret_system = (uint64_t)(ticks[1] + ticks[3]) * tick_ns;
}

/* The counters cannot tell apart cells that run at the same time in one box. */
static void begin_running(struct box_kernel *kernel)
{
	kernel->used.is_running = true;
	kernel->used.is_shared = process_count_up(kernel->session) > 0;
	for (size_t i = 0; i < WARDEN_KERNELS_MAX; i++) {
		struct box_kernel *at = kernel->session->kernels[i];

		if (at != NULL && at != kernel && at->used.is_running)
			at->used.is_shared = kernel->used.is_shared = true;
	}
}

void usage_end(struct warden *warden, struct box_kernel *kernel)
{
	sched_slice_end(warden, kernel);
	if (kernel->used.is_running)
		MODULE_EACH(warden, execution_over, kernel);
	kernel->used.is_running = false;
}

void usage_forget(struct session *session)
{
	for (size_t i = 0; i < WARDEN_KERNELS_MAX; i++)
		if (session->kernels[i] != NULL)
			session->kernels[i]->used.is_measured = false;
}

void usage_note_process(struct session *session)
{
	for (size_t i = 0; i < WARDEN_KERNELS_MAX; i++)
		if (session->kernels[i] != NULL && session->kernels[i]->used.is_running)
			session->kernels[i]->used.is_shared = true;
}

void usage_begin(struct warden *warden, struct box_kernel *kernel)
{
	const struct session *session = kernel->session;
	const pid_t pid = kernel->made.kernel;

	begin_running(kernel);
	sched_slice_begin(warden, kernel);
	/* A reset would lose the peak of another running cell. */
	if (!kernel->used.is_shared)
		cgroup_reset_peak(&warden->cgroups, session->shell.name);
	/*
	 * After the first execution the last reading is the baseline: between cells only processor
	 * time changes much, and the next cell is charged with the rest. Opening a dozen control
	 * files would take a good part of a short cell. If the box has other kernels or processes,
	 * a reading does not stay valid.
	 */
	if (kernel->used.is_measured && kernel_count_up(session, kernel) == 0 &&
	    process_count_up(session) == 0) {
		kernel->used.base = kernel->used.last;
		cgroup_read_cpu(&warden->cgroups, session->shell.name, &kernel->used.base);
	} else {
		cgroup_read(&warden->cgroups, session->shell.name, &kernel->used.base);
	}
	read_io(pid, &kernel->used.base_read, &kernel->used.base_written);
	if (!cgroup_has(&warden->cgroups, CG_CPUACCT))
		read_cpu(pid, &kernel->used.base_user, &kernel->used.base_system);
	kernel->used.processes_peak = 1;
	kernel->denials.count = 0;
	kernel->denials.total = 0;
	memset(kernel->denials.list, 0, sizeof(kernel->denials.list));
}

void usage_prepare(struct warden *warden, struct box_kernel *kernel)
{
	const char *name = kernel->session->shell.name;

	if (!cgroup_has(&warden->cgroups, CG_MEMORY) || !cgroup_has(&warden->cgroups, CG_CPUACCT))
		return;
	cgroup_reset_peak(&warden->cgroups, name); /* opens the file for writing */
	cgroup_read(&warden->cgroups, name, &kernel->used.last);
	read_io(kernel->made.kernel, &kernel->used.base_read, &kernel->used.base_written);
	kernel->used.is_measured = true;
}

static uint64_t since(uint64_t now, uint64_t base)
{
	return now > base ? now - base : 0;
}

/* Pid 1 and twins are not the user's. */
static unsigned count_own(const struct warden *warden, const struct box_kernel *kernel)
{
	unsigned count = 1;

	for (size_t i = 0; cgroup_counts_twins(&warden->cgroups) && i < WARDEN_KERNELS_MAX; i++) {
		const struct box_kernel *at = kernel->session->kernels[i];

		count += at != NULL && !at->is_late && (at == kernel || at->is_up);
	}
	return count;
}

static void from_cgroup(struct warden *warden, struct box_kernel *kernel, struct warden_usage *ret)
{
	const struct session *session = kernel->session;
	const struct cgroup_usage *base = &kernel->used.base;
	struct cgroup_usage now;
	uint64_t peak;

	cgroup_read(&warden->cgroups, session->shell.name, &now);
	ret->cpu_user_ns = since(now.cpu_user_ns, base->cpu_user_ns);
	ret->cpu_system_ns = since(now.cpu_system_ns, base->cpu_system_ns);
	ret->memory_bytes = now.memory_bytes;
	ret->memory_peak_bytes = now.memory_peak_bytes;
	ret->oom_kills = since(now.oom_kills, base->oom_kills);
	ret->pids_refused = since(now.pids_refused, base->pids_refused);
	/* On a Linux that keeps no peak, the current count stands in for it. */
	peak = now.pids_peak > base->pids_peak ? now.pids_peak : now.pids;
	peak = since(peak, count_own(warden, kernel));
	if (peak > kernel->used.processes_peak)
		kernel->used.processes_peak = peak;
	ret->processes_peak = kernel->used.processes_peak;
	ret->from_cgroup = 1;
	kernel->used.last = now;
	kernel->used.is_measured = true;
}

static void from_proc(struct box_kernel *kernel, struct warden_usage *ret)
{
	uint64_t user = kernel->used.base_user, system = kernel->used.base_system;

	read_cpu(kernel->made.kernel, &user, &system);
	ret->cpu_user_ns = since(user, kernel->used.base_user);
	ret->cpu_system_ns = since(system, kernel->used.base_system);
	ret->memory_peak_bytes =
		procfile_number(kernel->made.kernel, "status", "VmHWM:", 10, 0) * 1024;
	ret->processes_peak = kernel->used.processes_peak;
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

void usage_read(struct warden *warden, struct box_kernel *kernel, struct warden_usage *ret)
{
	uint64_t read_now = kernel->used.base_read, written_now = kernel->used.base_written;

	memset(ret, 0, sizeof(*ret));
	if (cgroup_has(&warden->cgroups, CG_MEMORY) && cgroup_has(&warden->cgroups, CG_CPUACCT))
		from_cgroup(warden, kernel, ret);
	else
		from_proc(kernel, ret);
	read_io(kernel->made.kernel, &read_now, &written_now);
	ret->read_bytes = since(read_now, kernel->used.base_read);
	ret->written_bytes = since(written_now, kernel->used.base_written);
	ret->is_shared = kernel->used.is_shared;
	read_disk(kernel->session, ret);
	for (size_t i = 0; i < kernel->denials.count; i++) {
		filter_name(kernel->denials.list[i].nr, ret->denied[i].name,
			     sizeof(ret->denied[i].name));
		ret->denied[i].count = kernel->denials.list[i].count;
	}
	ret->denied_count = (uint32_t)kernel->denials.count;
}
