/*
 * direct.c - reckon-kernel-direct: a kernel without a box, for debugging and for tests.
 *
 * Runs in:  its own process, with all rights of the caller. There is NO isolation.
 * Reads:    packets on descriptor 3.
 * Never:    is part of a session; nothing that serves users starts it.
 *
 * usage: reckon-kernel-direct [--template DIR] LANGUAGE [MODULE…]
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "inside/language.h"
#include "inside/signals.h"
#include "wire/kernel.h"

static const struct kernel_ops *find_language(const char *name)
{
	const struct kernel_ops *const *at = all_language_ops;

	while (*at != NULL && strcmp((*at)->language, name) != 0)
		at++;
	return *at;
}

static int usage(const char *program)
{
	(void)fprintf(stderr, "usage: %s [--template DIR] LANGUAGE [MODULE…]\nlanguages:", program);
	for (const struct kernel_ops *const *at = all_language_ops; *at != NULL; at++)
		(void)fprintf(stderr, " %s", (*at)->language);
	(void)fputc('\n', stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct kernel_warmth how = { 0 };
	const struct kernel_ops *ops;
	struct err err;
	int at = 1;

	signals_forget_inherited();
	if (argc > 3 && strcmp(argv[1], "--template") == 0) {
		how.template_dir = argv[2];
		at = 3;
	}
	ops = at < argc ? find_language(argv[at]) : NULL;
	if (ops == NULL)
		return usage(argv[0]);
	how.modules = (const char *const *)(argv + at + 1);
	if (ops->warm(&how, &err) < 0) {
		(void)fprintf(stderr, "%s: %s%s%s\n", argv[0], err.text,
			      err.remedy[0] != '\0' ? "; " : "", err.remedy);
		return 1;
	}
	ops->after_fork();
	return ops->serve(KERNEL_FD);
}
