/*
 * open.c - opens sessions, from what was made ahead of need or as a copy of another session.
 *
 * Runs in:  the warden.
 * Reads:    what the server has checked.
 * Never:    hands out a box without a wall that its client requested and this host can raise.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "box/mount/hostdir.h"
#include "box/resources/resource.h"
#include "box/sessions/session.h"
#include "box/state.h"
#include "box/templates/template.h"
#include "box/twin/copy.h"
#include "box/twin/resume.h"
#include "box/walls/guard.h"

static int take_or_spawn(struct warden *warden, struct template *of, const struct warden_open *open,
			 struct zygote_proc *zygote, struct session **ret,
			 enum warden_warmth *warmth, struct err *err)
{
	const uint64_t start = clock_mono_ns();
	uint64_t boxed;

	/* Only kernels of the usual zygote are parked. */
	if (of->parked != NULL && *warmth == WARDEN_WARM && zygote->kind == zygote_usual_kind() &&
	    (open->flags & (WARDEN_OPEN_NO_PARKED | WARDEN_OPEN_NO_SPECULATION)) == 0) {
		*ret = of->parked;
		of->parked = NULL;
		*warmth = WARDEN_PARKED;
		(*ret)->shell_us = (*ret)->spawn_us = 0;
		return 0;
	}
	/* A kernel that was begun ahead of need has no speculation control. */
	if (pool_take_shell(warden, of,
			    (open->flags & WARDEN_OPEN_NO_SPECULATION) == 0 ? zygote : NULL, ret,
			    err) < 0)
		return (int)err->code;
	boxed = clock_mono_ns();
	(*ret)->guards = open->flags & (WARDEN_OPEN_CORE_SCHEDULING | WARDEN_OPEN_NO_SPECULATION);
	if (kernel_spawn(warden, (*ret)->kernels[0], zygote, err) < 0) {
		session_end(warden, *ret);
		return (int)err->code;
	}
	(*ret)->shell_us = (uint32_t)((boxed - start) / 1000);
	(*ret)->spawn_us = (uint32_t)((clock_mono_ns() - boxed) / 1000);
	return 0;
}

/* Call before the client gets the session: it has not run user code yet. */
static int raise_guards(struct session *session, const struct twin_kernel *made, struct err *err)
{
	/* The parent of a kernel without a twin does not run its memory and stays outside. */
	const pid_t pids[3] = { made->kernel, session->shell.init, made->twin };

	return guard_raise(session->guards, pids, made->traced ? 3 : 2, made->kernel,
			   &session->unheld, err);
}

int session_open(struct warden *warden, const struct warden_open *open, const int *mount_fds,
		 struct session **ret, enum warden_warmth *ret_warmth, struct err *err)
{
	struct template *of;
	struct zygote_proc *zygote;
	struct session *session;

	*ret = NULL;
	if (template_find(warden, open->template_name, &of, err) < 0)
		return (int)err->code;
	if (zygote_pick(warden, of, open->language, open->flags, &zygote, ret_warmth, err) < 0)
		return (int)err->code;
	if (zygote == NULL)
		return 0;
	if (take_or_spawn(warden, of, open, zygote, &session, ret_warmth, err) < 0)
		return (int)err->code;
	session->limits = open->limits;
	limits_fill(of, &session->limits);
	session->guards = open->flags & (WARDEN_OPEN_CORE_SCHEDULING | WARDEN_OPEN_NO_SPECULATION);
	if (group_enter(warden, session, &open->group, err) < 0 ||
	    limits_apply(warden, session, err) < 0 ||
	    raise_guards(session, &session->kernels[0]->made, err) < 0 ||
	    hostdir_mount(warden, session, open, mount_fds, err) < 0) {
		session_end(warden, session);
		return (int)err->code;
	}
	(void)snprintf(session->kernels[0]->language, sizeof(session->kernels[0]->language), "%s",
		       open->language);
	session->state = SESSION_OPEN;
	*ret = session;
	return 0;
}

struct branch_files {
	const struct warden *warden;
	const struct box_kernel *from;
	struct session *to;
	struct resume files; /* the files that the parent has open */
};

static int copy_while_still(void *arg, struct err *err)
{
	struct branch_files *files = arg;

	resume_collect(&files->files, files->from->made.kernel);
	return copy_workspace(&files->from->session->shell, &files->to->shell, err);
}

/* The copy's memory holds user code: none of it runs before this. */
static int finish_copy(void *arg, const struct twin_kernel *made, struct err *err)
{
	const struct branch_files *files = arg;

	if (limits_apply_process(files->warden, files->to, made->kernel, err) < 0)
		return (int)err->code;
	return raise_guards(files->to, made, err);
}

int session_branch(struct warden *warden, struct box_kernel *parent, struct session **ret,
		   struct err *err)
{
	const struct session *from = parent->session;
	struct session *session;
	struct box_kernel *kernel;
	struct branch_files files = { .warden = warden, .from = parent };
	struct twin_branch how = { .parent = &parent->made,
				   .parent_shell = &from->shell,
				   .cgroups = &warden->cgroups,
				   .filter = warden->filter.insn,
				   .filter_len = warden->filter.len,
				   .while_still = copy_while_still,
				   .before_start = finish_copy,
				   .no_speculation = (from->guards &
						      WARDEN_OPEN_NO_SPECULATION) != 0,
				   .arg = &files };
	cleanup_fd int kernel_end = -1;
	int pair[2], code;

	if (from->state != SESSION_OPEN || !parent->is_up)
		return err_set(err, ERR_LOST, "the kernel has ended");
	if (pool_take_shell(warden, from->of, NULL, &session, err) < 0)
		return (int)err->code;
	kernel = session->kernels[0];
	kernel_drop_seed(kernel);
	memcpy(kernel->language, parent->language, sizeof(kernel->language));
	session->limits = from->limits;
	session->guards = from->guards;
	files.to = session;
	how.shell = &session->shell;
	code = group_follow(warden, session, from, err);
	if (code == 0)
		code = limits_apply(warden, session, err);
	if (code == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		code = err_sys(err, "socketpair");
	if (code == 0) {
		kernel->control_host = pair[0];
		kernel_end = pair[1];
		how.control_fd = kernel_end;
		code = twin_branch(&how, &kernel->made, err);
	}
	if (code == 0)
		code = kernel_watch(warden, kernel, err);
	if (code == 0)
		code = resume_send(&files.files, kernel->control_host, err);
	if (code < 0) {
		session_end(warden, session);
		return code;
	}
	session->state = SESSION_OPEN;
	*ret = session;
	return 0;
}
