/*
 * context.c - adds kernels to a box, and replaces kernels by fresh ones.
 *
 * Runs in:  the warden.
 * Reads:    what server.c has checked.
 * Never:    hands out a kernel with fewer walls than the first one: the same functions make, limit,
 *           guard and verify it.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "box/resources/resource.h"
#include "box/sessions/lease.h"
#include "box/sessions/session.h"
#include "box/state.h"
#include "box/sys.h"
#include "box/templates/template.h"
#include "box/walls/guard.h"

static int check_box(struct warden *warden, const struct session *session, struct err *err)
{
	struct template *now;
	struct pollfd ended = { .fd = session->shell.init_pidfd, .events = POLLIN };

	if (session->state != SESSION_OPEN || session->init_reaped || poll(&ended, 1, 0) > 0)
		return err_set(err, ERR_LOST, "the session's box is gone, with its files");
	if (template_find(warden, session->of->name, &now, err) < 0)
		return (int)err->code;
	if (now != session->of || now->stamp != session->stamp) {
		/* The box has the old tree mounted, but a new kernel would come from the new
		 * one. */
		(void)err_set(err, ERR_UNAVAILABLE,
			      "template \"%s\" was rebuilt after the session was opened",
			      now->name);
		return err_remedy(err, "open a new session");
	}
	return 0;
}

/* Returns 1 if the kernel runs behind its walls, 0 if a zygote is not ready yet. */
static int fill_place(struct warden *warden, struct box_kernel *kernel, uint32_t flags,
		      enum warden_warmth *ret_warmth, struct err *err)
{
	struct session *session = kernel->session;
	struct zygote_proc *zygote;

	if (zygote_pick(warden, session->of, kernel->language, flags, &zygote, ret_warmth, err) <
	    0)
		return (int)err->code;
	if (zygote == NULL)
		return 0;
	kernel_drop_seed(kernel);
	if (cgroup_kernel_create(&warden->cgroups, session->shell.name, kernel->place, err) < 0 ||
	    kernel_spawn(warden, kernel, zygote, err) < 0 ||
	    limits_apply_process(warden, session, kernel->made.kernel, err) < 0 ||
	    guard_join(session->guards, session->shell.init,
		       (const pid_t[]){ kernel->made.kernel, kernel->made.twin },
		       kernel->made.traced ? 2 : 1, kernel->made.kernel, err) < 0 ||
	    limits_apply_pids(warden, session, err) < 0) {
		context_stop(warden, kernel);
		return (int)err->code;
	}
	return 1;
}

static int free_place(const struct session *session, unsigned *ret, struct err *err)
{
	for (unsigned i = 1; i < WARDEN_KERNELS_MAX; i++)
		if (session->kernels[i] == NULL) {
			*ret = i;
			return 0;
		}
	(void)err_set(err, ERR_LIMIT, "the session has %d kernels, as many as it may",
		      WARDEN_KERNELS_MAX);
	return err_remedy(err, "close a context, or open another session");
}

int context_add(struct warden *warden, struct session *session, const struct warden_context *how,
		struct box_kernel **ret, enum warden_warmth *ret_warmth, struct err *err)
{
	struct box_kernel *kernel;
	unsigned place = 0;
	int code;

	*ret = NULL;
	if (check_box(warden, session, err) < 0 || free_place(session, &place, err) < 0)
		return (int)err->code;
	kernel = kernel_new(session, place);
	(void)snprintf(kernel->language, sizeof(kernel->language), "%s", how->language);
	code = fill_place(warden, kernel, how->flags, ret_warmth, err);
	if (code <= 0) {
		/* Another context may take the place before the zygote is ready. */
		context_remove(warden, kernel);
		return code;
	}
	*ret = kernel;
	return 0;
}

int context_restart(struct warden *warden, struct box_kernel *kernel, uint32_t flags,
		    enum warden_warmth *ret_warmth, struct err *err)
{
	if (kernel->place == 0)
		lease_forget(kernel->session);
	context_stop(warden, kernel);
	if (check_box(warden, kernel->session, err) < 0)
		return (int)err->code;
	return fill_place(warden, kernel, flags, ret_warmth, err);
}

void context_remove(struct warden *warden, struct box_kernel *kernel)
{
	struct session *session = kernel->session;
	struct err ignored;

	context_stop(warden, kernel);
	kernel_drop_seed(kernel);
	cgroup_kernel_remove(&warden->cgroups, session->shell.name, kernel->place);
	session->kernels[kernel->place] = NULL;
	free(kernel);
	(void)limits_apply_pids(warden, session, &ignored);
}

struct box_kernel *context_find(struct session *session, const struct conn *conn, uint32_t id)
{
	for (size_t i = 0; i < WARDEN_KERNELS_MAX; i++) {
		struct box_kernel *at = session->kernels[i];

		if (at != NULL && at->conn == conn && (id == 0 ? i == 0 : at->id == id))
			return at;
	}
	return NULL;
}
