/*
 * rotate.c - zygotes do not live for ever.
 *
 * Runs in:  the warden; looked at in each turn of its loop, so that no load puts it off.
 * Reads:    the clock, its own counts.
 * Never:    lets a session wait for a zygote that warms up: the old one serves until then.
 *
 * All kernels of one zygote have one address layout and one seed of str hashes, so what a session
 * learns about its own is true of its neighbours'. It stops being true after a while:
 *
 *   old serves ── due ──▶ successor warms up beside it ── ready ──▶ successor serves, old ends
 *
 * What was made ahead of need from the old one (the parked kernel, half kernels in pooled boxes)
 * ends with it; a box without a kernel holds nothing of it. Sessions that are open live on, and can be branched: their twins are
 * processes of their own.
 */

#include "base/clock.h"
#include "base/log.h"
#include "box/module.h"
#include "box/state.h"
#include "box/templates/template.h"

#define MINUTE_NS 60000000000ull
#define ROTATE_KERNELS 1000		/* so many kernels … */
#define ROTATE_EARLIEST (10 * MINUTE_NS) /* … but not sooner: warming up takes a core for seconds */
#define ROTATE_LATEST (240 * MINUTE_NS)	/* with fewer, but for the one that is parked */

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

/* The old one goes on, and is asked again when it is due anew. */
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
