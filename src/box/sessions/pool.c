/*
 * pool.c - makes boxes and kernels ahead of need.
 *
 * Runs in:  the warden, when no client waits for it.
 * Reads:    nothing.
 * Never:    makes more than its targets.
 */
#include <string.h>

#include "base/log.h"
#include "box/resources/resource.h"
#include "box/sessions/session.h"
#include "box/state.h"
#include "wire/kernel.h"

static bool suits(const struct twin_seed *seed, const struct zygote_proc *zygote)
{
	return zygote != NULL && seed->zygote == zygote->pid ? seed->twin > 0 : seed->kernel == 0;
}

int pool_take_shell(struct warden *warden, struct template *of, const struct zygote_proc *zygote,
		    struct session **ret, struct err *err)
{
	/* Search from the end, where the box with a begun kernel is. */
	for (size_t i = of->shell_count; i-- > 0;) {
		if (!suits(&of->shells[i]->kernels[0]->seed, zygote))
			continue;
		*ret = of->shells[i];
		memmove(&of->shells[i], &of->shells[i + 1],
			(--of->shell_count - i) * sizeof(of->shells[0]));
		return 0;
	}
	return session_new(warden, of, ret, err);
}

static bool root_is_ready(const struct template *of)
{
	for (int k = 0; k < ZYGOTE_KINDS; k++)
		if (of->zygotes[k]->state == ZYGOTE_WARM)
			return true;
	return false;
}

static bool wants_parked(const struct warden *warden, const struct template *of)
{
	return warden->park_target > 0 && of->parked == NULL &&
	       of->zygotes[zygote_usual_kind()]->state == ZYGOTE_WARM;
}

/*
 * Takes one step towards a kernel in a pooled box; true if there was something to do. Every box
 * gets a twin; only the last one, which is taken first, also gets a kernel. The others stay usable
 * for other zygotes, and for a branch, whose kernel has to be the first process in its box.
 */
static bool seed_one(struct warden *warden, struct template *of)
{
	struct zygote_proc *zygote = of->zygotes[zygote_usual_kind()];
	struct err err;

	if (zygote->state != ZYGOTE_WARM || !zygote->traced)
		return false;
	for (size_t i = 0; i < of->shell_count; i++) {
		struct box_kernel *kernel = of->shells[i]->kernels[0];
		const bool is_last = i > 0 && i + 1 == of->shell_count;
		int code;

		if (kernel->seed.twin > 0 && (kernel->seed.kernel > 0 || !is_last))
			continue;
		code = kernel->seed.twin == 0 ? kernel_seed(warden, kernel, zygote, &err)
					      : kernel_advance(warden, kernel, zygote, &err);
		if (code < 0)
			log_line(LOG_WARN, "cannot prepare a kernel", "why=\"%s\"", err.text);
		return code == 0;
	}
	return false;
}

/* Does what most sessions need, so that opening one finds nothing left to do. */
static void prepare_parked(struct warden *warden, struct session *session)
{
	struct box_kernel *kernel = session->kernels[0];
	struct err err;

	if (limits_apply(warden, session, &err) < 0)
		log_line(LOG_WARN, "a parked box has no limits yet", "why=\"%s\"", err.text);
	if (kernel->control_host >= 0)
		(void)kernel_send(kernel->control_host, KERNEL_PARK, 0, NULL, NULL, 0, &err);
	usage_prepare(warden, kernel);
}

static bool refill_template(struct warden *warden, struct template *of)
{
	struct zygote_proc *usual = of->zygotes[zygote_usual_kind()];
	struct session *session;
	struct err err;

	if (wants_parked(warden, of)) {
		if (pool_take_shell(warden, of, usual, &session, &err) < 0) {
			log_line(LOG_WARN, "cannot build a box", "why=\"%s\"", err.text);
			return false;
		}
		if (kernel_spawn(warden, session->kernels[0], usual, &err) < 0) {
			log_line(LOG_WARN, "cannot park a kernel", "why=\"%s\"", err.text);
			session_end(warden, session);
			return false;
		}
		session->state = SESSION_PARKED;
		of->parked = session;
		prepare_parked(warden, session);
		return true;
	}
	if (seed_one(warden, of))
		return true;
	if (of->shell_count < warden->shell_target && of->shell_count < STATE_SHELLS_MAX) {
		if (session_new(warden, of, &session, &err) < 0) {
			log_line(LOG_WARN, "cannot build a box", "why=\"%s\"", err.text);
			return false;
		}
		/* Insert at the front: a box with a kernel stays the last. */
		memmove(&of->shells[1], &of->shells[0], of->shell_count++ * sizeof(of->shells[0]));
		of->shells[0] = session;
		return true;
	}
	return false;
}

bool pool_refill(struct warden *warden)
{
	for (size_t i = 0; i < STATE_TEMPLATES_MAX; i++) {
		struct template *of = &warden->templates[i];

		if (of->used && root_is_ready(of) && refill_template(warden, of))
			return true;
	}
	return group_prepare(warden);
}

void pool_zygote_replaced(struct warden *warden, struct template *of, pid_t old)
{
	if (of->parked != NULL && of->parked->kernels[0]->zygote == old) {
		session_end(warden, of->parked);
		of->parked = NULL;
	}
	for (size_t i = 0; i < of->shell_count; i++)
		if (of->shells[i]->kernels[0]->seed.twin > 0 &&
		    of->shells[i]->kernels[0]->seed.zygote == old)
			kernel_drop_seed(of->shells[i]->kernels[0]);
}

void pool_drop(struct warden *warden, struct template *of)
{
	if (of->parked != NULL)
		session_end(warden, of->parked);
	of->parked = NULL;
	for (size_t i = 0; i < of->shell_count; i++)
		session_end(warden, of->shells[i]);
	of->shell_count = 0;
}
