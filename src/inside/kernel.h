/*
 * kernel.h - what a language implements to become a kernel.
 *
 * A zygote (zygote.c) is a process per template that warms the language up once and then forks for
 * each session. The language need not know about the box: zygote.c forks, joins the namespaces,
 * drops all privileges, and calls after_fork() and serve() in the child.
 */
#pragma once

#include "base/err.h"

struct kernel_warmth {
	const char *template_dir;   /* "/opt/template"; NULL when there is no template tree */
	const char *const *modules; /* NULL-terminated; what to preload, in order; may be empty */
};

struct kernel_ops {
	const char *language; /* "python" */
	/*
	 * Called once in the zygote: starts the language and preloads modules. The environment (the
	 * template's [env], HOME, PATH, …) is already set. Must leave exactly one thread; if a
	 * module starts a second one, the error names the module. Leaves the process ready to be
	 * forked.
	 */
	int (*warm)(const struct kernel_warmth *how, struct err *err);
	/* Called in the new kernel, inside the box, before any user code: reseeds, resets after the
	 * fork. */
	void (*after_fork)(void);
	/* Answers packets (wire/kernel.h) on `sock` until end of file or SHUTDOWN; returns an exit
	 * status. While idle it must block only in a raw recvmsg() on `sock`: a live branch copies
	 * the process at that point. */
	int (*serve)(int sock);
	/* A typical first cell, run once in a fork before the first session (prefault.c); NULL if a
	 * kernel writes little to the memory it was forked with. */
	const char *rehearsal;
	const char *first_cell; /* the smallest possible cell */
};
