/*
 * usage.c - what an execution cost, measured from outside the box.
 *
 * Runs in:  the warden.
 * Reads:    cgroup files and the kernel's /proc entries.
 * Never:    asks the kernel process.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "box/state.h"

static void read_io(pid_t pid, uint64_t *ret_read, uint64_t *ret_written)
{
	char path[64], line[128];
	cleanup_file FILE *file = NULL;
	unsigned long long value;

	(void)snprintf(path, sizeof(path), "/proc/%d/io", (int)pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (sscanf(line, "rchar: %llu", &value) == 1)
			*ret_read = value;
		else if (sscanf(line, "wchar: %llu", &value) == 1)
			*ret_written = value;
	}
}

/* utime, stime and those of reaped children: fields 14 to 17 of /proc/PID/stat, in clock ticks. */
static void read_cpu(pid_t pid, uint64_t *ret_user, uint64_t *ret_system)
{
	const uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
	unsigned long long user = 0, system = 0, child_user = 0, child_system = 0;
	char path[64], text[1024];
	cleanup_file FILE *file = NULL;
	const char *after_name;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file == NULL || fgets(text, sizeof(text), file) == NULL)
		return;
	after_name = strrchr(text, ')');
	if (after_name == NULL ||
	    sscanf(after_name + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu",
		   &user, &system, &child_user, &child_system) != 4)
		return;
	*ret_user = (user + child_user) * tick_ns;
	*ret_system = (system + child_system) * tick_ns;
}

static uint64_t read_status_kib(pid_t pid, const char *key)
{
	char path[64], line[256];
	cleanup_file FILE *file = NULL;
	const size_t len = strlen(key);

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, key, len) == 0)
			return strtoull(line + len, NULL, 10) * 1024;
	return 0;
}

void usage_begin(struct warden *warden, struct session *session)
{
	const pid_t pid = session->kernel.kernel;

	cgroup_reset_peak(&warden->cgroups, session->shell.name);
	cgroup_read(&warden->cgroups, session->shell.name, &session->base);
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
	struct cgroup_usage now;
	uint64_t peak;

	cgroup_read(&warden->cgroups, session->shell.name, &now);
	ret->cpu_user_ns = since(now.cpu_user_ns, session->base.cpu_user_ns);
	ret->cpu_system_ns = since(now.cpu_system_ns, session->base.cpu_system_ns);
	ret->memory_peak_bytes = now.memory_peak_bytes;
	ret->oom_kills = since(now.oom_kills, session->base.oom_kills);
	ret->pids_refused = since(now.pids_refused, session->base.pids_refused);
	/* pid 1 of the box is ours. A kernel that keeps no peak is sampled here. */
	peak = now.pids_peak > session->base.pids_peak ? now.pids_peak : now.pids;
	peak = since(peak, 1);
	if (peak > session->processes_peak)
		session->processes_peak = peak;
	ret->processes_peak = session->processes_peak;
	ret->from_cgroup = 1;
}

static void from_proc(struct session *session, struct warden_usage *ret)
{
	uint64_t user = session->base_user, system = session->base_system;

	read_cpu(session->kernel.kernel, &user, &system);
	ret->cpu_user_ns = since(user, session->base_user);
	ret->cpu_system_ns = since(system, session->base_system);
	ret->memory_peak_bytes = read_status_kib(session->kernel.kernel, "VmHWM:");
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
