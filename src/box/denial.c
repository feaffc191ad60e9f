/*
 * denial.c - counts and refuses the system calls that the filter reports.
 *
 * Runs in:  the warden.
 * Reads:    fixed-size notifications from the kernel (seccomp_unotify(2)).
 * Never:    looks at the caller's memory or lets a call through: the answer is always EPERM.
 *
 * The caller waits for the answer, so a process that makes refused calls in a loop is slowed down
 * by its own doing; beyond a budget per turn of the loop a box is left to wait longer, so that it
 * cannot keep the warden busy.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include "base/clock.h"
#include "box/state.h"

#define BUDGET_PER_TURN 32
#define PAUSE_NS 2000000ull
#define FREE_DENIALS 1024 /* per execution, before a box has to wait */

static void count(struct session *session, int nr)
{
	session->denied_total++;
	for (size_t i = 0; i < session->denied_count; i++)
		if (session->denied[i].nr == nr) {
			session->denied[i].count++;
			return;
		}
	if (session->denied_count < WARDEN_DENIED_MAX)
		session->denied[session->denied_count++] = (struct denial){ .nr = nr, .count = 1 };
}

static bool answer_one(struct session *session)
{
	struct seccomp_notif request;
	struct seccomp_notif_resp answer;

	memset(&request, 0, sizeof(request));
	if (ioctl(session->kernel.notify_fd, SECCOMP_IOCTL_NOTIF_RECV, &request) < 0)
		return false;
	count(session, request.data.nr);
	memset(&answer, 0, sizeof(answer));
	answer.id = request.id;
	answer.error = -EPERM;
	/* ENOENT: the caller was interrupted or died meanwhile. */
	(void)ioctl(session->kernel.notify_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	return true;
}

void denial_ready(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct session *session = watch->arg;

	if ((events & EPOLLIN) == 0) {
		/* Hung up: nobody is left who could make a call. */
		watch_remove(warden, watch);
		return;
	}
	/* One notification is certain; RECV would block without one. */
	(void)answer_one(session);
	if (session->denied_total % BUDGET_PER_TURN == 0 && session->denied_total > FREE_DENIALS) {
		session->notify_paused = true;
		watch_remove(warden, watch);
		if (warden->denials_due_ns == 0)
			warden->denials_due_ns = clock_mono_ns() + PAUSE_NS;
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
		struct session *at = warden->sessions[i];
		struct err ignored;

		if (at == NULL || !at->notify_paused)
			continue;
		at->notify_paused = false;
		if (at->state == SESSION_OPEN) {
			at->notify_watch.fd = at->kernel.notify_fd;
			(void)watch_add(warden, &at->notify_watch, EPOLLIN, &ignored);
		}
	}
}
