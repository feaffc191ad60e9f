/*
 * process.c - a program that a client started in a box: its usage, limits, signals and end.
 *
 * Runs in:  the warden.
 * Reads:    control groups, /proc and wait statuses.
 * Never:    lets anything outlive its session, or signals a pid that may have been reused: it
 *           signals a process by its pidfd, and its process group only while the process is not
 *           reaped.
 */
#include "box/processes/process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "box/cgroup/process.h"
#include "box/module.h"
#include "box/procfile.h"
#include "box/resources/resource.h"
#include "box/sys.h"

#define LOOK_MIN_NS 20000000ull /* between two checks of the processor time */

struct box_process *process_find(const struct session *session, uint32_t number)
{
	for (struct box_process *at = session->processes; at != NULL; at = at->next)
		if (at->as.id == number && at->state != PROCESS_RELEASED)
			return at;
	return NULL;
}

/* ---- accounts ------------------------------------------------------------------------------- */

static uint64_t since_fork(pid_t pid, int own, int children)
{
	const int fields[2] = { own, children };
	int64_t ticks[2] = { 0, 0 };

	procfile_stat(pid, fields, 2, ticks);
	return (uint64_t)(ticks[0] + ticks[1]) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Takes what the cgroup does not count from the process's own /proc files, until it is reaped. */
static void from_proc(struct box_process *process, struct warden_usage *usage)
{
	const pid_t pid = process->as.made.kernel;
	struct kernel_usage *used = &process->as.used;
	uint64_t peak;

	if (pid <= 0 || process->as.end.kernel_reaped)
		return;
	if (usage->cpu_user_ns + usage->cpu_system_ns == 0) {
		usage->cpu_user_ns = since_fork(pid, 14, 16);
		usage->cpu_system_ns = since_fork(pid, 15, 17);
	}
	peak = procfile_number(pid, "status", "VmHWM:", 10, 0) * 1024;
	if (peak > process->memory_peak)
		process->memory_peak = peak;
	used->base_read = procfile_number(pid, "io", "rchar:", 10, used->base_read);
	used->base_written = procfile_number(pid, "io", "wchar:", 10, used->base_written);
}

static void read_usage(struct warden *warden, struct box_process *process)
{
	struct warden_usage *usage = &process->as.end.ended.usage;
	const char *box = process->as.session->shell.name;
	struct cgroup_usage now;
	uint64_t peak;

	memset(usage, 0, sizeof(*usage));
	cgroup_process_read(&warden->cgroups, box, process->as.id, &now);
	usage->cpu_user_ns = now.cpu_user_ns;
	usage->cpu_system_ns = now.cpu_system_ns;
	from_proc(process, usage);
	usage->memory_bytes = now.memory_bytes;
	usage->memory_peak_bytes = now.memory_peak_bytes > 0 ? now.memory_peak_bytes
							     : process->memory_peak;
	usage->oom_kills = now.oom_kills;
	usage->pids_refused = now.pids_refused;
	peak = now.pids_peak > now.pids ? now.pids_peak : now.pids;
	if (peak > process->as.used.processes_peak)
		process->as.used.processes_peak = peak;
	usage->processes_peak =
		process->as.used.processes_peak > 0 ? process->as.used.processes_peak : 1;
	usage->from_cgroup = cgroup_has(&warden->cgroups, CG_MEMORY) &&
			     warden->cgroups.kind == CGROUP_V1;
	usage->read_bytes = process->as.used.base_read;
	usage->written_bytes = process->as.used.base_written;
	for (size_t i = 0; i < process->as.denials.count; i++) {
		filter_name(process->as.denials.list[i].nr, usage->denied[i].name,
			    sizeof(usage->denied[i].name));
		usage->denied[i].count = process->as.denials.list[i].count;
	}
	usage->denied_count = (uint32_t)process->as.denials.count;
}

static uint64_t cpu_ns(const struct box_process *process)
{
	return process->as.end.ended.usage.cpu_user_ns + process->as.end.ended.usage.cpu_system_ns;
}

/* ---- limits --------------------------------------------------------------------------------- */

/* The earliest time at which the process can reach its limit: all processors may run it at once. */
static uint64_t next_look_ns(const struct box_process *process)
{
	const uint64_t limit = process->how.cpu_ms * 1000000u;
	const long count = sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t left = limit > cpu_ns(process) ? limit - cpu_ns(process) : 0;
	const uint64_t wait = left / (uint64_t)(count > 0 ? count : 1);

	return clock_mono_ns() + (wait > LOOK_MIN_NS ? wait : LOOK_MIN_NS);
}

void process_set_timer(const struct box_process *process)
{
	uint64_t at = process->deadline_ns;
	struct itimerspec when = { 0 };

	if (process->state == PROCESS_RUNNING && process->how.cpu_ms > 0) {
		const uint64_t look = next_look_ns(process);

		at = at == 0 || look < at ? look : at;
	}
	when.it_value.tv_sec = (time_t)(at / 1000000000u);
	when.it_value.tv_nsec = (long)(at % 1000000000u);
	(void)timerfd_settime(process->timer_watch.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void end_by_limit(struct warden *warden, struct box_process *process, uint32_t limit)
{
	process->limit = limit;
	(void)sys_pidfd_signal(process->as.made.kernel_pidfd, SIGKILL);
	/* The pidfd reports the end; process_ended() then also kills what it left running. */
	(void)cgroup_process_kill(&warden->cgroups, process->as.session->shell.name,
				  process->as.id);
}

void process_go_on(const struct session *session, uint64_t span_ns)
{
	for (struct box_process *at = session->processes; at != NULL; at = at->next) {
		if (at->deadline_ns > 0)
			at->deadline_ns += span_ns;
		if (at->timer_watch.fd >= 0)
			process_set_timer(at);
	}
}

void process_timer(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct box_process *process = watch->arg;
	uint64_t ignored;

	(void)events;
	(void)!read(watch->fd, &ignored, sizeof(ignored));
	if (process->state == PROCESS_ENDED || process->limit != 0 ||
	    process->as.session->frozen != NULL)
		return;
	if (process->deadline_ns > 0 && clock_mono_ns() >= process->deadline_ns) {
		end_by_limit(warden, process, WARDEN_END_WALL);
		return;
	}
	if (process->state == PROCESS_RUNNING && process->how.cpu_ms > 0) {
		read_usage(warden, process);
		if (cpu_ns(process) >= process->how.cpu_ms * 1000000u) {
			end_by_limit(warden, process, WARDEN_END_CPU);
			return;
		}
	}
	process_set_timer(process);
}

/* ---- the end -------------------------------------------------------------------------------- */

static void forget_watches(struct warden *warden, struct box_process *process)
{
	watch_remove(warden, &process->as.death_watch);
	watch_remove(warden, &process->as.notify_watch);
	watch_remove(warden, &process->timer_watch);
	watch_remove(warden, &process->boot_watch);
	process->as.death_watch.fd = process->as.notify_watch.fd = process->boot_watch.fd = -1;
	process->as.denials.is_paused = false;
	if (process->timer_watch.fd >= 0)
		(void)close(TAKE_FD(process->timer_watch.fd));
	if (process->boot >= 0)
		(void)close(TAKE_FD(process->boot));
	if (process->master >= 0)
		(void)close(TAKE_FD(process->master));
}

static void collect_status(struct box_process *process)
{
	struct box_kernel *as = &process->as;
	const struct timespec pause = { .tv_nsec = 100000 };

	for (int tries = 0; !as->end.kernel_reaped && tries < 2000; tries++) {
		if (waitpid(as->made.kernel, &as->end.status, __WALL | WNOHANG) == as->made.kernel)
			as->end.kernel_reaped = true;
		else
			(void)nanosleep(&pause, NULL);
	}
}

static void end_rest(struct warden *warden, struct box_process *process)
{
	const struct session *session = process->as.session;
	int left;

	if (session->init_reaped || session->state == SESSION_DYING)
		return;
	left = cgroup_process_kill(&warden->cgroups, session->shell.name, process->as.id);
	if (left == ERR_UNAVAILABLE)
		sweep_process(session, process);
	else if (left > 0)
		log_line(LOG_WARN, "processes of an ended process are still there",
			 "session=%u process=%u", session->id, process->as.id);
}

static void judge(struct box_process *process)
{
	struct warden_ended *ended = &process->as.end.ended;
	const int status = process->as.end.status;

	ended->cause = (status & 0x7f) != 0 ? WARDEN_END_SIGNAL : WARDEN_END_EXIT;
	ended->detail = (status & 0x7f) != 0 ? status & 0x7f : status >> 8 & 0xff;
	if (process->limit != 0)
		ended->cause = process->limit;
	else if (ended->cause == WARDEN_END_SIGNAL && ended->detail == SIGKILL &&
		 ended->usage.oom_kills > 0)
		ended->cause = WARDEN_END_OOM;
	else if (ended->cause == WARDEN_END_SIGNAL && ended->detail == SIGSYS)
		ended->cause = WARDEN_END_SYSCALL;
}

void process_ended(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct box_process *process = watch->arg;

	(void)events;
	read_usage(warden, process);
	process->as.is_up = false;
	usage_forget(process->as.session);
	process->state = PROCESS_ENDED;
	forget_watches(warden, process);
	collect_status(process);
	judge(process);
	if ((process->how.flags & WARDEN_START_DETACH) == 0 || process->limit != 0)
		end_rest(warden, process);
	log_line(LOG_INFO, "process ended", "session=%u process=%u cause=%u detail=%d",
		 process->as.session->id, process->as.id, process->as.end.ended.cause,
		 process->as.end.ended.detail);
	twin_done(&process->as.made);
}

static bool remove_group(struct warden *warden, struct box_process *process)
{
	struct session *session = process->as.session;
	struct box_process **at = &session->processes;

	if (!cgroup_process_remove(&warden->cgroups, session->shell.name, process->as.id))
		return false;
	while (*at != process)
		at = &(*at)->next;
	*at = process->next;
	free(process);
	return true;
}

void process_sweep_released(struct warden *warden, const struct session *session)
{
	for (struct box_process *at = session->processes, *next; at != NULL; at = next) {
		next = at->next;
		if (at->state == PROCESS_RELEASED)
			(void)remove_group(warden, at);
	}
}

void process_release(struct warden *warden, struct box_process *process)
{
	struct session *session = process->as.session;

	forget_watches(warden, process);
	if (process->as.made.kernel_pidfd >= 0) {
		(void)sys_pidfd_signal(process->as.made.kernel_pidfd, SIGKILL);
		collect_status(process);
	}
	process->as.is_up = false;
	end_rest(warden, process);
	twin_done(&process->as.made);
	process->state = PROCESS_RELEASED;
	process->starter = NULL;
	session->process_count--;
	/* Retried later if it fails: the box's cgroup cannot be removed before this one. */
	(void)remove_group(warden, process);
}

void process_drop_all(struct warden *warden, struct session *session)
{
	for (struct box_process *at = session->processes; at != NULL; at = at->next) {
		forget_watches(warden, at);
		if (at->as.made.kernel_pidfd >= 0)
			(void)sys_pidfd_signal(at->as.made.kernel_pidfd, SIGKILL);
		/* As long as the seccomp listener is open, it holds the box's user namespace. */
		twin_done(&at->as.made);
		at->as.is_up = false;
		at->starter = NULL;
	}
}

bool process_remove_all(struct warden *warden, struct session *session)
{
	while (session->processes != NULL)
		if (!remove_group(warden, session->processes))
			return false;
	return true;
}

void process_reap(const struct session *session, pid_t pid, int status)
{
	for (struct box_process *at = session->processes; at != NULL; at = at->next)
		if (at->as.made.kernel == pid && !at->as.end.kernel_reaped) {
			at->as.end.kernel_reaped = true;
			at->as.end.status = status;
		}
}

/* A START that is not answered yet needs no answer: its client is gone. */
static void conn_gone(struct warden *warden, struct conn *conn)
{
	(void)warden;
	if (conn->member_of == NULL)
		return;
	for (struct box_process *at = conn->member_of->processes; at != NULL; at = at->next)
		if (at->starter == conn)
			at->starter = NULL;
}

/* ---- requests ------------------------------------------------------------------------------- */

int process_signal(struct box_process *process, const struct warden_signal *signal,
		   struct err *err)
{
	const int number = (int)signal->number;

	if (signal->number == 0 || signal->number > 31)
		return err_set(err, ERR_INVALID, "there is no signal %u", signal->number);
	if (process->state != PROCESS_RUNNING || process->as.end.kernel_reaped)
		return err_set(err, ERR_NOT_FOUND, "the process has ended");
	/* Before it is reaped, it keeps its pid, which also names its process group: it leads a
	 * session. */
	if (signal->is_leader == 0 && kill(-process->as.made.kernel, number) == 0)
		return 0;
	if (sys_pidfd_signal(process->as.made.kernel_pidfd, number) < 0)
		return err_sys(err, "send signal %d", number);
	return 0;
}

void process_status(struct warden *warden, struct box_process *process,
		    struct warden_status *ret)
{
	struct pollfd over = { .fd = process->as.made.kernel_pidfd, .events = POLLIN };

	/* A client that the pidfd woke may ask before the warden handles its own event. */
	if (process->state == PROCESS_RUNNING && poll(&over, 1, 0) > 0)
		process_ended(warden, &process->as.death_watch, 0);
	if (process->state != PROCESS_ENDED)
		read_usage(warden, process);
	ret->is_running = process->state != PROCESS_ENDED;
	ret->ended = process->as.end.ended;
	ret->left = (uint32_t)cgroup_process_count(&warden->cgroups,
						   process->as.session->shell.name, process->as.id);
	if (ret->is_running != 0 && ret->left > 0)
		ret->left--;
}

void process_list(const struct session *session, struct warden_list *ret)
{
	ret->count = 0;
	for (const struct box_process *at = session->processes;
	     at != NULL && ret->count < WARDEN_PROCESSES_MAX; at = at->next)
		if (at->state == PROCESS_RUNNING || at->state == PROCESS_ENDED)
			ret->process[ret->count++] = (struct warden_listed){
				.process = at->as.id,
				.pid = at->pid,
				.is_running = at->state == PROCESS_RUNNING,
			};
}

const struct module processes_module = {
	.conn_gone = conn_gone,
};
