/*
 * sched_slice.c - gives a cell that begins short scheduler slices, and one that computes long ones.
 *
 * Runs in:  the warden.
 * Reads:    which cells run, and since when.
 * Never:    changes how much processor time a task gets, which its weight decides; only when.
 *
 * Linux (EEVDF, 6.12 or later) picks, among the tasks that it owes time, the one whose next slice
 * would end first. Of two tasks with equal slices, the one that wakes up waits until the other's
 * slice is over, which Linux checks at the next clock tick, 4 ms later: a short cell beside another
 * tenant's long one takes several times as long as alone. So a cell begins with short slices and
 * runs first; if it has not ended after BEGINS_NS it gets long ones, which also cost less.
 *
 * This has no effect on an earlier Linux, nor where the warden may not set the slices of a box's
 * tasks (rootless, with a range of uids).
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/process/priority.h"
#include "box/resources/resource.h"
#include "box/state.h"

#define BEGINS_NS 2000000u
#define SHORT_NS 500000u /* longer than the daemons' own: base/process/{priority,rt_boost}.c */
#define LONG_NS 12000000u
#define TASKS_MAX 256 /* tasks of one kernel that get long slices */

/* Includes all threads: those of a matrix product compute as much as the main one. */
static void set_all(pid_t pid, uint64_t turn_ns)
{
	const struct dirent *entry;
	char path[48];
	int count = 0;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (dir == NULL)
		return;
	while ((entry = readdir(dir)) != NULL && count < TASKS_MAX) {
		const long task = strtol(entry->d_name, NULL, 10);

		if (task > 0) {
			priority_turns((pid_t)task, turn_ns);
			count++;
		}
	}
	(void)closedir(dir);
}

static void arm(struct warden *warden, uint64_t delay_ns)
{
	const struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(delay_ns / 1000000000u),
			      .tv_nsec = (long)(delay_ns % 1000000000u) + 1 },
	};

	warden->sched_slice_armed =
		timerfd_settime(warden->sched_slice_watch.fd, 0, &when, NULL) == 0;
}

/* The list of beginning cells is ordered by age, the oldest first. */
static void on_time(struct warden *warden, struct watch *watch, uint32_t events)
{
	const uint64_t now = clock_mono_ns();
	struct box_kernel *kernel;
	uint64_t times;

	(void)events;
	if (read(watch->fd, &times, sizeof(times)) < 0 && errno == EAGAIN)
		return;
	warden->sched_slice_armed = false;
	while ((kernel = warden->beginning) != NULL && now - kernel->turn.begun_ns >= BEGINS_NS) {
		sched_slice_end(warden, kernel);
		kernel->turn.ns = LONG_NS;
		set_all(kernel->made.kernel, LONG_NS);
	}
	if (kernel != NULL)
		arm(warden, BEGINS_NS - (now - kernel->turn.begun_ns));
}

void sched_slice_begin(struct warden *warden, struct box_kernel *kernel)
{
	sched_slice_end(warden, kernel);
	if (!kernel->is_up)
		return; /* its pid may be reused by now */
	if (kernel->turn.ns != SHORT_NS)
		priority_turns(kernel->made.kernel, SHORT_NS);
	kernel->turn.ns = SHORT_NS;
	kernel->turn.begun_ns = clock_mono_ns();
	kernel->turn.is_beginning = true;
	kernel->turn.after = warden->beginning_last;
	if (warden->beginning_last != NULL)
		warden->beginning_last->turn.before = kernel;
	else
		warden->beginning = kernel;
	warden->beginning_last = kernel;
	if (!warden->sched_slice_armed)
		arm(warden, BEGINS_NS);
}

void sched_slice_end(struct warden *warden, struct box_kernel *kernel)
{
	if (!kernel->turn.is_beginning)
		return;
	if (kernel->turn.after != NULL)
		kernel->turn.after->turn.before = kernel->turn.before;
	else
		warden->beginning = kernel->turn.before;
	if (kernel->turn.before != NULL)
		kernel->turn.before->turn.after = kernel->turn.after;
	else
		warden->beginning_last = kernel->turn.after;
	kernel->turn.after = kernel->turn.before = NULL;
	kernel->turn.is_beginning = false;
}

int sched_slice_setup(struct warden *warden, struct err *err)
{
	const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (fd < 0)
		return err_sys(err, "timerfd");
	warden->sched_slice_watch = (struct watch){ .ready = on_time, .fd = fd };
	return watch_add(warden, &warden->sched_slice_watch, EPOLLIN, err);
}
