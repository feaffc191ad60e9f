/*
 * kernel.c - makes, verifies and ends one kernel in a box.
 *
 * Runs in:  the warden.
 * Reads:    /proc and wait statuses.
 * Never:    reads a byte that a kernel wrote, or leaves processes of a dead kernel running.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/mem.h"
#include "box/clients/client.h"
#include "box/filter/denial.h"
#include "box/module.h"
#include "box/processes/process.h"
#include "box/resources/resource.h"
#include "box/sessions/session.h"
#include "box/state.h"
#include "box/walls/verify.h"

#define COLLECT_TRIES 2000 /* 0.1 ms apart: a killed process ends sooner */

struct box_kernel *kernel_new(struct session *session, unsigned place)
{
	struct box_kernel *kernel = mem_new0(1, sizeof(*kernel));

	kernel->session = session;
	kernel->place = place;
	kernel->control_host = -1;
	kernel->made = (struct twin_kernel){ .kernel_pidfd = -1, .notify_fd = -1 };
	kernel->seed.boot = -1;
	kernel->end.twin_reaped = true;
	kernel->death_watch.fd = kernel->notify_watch.fd = -1;
	session->kernels[place] = kernel;
	return kernel;
}

/* ---- the end ------------------------------------------------------------------------------ */

/*
 * Returns the wait status of an ended kernel. Its parent is the twin, which never waits for it:
 * once the twin is dead, the kernel becomes a child of the warden, its subreaper. (/proc shows the
 * status only to a process that may trace the kernel.)
 */
static int collect_status(struct box_kernel *kernel)
{
	const struct timespec pause = { .tv_nsec = 100000 };
	int ignored;

	twin_kill(&kernel->made);
	for (int tries = 0; !kernel->end.kernel_reaped && tries < COLLECT_TRIES; tries++) {
		if (!kernel->end.twin_reaped &&
		    waitpid(kernel->made.twin, &ignored, __WALL | WNOHANG) == kernel->made.twin &&
		    !WIFSTOPPED(ignored))
			kernel->end.twin_reaped = true;
		if (waitpid(kernel->made.kernel, &kernel->end.status, __WALL | WNOHANG) ==
		    kernel->made.kernel)
			kernel->end.kernel_reaped = true;
		else
			(void)nanosleep(&pause, NULL);
	}
	/* Nobody may kill this pid again: it may soon be reused. */
	kernel->made.twin = 0;
	return kernel->end.status;
}

static const char *describe_end(const struct warden_ended *ended)
{
	static const char *const names[] = { "?", "exit", "signal", "oom", "closed", "syscall" };

	return ended->cause < ARRAY_LEN(names) ? names[ended->cause] : "?";
}

static void note_end(struct warden *warden, struct box_kernel *kernel)
{
	struct warden_ended *ended = &kernel->end.ended;
	int status;

	/* Read the usage first: the /proc files vanish when the process is reaped. */
	usage_read(warden, kernel, &ended->usage);
	usage_end(warden, kernel);
	status = collect_status(kernel);
	if ((status & 0x7f) != 0) {
		ended->cause = WARDEN_END_SIGNAL;
		ended->detail = status & 0x7f;
	} else {
		ended->cause = WARDEN_END_EXIT;
		ended->detail = status >> 8 & 0xff;
	}
	if (ended->cause == WARDEN_END_SIGNAL && ended->detail == SIGKILL &&
	    ended->usage.oom_kills > 0)
		ended->cause = WARDEN_END_OOM;
	else if (ended->cause == WARDEN_END_SIGNAL && ended->detail == SIGSYS)
		ended->cause = WARDEN_END_SYSCALL;
	log_line(LOG_INFO, "kernel ended", "session=%u kernel=%u cause=%s detail=%d",
		 kernel->session->id, kernel->id, describe_end(ended), ended->detail);
}

static void forget_watches(struct warden *warden, struct box_kernel *kernel)
{
	watch_remove(warden, &kernel->death_watch);
	watch_remove(warden, &kernel->notify_watch);
	kernel->death_watch.fd = kernel->notify_watch.fd = -1;
	kernel->denials.is_paused = false;
}

/* The kernel's pidfd became readable: the kernel has ended. Its processes end with it, the box
 * stays. */
static void kernel_ended(struct warden *warden, struct watch *watch, uint32_t events)
{
	struct box_kernel *kernel = watch->arg;
	struct session *session = kernel->session;

	(void)events;
	forget_watches(warden, kernel);
	note_end(warden, kernel);
	kernel->is_up = false;
	usage_forget(session);
	MODULE_EACH(warden, kernel_ended, warden, kernel);
	if (session->state == SESSION_DYING)
		return;
	sweep_after(warden, kernel);
	usage_close(kernel);
	twin_done(&kernel->made);
	client_kernel_ended(warden, kernel);
}

void kernel_kill(struct warden *warden, struct box_kernel *kernel)
{
	forget_watches(warden, kernel);
	usage_end(warden, kernel);
	twin_kill(&kernel->made);
	usage_close(kernel);
	/* As long as the seccomp listener is open, it holds the box's user namespace. */
	twin_done(&kernel->made);
	twin_drop(&kernel->seed);
	if (kernel->control_host >= 0)
		(void)close(TAKE_FD(kernel->control_host));
	kernel->is_up = false;
}

