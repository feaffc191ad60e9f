/*
 * kernel.h - what a language supplies to become a kernel.
 *
 * A zygote (zygote.c) is a process per template that warms the language up once and is then forked
 * for each session. The language never sees the box: zygote.c forks, joins the namespaces, drops
 * everything, and calls after_fork() and serve() in the child.
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
	 * In the zygote, once: start the language and preload. The environment (template's [env],
	 * HOME, PATH, …) is already set. Must leave exactly one thread; when a module starts a
	 * second one the error names the module. Ends in the state that a fork needs.
	 */
	int (*warm)(const struct kernel_warmth *how, struct err *err);
	/* In the new kernel, inside the box, before any user code: reseed, reset after fork. */
	void (*after_fork)(void);
	/* Answers packets (wire/kernel.h) on `sock` until end of file or SHUTDOWN; returns an exit
	 * status. While idle it must block in a raw recvmsg() on `sock` and nothing else: a live
	 * branch copies the process at that point. */
	int (*serve)(int sock);
	/* A cell like those that sessions begin with, run once in a fork before the first session
	 * (prefault.c); or NULL, when a kernel does little in the memory it was forked with. */
	const char *rehearsal;
	const char *first_cell; /* the least that a cell can do */
};
