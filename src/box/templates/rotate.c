/*
 * rotate.c - replaces zygotes after a while.
 *
 * Runs in:  the warden, in each turn of its loop, so that load does not delay it.
 * Reads:    the clock, its own counts.
 * Never:    lets a session wait for a successor that warms up: the old zygote serves until then.
 *
 * All kernels of one zygote have the same address layout and seed of str hashes, so a session that
 * learns its own knows its neighbours'. Replacing the zygote bounds for how long:
 *
 *   old serves ── due ──▶ successor warms up beside it ── ready ──▶ successor serves, old ends
 *
 * What was made ahead of need from the old zygote (the parked kernel, begun kernels in pooled
 * boxes) ends with it; boxes without a kernel stay. Open sessions live on and can be branched:
 * their twins are separate processes.
 */

#include "base/clock.h"
#include "base/log.h"
#include "box/module.h"
#include "box/state.h"
#include "box/templates/template.h"

#define MINUTE_NS 60000000000ull
#define ROTATE_KERNELS 1000		/* after this many kernels … */
#define ROTATE_EARLIEST (10 * MINUTE_NS) /* … but not sooner: warming up takes a core for seconds */
#define ROTATE_LATEST (240 * MINUTE_NS)	/* with fewer, but not for the parked one alone */

static struct zygote_proc *successor_of(struct zygote_proc *zygote)
{
	struct zygote_proc *slots = zygote->of->slots[zygote->kind];

	return zygote == &slots[0] ? &slots[1] : &slots[0];
}

static bool is_due(const struct warden *warden, const struct zygote_proc *zygote)
{
	const uint64_t age = clock_mono_ns() - zygote->warm_ns;

	if (zygote->state != ZYGOTE_WARM)
		return false;
	if (warden->rotate_kernels > 0)
		return zygote->kernels >= warden->rotate_kernels;
	return (zygote->kernels >= ROTATE_KERNELS && age >= ROTATE_EARLIEST) ||
	       (zygote->kernels > 1 && age >= ROTATE_LATEST);
}

/* The old zygote goes on, and counts anew until it is due again. */
static void rotate_failed(struct zygote_proc *zygote)
{
	struct zygote_proc *serving = zygote->of->zygotes[zygote->kind];

	if (serving == zygote)
		return;
	serving->warm_ns = clock_mono_ns();
	serving->kernels = 0;
}

static void start_successor(struct warden *warden, struct zygote_proc *zygote)
{
	struct zygote_proc *next = successor_of(zygote);
	struct err err = { 0 };

	if (!is_due(warden, zygote) || next->state != ZYGOTE_ABSENT)
		return;
	if (zygote_start(warden, next, &err) == 0)
		return;
	log_line(LOG_WARN, "cannot replace a zygote", "template=%s why=\"%s\"", zygote->of->name,
		 err.text);
	zygote_forget(warden, next);
	rotate_failed(next);
}

void rotate_start(struct warden *warden)
{
	for (size_t i = 0; i < STATE_TEMPLATES_MAX; i++)
		for (int k = 0; warden->templates[i].used && k < ZYGOTE_KINDS; k++)
			start_successor(warden, warden->templates[i].zygotes[k]);
}

static void rotate_ready(struct warden *warden, struct zygote_proc *zygote)
{
	struct template *of = zygote->of;
	struct zygote_proc *old = of->zygotes[zygote->kind];
	const pid_t pid = old->pid;

	if (old == zygote)
		return;
	log_line(LOG_INFO, "zygote replaced", "template=%s kernels=%u", of->name, old->kernels);
	of->zygotes[zygote->kind] = zygote;
	zygote_forget(warden, old);
	MODULE_EACH(warden, zygote_replaced, warden, of, pid);
}

const struct module templates_module = {
	.zygote_warm = rotate_ready,
	.zygote_failed = rotate_failed,
};