void context_stop(struct warden *warden, struct box_kernel *kernel)
{
	if (kernel->is_up) {
		forget_watches(warden, kernel);
		usage_read(warden, kernel, &kernel->end.ended.usage);
		(void)collect_status(kernel);
		kernel->is_up = false;
		usage_forget(kernel->session);
		kernel->end.ended.cause = WARDEN_END_CLOSED;
		kernel->end.ended.detail = 0;
		sweep_after(warden, kernel);
		usage_close(kernel);
		twin_done(&kernel->made);
	}
	usage_end(warden, kernel);
	lease_forget_kernel(kernel);
	kernel->end.is_unreported = false;
	if (kernel->control_host >= 0)
		(void)close(TAKE_FD(kernel->control_host));
}

/* ---- the beginning ------------------------------------------------------------------------ */

int kernel_watch(struct warden *warden, struct box_kernel *kernel, struct err *err)
{
	const struct session *session = kernel->session;

	kernel->id = ++warden->next_kernel;
	kernel->end.twin_reaped = kernel->end.kernel_reaped = false;
	usage_end(warden, kernel);
	kernel->used.is_shared = false;
	kernel->turn.ns = 0;
	usage_forget(kernel->session);
	kernel->end.ended = (struct warden_ended){ 0 };
	kernel->is_up = true;
	kernel->death_watch = (struct watch){ .ready = kernel_ended, .arg = kernel,
					      .fd = kernel->made.kernel_pidfd };
	kernel->notify_watch = (struct watch){ .ready = denial_ready, .arg = kernel,
					       .fd = kernel->made.notify_fd };
	if (verify_kernel(kernel->made.kernel, warden->rootless, err) < 0 ||
	    verify_landlock(session->shell.landlock_fd, err) < 0 ||
	    verify_box(kernel->made.kernel, session->shell.init, err) < 0)
		return (int)err->code;
	if (watch_add(warden, &kernel->death_watch, EPOLLIN, err) < 0)
		return (int)err->code;
	return watch_add(warden, &kernel->notify_watch, EPOLLIN, err);
}

void kernel_drop_seed(struct box_kernel *kernel)
{
	twin_drop(&kernel->seed);
	if (kernel->control_host >= 0)
		(void)close(TAKE_FD(kernel->control_host));
}

static struct twin_spawn spawn_of(const struct warden *warden, const struct box_kernel *kernel,
				  struct zygote_proc *zygote)
{
	const struct session *session = kernel->session;

	return (struct twin_spawn){ .zygote = zygote->pid,
				    .zygote_sock = zygote->sock,
				    .traced = zygote->traced,
				    .code = &zygote->code,
				    .shell = &session->shell,
				    .cgroups = &warden->cgroups,
				    .place = { .number = kernel->place,
					       .is_late = kernel_count_up(session, kernel) > 0 },
				    .no_speculation = (session->guards &
						       WARDEN_OPEN_NO_SPECULATION) != 0 };
}

int kernel_seed(struct warden *warden, struct box_kernel *kernel, struct zygote_proc *zygote,
		struct err *err)
{
	struct twin_spawn how = spawn_of(warden, kernel, zygote);
	cleanup_fd int kernel_end = -1;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, "socketpair");
	kernel->control_host = pair[0];
	kernel_end = pair[1];
	how.control_fd = kernel_end;
	zygote->kernels++;
	kernel->is_late = how.place.is_late;
	if (twin_prepare(&how, &kernel->seed, err) < 0) {
		kernel_drop_seed(kernel);
		return (int)err->code;
	}
	return 0;
}

int kernel_advance(struct warden *warden, struct box_kernel *kernel, struct zygote_proc *zygote,
		   struct err *err)
{
	const struct twin_spawn how = spawn_of(warden, kernel, zygote);

	if (twin_advance(&how, &kernel->seed, err) == 0)
		return 0;
	kernel_drop_seed(kernel);
	return (int)err->code;
}

int kernel_spawn(struct warden *warden, struct box_kernel *kernel, struct zygote_proc *zygote,
		 struct err *err)
{
	struct twin_spawn how;

	/* A seed was begun before this request: from another zygote, or without speculation
	 * control. */
	if (kernel->seed.twin > 0 &&
	    (kernel->seed.zygote != zygote->pid ||
	     (kernel->session->guards & WARDEN_OPEN_NO_SPECULATION) != 0))
		kernel_drop_seed(kernel);
	if (kernel->seed.boot < 0 && kernel_seed(warden, kernel, zygote, err) < 0)
		return err_wrap(err, "start a kernel");
	how = spawn_of(warden, kernel, zygote);
	if (twin_complete(&how, &kernel->seed, &kernel->made, err) < 0)
		return err_wrap(err, "start a kernel");
	kernel->zygote = zygote->pid;
	return kernel_watch(warden, kernel, err);
}
