/*
 * module.h - what the parts of the warden tell each other.
 *
 * Calls go down: a part calls those that it is built on (state.h has their order). What those have
 * to tell comes up by the hooks that each part names in its module.c; main.c lists the parts.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct box_kernel;
struct conn;
struct template;
struct warden;
struct zygote_proc;

/* NULL: it does not care. */
struct module {
	/* ---- clients ---- */
	/* A connection has ended; what its client had is still there. */
	void (*conn_gone)(struct warden *warden, struct conn *conn);

	/* ---- templates ---- */
	void (*zygote_warm)(struct warden *warden, struct zygote_proc *zygote);
	void (*zygote_failed)(struct zygote_proc *zygote);
	/* One of both, or an end: who waited for a zygote is to try again. */
	void (*zygote_settled)(struct warden *warden);
	/* Another serves in the place of the one that had this number. */
	void (*zygote_replaced)(struct warden *warden, struct template *of, pid_t old);
	/* It is loaded anew, or the warden ends: nothing is made ahead of need from this one. */
	void (*template_dropped)(struct warden *warden, struct template *of);

	/* ---- resources ---- */
	void (*execution_over)(struct box_kernel *kernel); /* or it was cut off */

	/* ---- kernels ---- */
	/* Before what it left in its box is ended; when the box is, nothing is left. */
	void (*kernel_ended)(struct warden *warden, struct box_kernel *kernel);
};

/* Ends with NULL; they are told in this order. */
#define MODULE_EACH(warden, hook, ...)                                                         \
	do {                                                                                   \
		for (const struct module *const *at_ = (warden)->modules; *at_ != NULL; at_++) \
			if ((*at_)->hook != NULL)                                              \
				(*at_)->hook(__VA_ARGS__);                                     \
	} while (0)

/* What each part has to hear. */
extern const struct module processes_module, requests_module, sessions_module, templates_module;
