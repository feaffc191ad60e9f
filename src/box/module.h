/*
 * module.h - events that parts of the warden report to others.
 *
 * Calls go down: a part calls those that it is built on (state.h has their order). These report
 * upwards through hooks; each part sets its own in a struct module, and main.c lists the parts.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct box_kernel;
struct conn;
struct template;
struct warden;
struct zygote_proc;

/* Any hook may be NULL. */
struct module {
	/* ---- clients ---- */
	/* A connection has ended; its sessions and kernels still exist. */
	void (*conn_gone)(struct warden *warden, struct conn *conn);

	/* ---- templates ---- */
	void (*zygote_warm)(struct warden *warden, struct zygote_proc *zygote);
	void (*zygote_failed)(struct zygote_proc *zygote);
	/* After either of these, or the end of a warm zygote: whatever waits should try again. */
	void (*zygote_settled)(struct warden *warden);
	/* Another zygote has replaced the one with this pid. */
	void (*zygote_replaced)(struct warden *warden, struct template *of, pid_t old);
	/* The template is loaded anew, or the warden ends: end what was made from it ahead of
	 * need. */
	void (*template_dropped)(struct warden *warden, struct template *of);

	/* ---- resources ---- */
	void (*execution_over)(struct box_kernel *kernel); /* also if it was cut off */

	/* ---- kernels ---- */
	/* Called before the processes that it left are killed. A hook may end the whole session. */
	void (*kernel_ended)(struct warden *warden, struct box_kernel *kernel);
};

/* Calls this hook of every part, in the order of warden->modules, which ends with NULL. */
#define MODULE_EACH(warden, hook, ...)                                                         \
	do {                                                                                   \
		for (const struct module *const *at_ = (warden)->modules; *at_ != NULL; at_++) \
			if ((*at_)->hook != NULL)                                              \
				(*at_)->hook(__VA_ARGS__);                                     \
	} while (0)

/* The hooks of each part. */
extern const struct module processes_module, requests_module, sessions_module, templates_module;
