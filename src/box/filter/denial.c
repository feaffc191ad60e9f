/*
 * denial.c - counts and refuses the system calls that the filter reports.
 *
 * Runs in:  the warden.
 * Reads:    fixed-size notifications of Linux (seccomp_unotify(2)).
 * Never:    looks at the caller's memory or lets a call through: the answer is always EPERM.
 *
 * The caller waits for the answer, so a process that makes refused calls in a loop slows itself
 * down. After FREE_DENIALS calls, every BUDGET_PER_TURN further ones make its kernel wait for
 * PAUSE_NS, so that it cannot keep the warden busy.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "box/filter/denial.h"
#include "box/processes/process.h"
#include "box/state.h"

#define BUDGET_PER_TURN 32
#define PAUSE_NS 2000000ull
#define FREE_DENIALS 1024 /* per execution, before the kernel has to wait */

static void count(struct box_kernel *kernel, int nr)
{
	kernel->denials.total++;
	for (size_t i = 0; i < kernel->denials.count; i++)
		if (kernel->denials.list[i].nr == nr) {
			kernel->denials.list[i].count++;
			return;
		}
	if (kernel->denials.count < WARDEN_DENIED_MAX)
		kernel->denials.list[kernel->denials.count++] =
			(struct denial){ .nr = nr, .count = 1 };
}

static bool answer_one(struct box_kernel *kernel)
{
	struct seccomp_notif request;
	struct seccomp_notif_resp answer;

	memset(&request, 0, sizeof(request));
	if (ioctl(kernel->made.notify_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return false;
	count(kernel, request.data.nr);
	memset(&answer, 0, sizeof(answer));
	answer.id = request.id;
	answer.error = -EPERM;
	/* ENOENT: the caller was interrupted or died meanwhile. */
	(void)ioctl(kernel->made.notify_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	return true;
}

void denial_ready(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct box_kernel *kernel = watch->arg;

	if ((events & EPOLLIN) == 0) {
		/* Hung up: no process is left that could make a call. */
		watch_remove(warden, watch);
		return;
	}
	/* One notification is certain; RECV would block without one. */
	(void)answer_one(kernel);
	if (kernel->denials.total % BUDGET_PER_TURN == 0 && kernel->denials.total > FREE_DENIALS) {
		kernel->denials.is_paused = true;
		watch_remove(warden, watch);
		if (warden->denials_due_ns == 0)
			warden->denials_due_ns = clock_mono_ns() + PAUSE_NS;
	}
}

static void resume_one(struct warden *warden, struct box_kernel *kernel)
{
	struct err ignored;

	if (!kernel->denials.is_paused)
		return;
	kernel->denials.is_paused = false;
	if ((kernel->session->state == SESSION_OPEN || kernel->session->state == SESSION_FROZEN) &&
	    kernel->is_up) {
		kernel->notify_watch.fd = kernel->made.notify_fd;
		(void)watch_add(warden, &kernel->notify_watch, EPOLLIN, &ignored);
	}
}

void denial_resume(struct warden *warden)
{
	/* By the clock, not when the loop is idle: others that keep the warden busy must not keep
	 * a box waiting for ever. */
	if (warden->denials_due_ns == 0 || clock_mono_ns() < warden->denials_due_ns)
		return;
	warden->denials_due_ns = 0;
	for (size_t i = 0; i < warden->slot_count; i++) {
		for (size_t k = 0; warden->sessions[i] != NULL && k < WARDEN_KERNELS_MAX; k++)
			if (warden->sessions[i]->kernels[k] != NULL)
				resume_one(warden, warden->sessions[i]->kernels[k]);
		if (warden->sessions[i] != NULL)
			for (struct box_process *at = warden->sessions[i]->processes; at != NULL;
			     at = at->next)
				resume_one(warden, &at->as);
	}
}
