/* proc.h - other processes: run and time one, look at the tree below one. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * Runs a program to its end, output thrown away; it has to end with status 0. `add_env` (or NULL)
 * is put over our environment. With hides_unified the program gets a mount namespace without the
 * second cgroup hierarchy of hybrid hosts.
 */
struct proc_command {
	const char *const *argv;
	const char *const *add_env;
	bool hides_unified;
	bool shows_output;
};

int proc_run(const struct proc_command *command, uint64_t *ret_ns, struct err *err);

/* The path of a program in PATH; false when there is none. */
bool proc_find(const char *name, char *ret, size_t size);

/* What a private warden's sessions take. */
struct proc_tree {
	size_t kernels;	    /* processes that are neither pid 1 of a box nor stay outside */
	size_t processes;   /* kernels, twins and inits */
	uint64_t pss_bytes; /* each memory map once: a twin has its kernel's */
};

/* Looks at all that descend from our own warden; proportional sizes are slow, so on demand. */
int proc_tree_read(bool with_pss, struct proc_tree *ret, struct err *err);

uint64_t proc_memory_available(void);
